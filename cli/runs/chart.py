"""`chart`: draw a handoff's outputs: its states over time, the holders of the VIPs, and the longest gap."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from base.errors import ConfigError, Fault
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from providers.vip_handoff.checks import NO_ONE_MACHINE, NOBODY

Handoff = Mapping[str, Any]
"""The outputs of `VipHandoff`."""

COLUMNS = 56
STATE, HOLDER, GAP = "━", "█", "▲"

PLOT, RIGHT, LETTER = 540, 84, 8
HEAD, LANE, BAR, FOOT = 62, 24, 12, 28
"""In pixels. Widths: plot, totals, one letter of a name. Heights: headline and axis, lane, a lane's bar, gap line."""
TICKS = 8
STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)
STYLE = """
text{font:13px system-ui,sans-serif;fill:#1f2328}.head{font-weight:600}.name{text-anchor:end}.at{text-anchor:middle}
.back{fill:#fff}.soft{fill:#59636e}.line{stroke:#d1d9e0}.state{fill:#818b98}.holder{fill:#0969da}
.gone,.gap{fill:#cf222e}.mark{opacity:.5}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}.back{fill:#0d1117}.soft{fill:#9198a1}.line{stroke:#3d444d}.state{fill:#656c76}.holder{fill:#4493f8}
.gone,.gap{fill:#f85149}}
"""


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
        print(text(json.load(sys.stdin)))
    except (ValueError, TypeError, KeyError):
        fix = "pipe `pulumi stack output handoff --json` into this command"
        raise ConfigError(Fault("", "no outputs of a handoff on standard input", fix)) from None
    return EXIT_OK


def text(handoff: Handoff) -> str:
    """Return the chart in a dozen lines for a terminal."""
    shown, end_s = _lanes(handoff), _end_s(handoff)
    width = max(len(lane.name) for lane in shown)
    lines = [_headline(handoff)]
    for lane in shown:
        drawn = _drawn(lane, STATE if lane.kind == "state" else HOLDER, end_s)
        lines.append(f"{lane.name:{width}} │{drawn}│ {lane.total}")
    if handoff["gap_at_s"] is not None:
        mark = " " * _column(handoff["gap_at_s"], end_s) + GAP
        lines.append(f"{'gap':{width}} │{mark:{COLUMNS}}│ {handoff['gap_ms']} ms")
    return "\n".join(lines)


def svg(handoff: Handoff) -> str:
    """Return the chart as an SVG picture, for light and dark mode."""
    shown, scale = _lanes(handoff), PLOT / _end_s(handoff)
    left, bottom = 24 + LETTER * max(len(lane.name) for lane in shown), HEAD + LANE * len(shown)
    width, height = left + PLOT + RIGHT, bottom + FOOT
    headline = escape(_headline(handoff))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-left} 0 {width} {height}" width="{width}" role="img">',
        f"<title>{headline}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="{-left}" width="{width}" height="{height}"/>',
        f'<text class="head" x="{12 - left}" y="24">{headline}</text>',
        *_axis(_end_s(handoff), scale, bottom),
    ]
    for number, lane in enumerate(shown):
        parts += _drawn_lane(lane, scale, HEAD + LANE * number)
    if handoff["gap_at_s"] is not None:
        parts += _drawn_gap(handoff["gap_at_s"], handoff["gap_ms"], scale, bottom)
    return "\n".join([*parts, "</svg>", ""])


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
        last = max(first + 1, round(end / end_s * COLUMNS))
        columns[first:last] = mark * (last - first)
    return "".join(columns)


def _drawn_lane(lane: Lane, scale: float, y: int) -> list[str]:
    middle = y + LANE / 2
    bars = [
        f'<rect class="{lane.kind}" x="{begin * scale:.1f}" y="{middle - BAR / 2:g}"'
        f' width="{max(2, (end - begin) * scale):.1f}" height="{BAR}" rx="2"/>'
        for begin, end in lane.spans
    ]
    return [
        f'<text class="name" x="-12" y="{middle + 4:g}">{escape(lane.name)}</text>',
        *bars,
        f'<text class="name soft" x="{PLOT + RIGHT - 12}" y="{middle + 4:g}">{lane.total}</text>',
    ]


def _drawn_gap(at_s: float, gap_ms: float, scale: float, bottom: int) -> list[str]:
    x, width, height = at_s * scale, max(1.5, gap_ms / 1000 * scale), bottom - HEAD + 4
    return [
        f'<rect class="gap mark" x="{x:.1f}" y="{HEAD}" width="{width:.1f}" height="{height}"/>',
        f'<text class="gap at" x="{x + width / 2:.1f}" y="{bottom + 18}">longest gap {gap_ms} ms</text>',
    ]


def _axis(end_s: float, scale: float, bottom: int) -> list[str]:
    step_s = next((step for step in STEPS_S if end_s / step <= TICKS), STEPS_S[-1])
    lines = []
    for second in range(0, int(end_s) + 1, step_s):
        x = f"{second * scale:.1f}"
        lines.append(f'<line class="line" x1="{x}" x2="{x}" y1="{HEAD}" y2="{bottom}"/>')
        lines.append(f'<text class="soft at" x="{x}" y="{HEAD - 6}">{second} s</text>')
    return lines


COMMAND = Command(chart)
