"""Parts of the configs that the payload's config server serves. The program itself never writes them."""

from pathlib import Path

from assets.ignition import Config, Content, File, Resource, Unit
from lab.templates import render

_FILES = Path(__file__).parent / "files"


def file(path: str, content: Content, mode: int = 0o600) -> File:
    """Return a file owned by root."""
    return File(path, Resource.inline(content), mode, user="root")


def frame(path: str, placeholder: str) -> str:
    """Return a config that merges a packed config and stores it as `path`.

    The text has `placeholder` twice, where base64 of the gzipped config belongs.
    """
    packed = f"data:;base64,{placeholder}"
    stored = File(path, Resource(packed, secret=True), user="root")
    return Config((stored,), merge=(Resource(packed, "gzip"),)).to_json()


def script(name: str, mode: int = 0o755) -> File:
    """Return a script of `files/` at its path on a machine."""
    return file(f"/usr/local/bin/{name}", text(name), mode)


def unit(name: str) -> Unit:
    """Return a unit of `files/`."""
    return Unit(name, text(name))


def text(name: str, /, **values: object) -> str:
    """Return a file for a guest. Render only templates: `${#` in a script would begin a Jinja comment."""
    return render(f"payload/files/{name}", **values) if name.endswith(".j2") else (_FILES / name).read_text()
