"""Render the lab's own config files. A template holds names and loops; a name without a value is an error."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (configuration files; their values come from this repository's own stack)
)


def render(template: str, **values: object) -> str:
    """Return the text of `template`, a path below `lab/`."""
    return ENVIRONMENT.get_template(template).render(values)
