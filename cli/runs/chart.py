"""`chart`: draw a handoff's outputs: its states over time, the holders of the VIPs, and the longest gap."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from assets.templates import templates_in
from base.errors import MISSHAPEN, ConfigError, Fault
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from cluster.files import read_standard_input
from wires.segment.vip_holder import NO_ONE_MACHINE, NOBODY

Handoff = Mapping[str, Any]
"""The outputs of `VipHandoff`."""

COLUMNS = 56
STATE, HOLDER, GAP = "━", "█", "▲"

PLOT, RIGHT, LETTER = 540, 84, 8
HEAD, LANE, BAR, FOOT = 62, 24, 12, 28
"""In pixels. Widths: plot, totals, one letter of a name. Heights: headline and axis, lane, a lane's bar, gap line."""
TICKS = 8
STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)
TEMPLATES = templates_in(Path(__file__).parent)


@dataclass(frozen=True)
class Lane:
    """One line of the chart: the spans of a state or a holder, in seconds."""

    name: str
    kind: str
    """`state`, `holder`, or `gone` if no machine, or more than one, holds the VIPs."""
    spans: tuple[tuple[float, float], ...]

    @property
    def total(self) -> str:
        """The sum of the spans, as text."""
        return f"{sum(end - begin for begin, end in self.spans):.1f} s"


def chart(_: argparse.Namespace) -> int:
    """Draw the last handoff: `pulumi stack output handoff --json | okd-baremetal chart`."""
    try:
        print(text(json.loads(read_standard_input())))
    except MISSHAPEN:
        fix = "pipe `pulumi stack output handoff --json` into this command"
        raise ConfigError(Fault("", "no outputs of a handoff on standard input", fix)) from None
    return EXIT_OK


def text(handoff: Handoff) -> str:
    """Return the chart in a dozen lines for a terminal."""
    lanes, end_s = _lanes(handoff), _end_s(handoff)
    width = max(len(lane.name) for lane in lanes)
    lines = [_headline(handoff)]
    for lane in lanes:
        drawn = _drawn(lane, STATE if lane.kind == "state" else HOLDER, end_s)
        lines.append(f"{lane.name:{width}} │{drawn}│ {lane.total}")
    if handoff["gap_at_s"] is not None:
        mark = " " * _column(handoff["gap_at_s"], end_s) + GAP
        lines.append(f"{'gap':{width}} │{mark:{COLUMNS}}│ {handoff['gap_ms']} ms")
    return "\n".join(lines)


def svg(handoff: Handoff) -> str:
    """Return the chart as an SVG picture, for light and dark mode."""
    lanes, end_s = _lanes(handoff), _end_s(handoff)
    left, bottom = 24 + LETTER * max(len(lane.name) for lane in lanes), HEAD + LANE * len(lanes)
    step_s = next((step for step in STEPS_S if end_s / step <= TICKS), STEPS_S[-1])
    return TEMPLATES.get_template("chart.svg.j2").render(
        headline=_headline(handoff),
        left=left,
        width=left + PLOT + RIGHT,
        height=bottom + FOOT,
        top=HEAD,
        bottom=bottom,
        bar=BAR,
        scale=PLOT / end_s,
        ticks=range(0, int(end_s) + 1, step_s),
        lanes=[(HEAD + LANE * number + LANE / 2, lane) for number, lane in enumerate(lanes)],
        gap_at_s=handoff["gap_at_s"],
        gap_ms=handoff["gap_ms"],
    )


def _headline(handoff: Handoff) -> str:
    names = [entry["holder"] for entry in handoff["holders"]]
    moved = f"held by {names[0]}" if len(names) == 1 else f"from {names[0]} to {names[-1]}"
    sent = handoff["probes_sent"]
    probes = f"{handoff['probes_failed']} of {sent} probes failed" if sent else "not measured"
    return f"API VIP {moved}; {probes}"


def _lanes(handoff: Handoff) -> list[Lane]:
    """Return the states in their order, then the holders in the order of their first appearance."""
    states = [
        Lane(entry["state"], "state", ((entry["at_s"], after["at_s"]),))
        for entry, after in pairwise(handoff["timeline"])
    ]
    spans: dict[str, tuple[tuple[float, float], ...]] = {}
    for entry, after in pairwise([*handoff["holders"], handoff["timeline"][-1]]):
        name, until_s = entry["holder"], max(entry["at_s"], after["at_s"])
        spans[name] = (*spans.get(name, ()), (entry["at_s"], until_s))
    kinds = dict.fromkeys((NOBODY, NO_ONE_MACHINE), "gone")
    return states + [Lane(name, kinds.get(name, "holder"), spans[name]) for name in spans]


def _end_s(handoff: Handoff) -> float:
    return max(1.0, float(handoff["timeline"][-1]["at_s"]))


def _column(second: float, end_s: float) -> int:
    return min(COLUMNS - 1, int(second / end_s * COLUMNS))


def _drawn(lane: Lane, mark: str, end_s: float) -> str:
    """Return the lane's bars as text, each at least one column wide."""
    columns = [" "] * COLUMNS
    for begin, end in lane.spans:
        first = _column(begin, end_s)
        last = min(COLUMNS, max(first + 1, round(end / end_s * COLUMNS)))
        columns[first:last] = mark * (last - first)
    return "".join(columns)


COMMAND = Command(chart)
