"""A review as one HTML page that loads nothing."""

import re
from pathlib import Path

from markupsafe import Markup, escape

from assets.templates import templates_in
from review.document import Page
from review.text import code

MARKS = {"+": "new", "-": "gone"}
TEMPLATES = templates_in(Path(__file__).parent)


def html(page: Page) -> str:
    """Return the whole review, however long."""
    return TEMPLATES.get_template("review.html.j2").render(page=page)


def _code_spans(text: str) -> Markup:
    """Return a text as HTML, with its code spans."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  (the text is escaped)


def _marked(line: str) -> Markup:
    """Return a line of a difference, marked if it is new or gone."""
    mark = MARKS.get(line[:1])
    return Markup('<span class="{}">{}</span>').format(mark, line) if mark else escape(line)


TEMPLATES.filters |= {"code": code, "code_spans": _code_spans, "marked": _marked}
