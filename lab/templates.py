"""Render the lab's own config files."""

from pathlib import Path

from assets.templates import templates_in

TEMPLATES = templates_in(Path(__file__).parent)


def render(template: str, **values: object) -> str:
    """Return the text of `template`, a path below `lab/`."""
    return TEMPLATES.get_template(template).render(values)
