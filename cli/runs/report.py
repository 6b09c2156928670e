"""`report`: draw a run as an HTML page: what each machine did when, with the seconds of the time before beside."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from base.errors import ConfigError, Fault
from base.log_entries import entries_of
from base.log_file import OWNER_ALONE, runs_of
from cli.runs.chart import svg
from cli.runs.log import add_run, chosen
from cli.runs.timeline import Row, rows_of
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from cli.shared.stack_options import pulumi

FOLDER = Path("report")
Before = Mapping[tuple[str, str], float]
"""Seconds by row and step."""
HANDOFF = "VipHandoff::"
COLOURS = ("#0969da", "#bf8700", "#1a7f37", "#8250df", "#cf222e", "#57606a", "#0a7ea4", "#bc4c00")
WIDTH, LEFT, LANE, BAR, FOOT = 1000, 220, 22, 14, 30
"""Of the drawing, in pixels."""
SHOWN_S = 0.05
"""Seconds from which a step is in the table, which has one decimal."""
STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2rem .6rem;text-align:left}
td.s{text-align:right}pre{overflow-x:auto;padding:.6rem;border:1px solid #8886}
svg.runs text{font:12px system-ui,sans-serif;fill:currentColor}.failed{color:light-dark(#cf222e,#f85149)}
.wide{overflow-x:auto}.legend span{margin-right:1.2rem;white-space:nowrap}
.legend b{display:inline-block;width:.8rem;height:.8rem;margin-right:.4rem}
"""


def report(options: argparse.Namespace) -> int:
    """Write report/STACK.html of the newest `up`, `refresh` or `destroy` of a stack.

    The page shows what each machine did when, the seconds of each step beside those of the run before, the last
    handoff of the API VIP, and the errors. It loads nothing.
    """
    path = chosen(options.stack, options.run_time)
    print(f"{write(options.stack, path)}: {path}")
    return EXIT_OK


def write(stack: str, log: Path) -> Path:
    """Write the page of the run that left `log`, and return its path.

    Raises:
        ConfigError: It cannot be written.
    """
    entries = list(entries_of(log))
    has_handoff = any(each.resource.startswith(HANDOFF) for each in entries)
    handoff = _handoff(stack) if has_handoff else ""
    page = html(f"{stack}, {log.stem}", rows_of(entries), _before(stack, log), handoff)
    out = FOLDER / f"{stack}.html"
    try:
        out.parent.mkdir(exist_ok=True)
        out.touch(OWNER_ALONE)  # as the log, whose errors it shows
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            Fault(str(out), f"cannot be written ({error.strerror})", "make its folder writable")
        ) from None
    return out


def html(title: str, rows: Sequence[Row], before: Before, handoff: str) -> str:
    """Return the page, which loads nothing.

    Args:
        title: Its headline.
        rows: What each machine did.
        before: What an earlier run took.
        handoff: The drawing of its handoff; empty if it has none.
    """
    failed = [row for row in rows if row.errors]
    verdict = f'<p class="failed">Failed: {escape(", ".join(row.name for row in failed))}.</p>' if failed else ""
    lines = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        verdict,
        *_wide(_drawing(rows)),
        _legend(rows),
        *(["<h2>The handoff of the API VIP</h2>", *_wide([handoff])] if handoff else []),
        "<h2>Seconds of each step</h2>",
        *_wide(_table(rows, before)),
        *(["<h2>Errors</h2>", *_errors(failed)] if failed else []),
        "</body></html>\n",
    ]
    return "\n".join(lines)


def _before(stack: str, path: Path) -> Before:
    """Return the seconds of each step of each row in the latest earlier run that had it."""
    earlier = (each for each in runs_of(stack) if each < path)
    rows = (row for each in earlier for row in rows_of(entries_of(each)))
    return {(row.name, step): seconds for row in rows for step, seconds in row.seconds.items()}


def _handoff(stack: str) -> str:
    """Return the drawing of the last handoff in the state; empty if it has none, or cannot be read here."""
    try:
        outputs = json.loads(pulumi(stack, "stack", "output", "handoff", "--json"))
        return svg(outputs) if outputs.get("holders") else ""
    except (ConfigError, ValueError, KeyError):
        return ""


def _wide(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that a narrow window scrolls."""
    yield '<div class="wide">'
    yield from lines
    yield "</div>"


def _drawing(rows: Sequence[Row]) -> Iterator[str]:
    end_s = max((span.end_s for row in rows for span in row.spans), default=0.0) or 1.0
    colours = _colours(rows)
    height = LANE * len(rows) + FOOT
    yield f'<svg class="runs" viewBox="0 0 {LEFT + WIDTH} {height}" width="{LEFT + WIDTH}" role="img">'
    for number, row in enumerate(rows):
        top = LANE * number
        yield f'<text x="{LEFT - 8}" y="{top + BAR}" text-anchor="end">{escape(row.name)}</text>'
        for span in row.spans:
            left, width = LEFT + WIDTH * span.begin_s / end_s, max(1.0, WIDTH * span.seconds / end_s)
            what = escape(f"{row.name}: {span.step}, {span.seconds:.1f} s from {span.begin_s:.1f} s on")
            box = f'x="{left:.1f}" y="{top + 2}" width="{width:.1f}" height="{BAR}" fill="{colours[span.step]}"'
            yield f"<rect {box}><title>{what}</title></rect>"
    yield f'<text x="{LEFT}" y="{height - 8}">0 s</text>'
    yield f'<text x="{LEFT + WIDTH}" y="{height - 8}" text-anchor="end">{end_s:,.0f} s</text></svg>'


def _legend(rows: Sequence[Row]) -> str:
    shown = {step for row in rows for step, seconds in row.seconds.items() if seconds >= SHOWN_S}
    steps = [(step, colour) for step, colour in _colours(rows).items() if step in shown]
    items = (f'<span><b style="background:{colour}"></b>{escape(step)}</span>' for step, colour in steps)
    return f'<p class="legend">{" ".join(items)}</p>'


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """Return the colour of each step; the ninth has that of the first."""
    steps = dict.fromkeys(span.step for row in rows for span in row.spans)
    return {step: COLOURS[number % len(COLOURS)] for number, step in enumerate(steps)}


def _table(rows: Sequence[Row], before: Before) -> Iterator[str]:
    yield "<table><tr><th>machine or resource</th><th>step</th><th>seconds</th><th>the time before</th></tr>"
    for row in rows:
        for step, seconds in row.seconds.items():
            if seconds < SHOWN_S:
                continue
            earlier = f"{before[row.name, step]:.1f}" if (row.name, step) in before else ""
            cells = f"<td>{escape(row.name)}</td><td>{escape(step)}</td>"
            yield f'<tr>{cells}<td class="s">{seconds:.1f}</td><td class="s">{earlier}</td></tr>'
    yield "</table>"


def _errors(failed: Sequence[Row]) -> Iterator[str]:
    for row in failed:
        yield f"<h3>{escape(row.name)}</h3><pre>{escape(chr(10).join(row.errors))}</pre>"


COMMAND = Command(report, add_run)
