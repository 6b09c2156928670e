"""Parts of the configs that the payload's config server serves. The program itself never writes them."""

from assets.ignition import Config, Content, File, Resource


def file(path: str, content: Content, mode: int = 0o600) -> File:
    """Return a file owned by root."""
    return File(path, Resource.inline(content), mode, user="root")


def frame(path: str, place: str) -> str:
    """Return a config that merges a packed config and stores it as `path`.

    The text has `place` in both places where base64 of the gzipped config belongs.
    """
    packed = f"data:;base64,{place}"
    kept = File(path, Resource(packed, secret=True), user="root")
    return Config((kept,), merge=(Resource(packed, "gzip"),)).to_json()
