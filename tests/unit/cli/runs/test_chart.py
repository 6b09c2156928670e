"""A handoff's outputs as a chart, in text and as a picture."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cli.runs import chart
from providers.vip_handoff.model import VipHandoffOuts
from testing.checkout import ROOT
from testing.command_line import COMMAND, run

PICTURE = Path(__file__).with_name("handoff.svg")
FIRST, SECOND, THIRD = "okd-bootstrap", "okd-master-0", "okd-master-1"


def handoff(states: dict[str, float], *holders: tuple[str, float], **figures: Any) -> dict[str, Any]:
    """Outputs of a handoff; each state and holder with the second it began at."""
    return VipHandoffOuts(
        timeline=[{"state": state, "at_s": at_s} for state, at_s in states.items()],
        holders=[{"holder": holder, "at_s": at_s} for holder, at_s in holders],
        **figures,
    ).props()


STATES = {"gate": 0, "ask": 11.2, "release": 11.3, "soak": 15.6, "await": 21.1, "let go": 21.7, "done": 29.4}
MEASURED = {"gap_ms": 31, "gap_at_s": 13.42, "probes_sent": 1874, "probes_failed": 0}
MOVED = handoff(STATES, (FIRST, 0.4), (SECOND, 15.2), **MEASURED)
BROKEN = handoff(
    {"gate": 0, "watch": 10, "await": 50, "let go": 51, "done": 60},
    *((SECOND, 0.3), ("nobody", 20), (THIRD, 24), ("no one machine", 30), (THIRD, 32)),
    gap_ms=4012,
    gap_at_s=19.9,
    probes_sent=4000,
    probes_failed=99,
)
PROVEN = handoff({"prove": 0, "done": 0.6}, (FIRST, 0.3))

TEXTS = {
    "moved": (
        MOVED,
        """\
API VIP from okd-bootstrap to okd-master-0; 0 of 1874 probes failed
gate          │━━━━━━━━━━━━━━━━━━━━━                                   │ 11.2 s
ask           │                     ━                                  │ 0.1 s
release       │                     ━━━━━━━━━                          │ 4.3 s
soak          │                             ━━━━━━━━━━━                │ 5.5 s
await         │                                        ━               │ 0.6 s
let go        │                                         ━━━━━━━━━━━━━━━│ 7.7 s
okd-bootstrap │█████████████████████████████                           │ 14.8 s
okd-master-0  │                            ████████████████████████████│ 14.2 s
gap           │                         ▲                              │ 31 ms""",
    ),
    "broken": (
        BROKEN,
        """\
API VIP from okd-master-0 to okd-master-1; 99 of 4000 probes failed
gate           │━━━━━━━━━                                               │ 10.0 s
watch          │         ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━         │ 40.0 s
await          │                                              ━━        │ 1.0 s
let go         │                                               ━━━━━━━━━│ 9.0 s
okd-master-0   │███████████████████                                     │ 19.7 s
nobody         │                  ████                                  │ 4.0 s
okd-master-1   │                      ██████ ███████████████████████████│ 34.0 s
no one machine │                            ██                          │ 2.0 s
gap            │                  ▲                                     │ 4012 ms""",
    ),
    "proven": (
        PROVEN,
        """\
API VIP held by okd-bootstrap; not measured
prove         │━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━                      │ 0.6 s
okd-bootstrap │                ██████████████████                      │ 0.3 s""",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_has_a_line_for_each_state_and_each_holder(name: str) -> None:
    outputs, wanted = TEXTS[name]
    assert chart.text(outputs) == wanted


def test_the_picture_equals_the_golden_one(accept_golden: bool) -> None:
    if accept_golden:
        PICTURE.write_text(chart.svg(MOVED))
    assert chart.svg(MOVED) == PICTURE.read_text()


@pytest.mark.parametrize("outputs", [MOVED, BROKEN, PROVEN], ids=["moved", "broken", "proven"])
def test_the_picture_loads_no_file_and_stays_inside_its_frame(outputs: dict[str, Any]) -> None:
    picture = ElementTree.fromstring(chart.svg(outputs))  # noqa: S314
    left, _, width, height = map(float, picture.attrib["viewBox"].split())
    assert {element.tag.partition("}")[2] for element in picture.iter()} <= {
        *("svg", "title", "style", "rect", "line", "text")
    }
    assert not {"href", "src"} & {name for element in picture.iter() for name in element.attrib}
    for bar in picture.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, across, down = (float(bar.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert left <= x <= x + across <= left + width
        assert 0 <= y <= y + down <= height


def test_the_command_shows_the_same_chart() -> None:
    assert shown(json.dumps(MOVED)) == (0, chart.text(MOVED) + "\n", "")


@pytest.mark.parametrize("given", ["", "null", "{}", "3"], ids=["nothing", "null", "of-something-else", "number"])
def test_other_input_is_refused_in_a_line(given: str) -> None:
    code, out, error = shown(given)
    assert (code, out) == (2, "")
    assert error == (
        "no outputs of a handoff on standard input. "
        "Fix: pipe `pulumi stack output handoff --json` into this command\n"
    )


def shown(given: str) -> tuple[int, str, str]:
    done = run("chart", stdin=given)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("at_s", ["1e400", "-1e400", "NaN", "1e308", "-5", "9" * 4000, "[]", "{}", '"1"'])
@pytest.mark.parametrize("place", ["timeline", "holders", "gap_at_s"])
def test_odd_numbers_are_drawn_or_refused(place: str, at_s: str) -> None:
    """S17 of issue 43."""
    odd = json.loads(json.dumps(MOVED))
    if place == "gap_at_s":
        odd[place] = "odd"
    else:
        odd[place][-1]["at_s"] = "odd"
    code, out, error = shown(json.dumps(odd).replace('"odd"', at_s))
    assert (code, error) == (0, "") or (code, out, error.count("\n")) == (2, "", 1)
    assert len(out) < 10_000


def test_deep_nesting_is_refused_in_a_line() -> None:
    """S17 of issue 43."""
    assert shown("[" * 50_000)[0] == 2


def test_what_is_no_text_is_refused_in_a_line() -> None:
    """S17 of issue 43."""
    utf_8 = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run([*COMMAND, "chart"], cwd=ROOT, env=utf_8, input=b"\xff", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"standard input: byte 1 is not UTF-8. Fix: pipe UTF-8 text into it\n"
