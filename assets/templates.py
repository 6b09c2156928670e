"""The environment of all templates, in which a name without a value is an error."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def templates_in(folder: Path) -> Environment:
    """Return an environment that loads templates by their paths below a folder.

    It escapes values in HTML, SVG and XML.
    """
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(("html.j2", "svg.j2", "xml.j2")),
    )
