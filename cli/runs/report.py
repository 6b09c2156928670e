"""`report`: draw a run as an HTML page: what each machine did when, beside the seconds of the time before."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assets.templates import templates_in
from base.errors import ConfigError
from base.files import write_private
from base.log_entries import entries_of
from base.log_file import runs_of
from cli.runs.chart import svg
from cli.runs.log import add_run, chosen
from cli.runs.timeline import Timeline, timelines_of
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, writing
from cli.shared.stack_options import pulumi

FOLDER = Path("report")
Before = Mapping[tuple[str, str], float]
"""Seconds by machine or resource, and step."""
HANDOFF = "VipHandoff::"
COLOURS = ("#0969da", "#bf8700", "#1a7f37", "#8250df", "#cf222e", "#57606a", "#0a7ea4", "#bc4c00")
WIDTH, LEFT, LANE, BAR, FOOT = 1000, 220, 22, 14, 30
"""Of the drawing, in pixels."""
SHOWN_S = 0.05
"""Seconds from which a step is in the table, which has one decimal."""
TEMPLATES = templates_in(Path(__file__).parent)


def report(options: argparse.Namespace) -> int:
    """Write report/STACK.html of the newest `up`, `refresh` or `destroy` of a stack.

    The page shows what each machine did when, the seconds of each step beside those of the time before, the last
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
    has_handoff = any(entry.resource.startswith(HANDOFF) for entry in entries)
    handoff = _handoff(stack) if has_handoff else ""
    page = html(f"{stack}, {log.stem}", timelines_of(entries), _before(stack, log), handoff)
    out = FOLDER / f"{stack}.html"
    with writing(out, "make its folder writable"):
        write_private(out, page)  # as the log, whose errors it shows
    return out


def html(title: str, timelines: Sequence[Timeline], before: Before, handoff: str) -> str:
    """Return the page, which loads nothing.

    Args:
        title: Its headline.
        timelines: What each machine did.
        before: What an earlier run took.
        handoff: The drawing of its handoff, as SVG; empty if it has none.
    """
    end_s = max((span.end_s for timeline in timelines for span in timeline.spans), default=0.0) or 1.0
    table = [*_table(timelines, before)]
    steps = {step for _, step, _, _ in table}
    colours = _colours(timelines)
    return TEMPLATES.get_template("report.html.j2").render(
        title=title,
        timelines=timelines,
        failed=[timeline for timeline in timelines if timeline.errors],
        handoff=handoff,
        table=table,
        colours=colours,
        legend=[step for step in colours if step in steps],
        end_s=end_s,
        scale=WIDTH / end_s,
        left=LEFT,
        width=WIDTH,
        height=LANE * len(timelines) + FOOT,
        lane=LANE,
        bar=BAR,
    )


def _before(stack: str, path: Path) -> Before:
    """Return the seconds of each step of each timeline in the latest earlier run that had it."""
    earlier = (run for run in runs_of(stack) if run < path)
    timelines = (timeline for run in earlier for timeline in timelines_of(entries_of(run)))
    return {(timeline.name, step): seconds for timeline in timelines for step, seconds in timeline.seconds.items()}


def _handoff(stack: str) -> str:
    """Return the drawing of the last handoff in the state; empty if it has none, or cannot be read here."""
    try:
        outputs = json.loads(pulumi(stack, "stack", "output", "handoff", "--json"))
        return svg(outputs) if outputs.get("holders") else ""
    except (ConfigError, ValueError, KeyError):
        return ""


def _colours(timelines: Sequence[Timeline]) -> dict[str, str]:
    """Return the colour of each step; the ninth has that of the first."""
    steps = dict.fromkeys(span.step for timeline in timelines for span in timeline.spans)
    return {step: COLOURS[number % len(COLOURS)] for number, step in enumerate(steps)}


def _table(timelines: Sequence[Timeline], before: Before) -> Iterator[tuple[str, str, str, str]]:
    """Yield machine or resource, step, its seconds, and those of the latest earlier run that had it."""
    for timeline in timelines:
        for step, seconds in timeline.seconds.items():
            if seconds >= SHOWN_S:
                earlier = before.get((timeline.name, step))
                yield timeline.name, step, f"{seconds:.1f}", "" if earlier is None else f"{earlier:.1f}"


COMMAND = Command(report, add_run)
