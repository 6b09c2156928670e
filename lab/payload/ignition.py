"""Parts of the configs that the payload's config server serves, and that the program itself never writes."""

from assets.ignition import Config, Content, File, Resource


def file(path: str, content: Content, mode: int = 0o600) -> File:
    """One file of root's."""
    return File(path, Resource.inline(content), mode, user="root")


def frame(path: str, place: str) -> str:
    """A config with `place` where base64 of a gzipped config belongs: to be merged, and to be kept as `path`."""
    packed = f"data:;base64,{place}"
    kept = File(path, Resource(packed, secret=True), user="root")
    return Config((kept,), merge=(Resource(packed, "gzip"),)).to_json()
