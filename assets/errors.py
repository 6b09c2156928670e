"""A file that must not reach a machine."""


class AssetError(Exception):
    """One clean line: which file, what is wrong with it, what to do."""
