"""A review as one HTML page that loads nothing."""

import re
from collections.abc import Iterator
from html import escape

from review.document import Page
from review.files import Shown
from review.policies import Judged
from review.text import code

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
pre,code{font:13px/1.4 ui-monospace,monospace}pre{overflow-x:auto;padding:.6rem;border:1px solid #8886}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #8886;padding:.2rem .6rem;text-align:left}
.grave{font-weight:600}.new{background:#2da44e33}.gone{background:#cf222e33}summary{cursor:pointer}
"""
MARKS = {"+": "new", "-": "gone"}


def html(page: Page) -> str:
    """Return the whole review, however long."""
    head = f'<meta charset="utf-8"><title>{escape(page.title.replace("`", ""))}</title><style>{STYLE}</style>'
    lines = [
        "<!doctype html>",
        f'<html lang="en"><head>{head}</head><body>',
        f"<h1>{_inline(page.title)}</h1>",
        "<ul>",
    ]
    lines += [
        f'<li class="{"grave" if each.is_grave else "plain"}">{_inline(each.text)}</li>' for each in page.verdict
    ]
    lines.append("</ul>")
    if page.policies:
        lines += ["<h2>Policies</h2>", "<ul>", *map(_policy, page.policies), "</ul>"]
    if page.files:
        lines += ["<h2>Files</h2>", *(line for file in page.files for line in _file(file))]
    if page.inputs:
        lines += ["<h2>Other inputs</h2>", *_table(page)]
    return "\n".join([*lines, f"<p>{_inline(page.end)}</p>", "</body></html>\n"])


def _inline(text: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _policy(policy: Judged) -> str:
    if not policy.breaches:
        return f"<li>kept: {policy.name}</li>"
    breaches = "".join(f"<li>{_inline(breach)}</li>" for breach in policy.breaches)
    return f'<li><span class="grave">broken: {policy.name}</span>. {_inline(policy.what)}<ul>{breaches}</ul></li>'


def _file(file: Shown) -> Iterator[str]:
    title = _inline(file.title) + (f" ({escape(file.remark)})" if file.remark else "")
    if not file.lines:
        yield f"<p>{title}</p>"
    elif file.what != "changed":
        yield f"<details><summary>{title}</summary><pre>{escape(chr(10).join(file.lines))}</pre></details>"
    else:
        yield f"<p>{title}</p><pre>{chr(10).join(map(_line, file.lines))}</pre>"


def _line(line: str) -> str:
    kind = MARKS.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)


def _table(page: Page) -> Iterator[str]:
    yield "<table><tr><th>input</th><th>now</th><th>after <code>pulumi up</code></th><th>of</th></tr>"
    for row in page.inputs:
        cells = (_inline(code(row.name)), _inline(code(row.old)), _inline(code(row.new)), escape(", ".join(row.of)))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"
