"""The table of the handoff's states: it equals the document's, and every state is reached and left."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from cluster.values.balancer import Balancer
from providers.vip_handoff.states import ENDS, OPERATOR, OPERATOR_ROWS, SITE, TABLE, TABLES, State, Transition, saving
from testing.documents import table
from testing.fakes.lan import NEVER, SPEC, VIP, spec_with
from testing.handoff_rig import FIRST, RELEASED, TAKEN, TOOK_IT, Rig

DOCUMENT = "explanation/handoff.md"


def docstring(function: Callable[..., Any] | None) -> str:
    return (function.__doc__ or "").strip() if function else "-"


def success(row: Transition) -> str:
    if row.moved is None:
        return row.success
    held = f"{row.resumed} if they were released, else {row.moved}"
    return f"{row.success}; where the control plane holds the VIPs: {held}"


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        ("state", TABLE),
        ("with snapshots", saving(TABLE)),
        ("with platform baremetal", OPERATOR_ROWS),
        ("with a balancer of yours", SITE),
    ],
)
def test_the_document_shows_the_table(first: str, rows: dict[State, Transition]) -> None:
    drawn = [
        {
            first: state.value,
            "does": docstring(row.does),
            "checks": docstring(row.check),
            "steady": row.steady.name,
            "deadline": row.within.name,
            "success": success(row),
            "failure": row.failure.value,
            "too late": row.late.value if row.check else "-",
            "measured": "yes" if row.measured else "no",
        }
        for state, row in rows.items()
    ]
    assert table(DOCUMENT, first) == drawn


TIMES = {
    "-": 0,
    "`stable_s`": 30,
    "`stable_s`, 40 s or more": 40,
    "`soak_s`": 20,
    "`soaks_s`": 80,
    "`deadline_s`": 600,
    "`bootstrap_s`": 300,
    "30 s": 30,
    "10 s": 10,
}


def test_each_time_in_the_table_equals_the_one_it_names() -> None:
    rows = (*TABLE.values(), *OPERATOR.values())
    times = {time.name: time.of(SPEC) for row in rows for time in (row.steady, row.within)}
    assert times == TIMES


def test_the_document_shows_the_ends() -> None:
    assert table(DOCUMENT, "ends") == [{"ends": end.value, "what holds then": text} for end, text in ENDS.items()]


def test_each_state_has_a_row_or_is_an_end() -> None:
    assert set(OPERATOR) | set(ENDS) | set(saving(TABLE)) == set(State)
    assert not set(OPERATOR) & set(ENDS)
    assert set(TABLE) < set(OPERATOR)
    assert set(SITE) < set(TABLE)


def leads_of(rows: dict[State, Transition]) -> dict[State, set[State | None]]:
    return {
        state: {row.success, row.moved, row.resumed, row.failure, row.late} - {None} for state, row in rows.items()
    }


@pytest.mark.parametrize(
    ("rows", "ends"),
    [(TABLE, set(ENDS)), (OPERATOR, set(ENDS)), (SITE, {State.DONE, State.REFUSED, State.LEFT})],
    ids=["ours", "operator", "site"],
)
def test_no_row_leads_to_itself_and_each_end_is_reached(rows: dict[State, Transition], ends: set[State]) -> None:
    leads = leads_of(rows)
    assert not [state for state, nexts in leads.items() if state in nexts]
    assert set().union(*leads.values()) - set(rows) == ends


LOST = {"outages": [(VIP, 31, NEVER)]}
"""The API is not ready through the VIP after the release."""
EDGES: dict[tuple[State, str], dict[str, Any]] = {
    (State.PROVE, "success"): {},
    (State.PROVE, "failure"): {"blind_s": 0},
    (State.PROVE, "late"): {"macs": [(0, frozenset())]},
    (State.CONFIRM, "success"): {"macs": [(0, TAKEN)]},
    (State.CONFIRM, "failure"): {"blind_s": 0},
    (State.CONFIRM, "late"): {},
    (State.GATE, "success"): {},
    (State.GATE, "moved"): TOOK_IT,
    (State.GATE, "resumed"): RELEASED,
    (State.GATE, "failure"): {"blind_s": 10},
    (State.GATE, "late"): {"outages": [(FIRST, 0, NEVER)]},
    (State.ASK, "success"): {},
    (State.ASK, "failure"): {"silent_s": 0},
    (State.RELEASE, "success"): {},
    (State.RELEASE, "failure"): {"blind_s": 31},
    (State.RELEASE, "late"): {"moves_s": NEVER},
    (State.SOAK, "success"): {},
    (State.SOAK, "failure"): {"blind_s": 40},
    (State.SOAK, "late"): LOST,
    (State.WATCH, "success"): {"macs": [(0, TAKEN)]},
    (State.WATCH, "failure"): {"macs": [(0, TAKEN)], "blind_s": 40},
    (State.WATCH, "late"): {"macs": [(0, TAKEN)], **LOST},
    (State.AWAIT, "success"): {},
    (State.AWAIT, "failure"): {"macs": [(0, TAKEN)], "signals": True, "completes_s": NEVER, "blind_s": 60},
    (State.AWAIT, "late"): {"signals": True, "completes_s": NEVER},
    (State.LET_GO, "success"): {},
    (State.LET_GO, "failure"): {"stuck": True},
    (State.LET_GO, "late"): {"elsewhere": True},
    (State.BACK, "success"): LOST,
    (State.BACK, "failure"): {**LOST, "silent_s": 60},
    (State.BACK, "late"): {**LOST, "backs_s": NEVER},
}


EDGES_OF_OPERATOR: dict[tuple[State, str], dict[str, Any]] = {
    edge: {"one_way": True, **lan}
    for edge, lan in {
        **EDGES,
        (State.GATE, "late"): {"outages": [(f"haproxy {FIRST}", 0, NEVER)]},
        (State.RELEASE, "failure"): {"blind_s": 41},
        (State.LEAVE, "success"): {},
        (State.LEAVE, "failure"): {"answers": {"leave": None}},
        (State.LEAVE, "late"): {"leaves_s": NEVER},
        (State.SOAK, "failure"): {"blind_s": 50},
        (State.SOAK, "late"): {"outages": [(VIP, 41, NEVER)]},
        (State.AWAIT, "failure"): {"macs": [(0, TAKEN)], "signals": True, "completes_s": NEVER, "blind_s": 70},
        (State.WATCH, "failure"): {"macs": [(0, TAKEN)], "blind_s": 50},
        (State.BACK, "failure"): {"outages": [(VIP, 41, NEVER)], "silent_s": 70},
    }.items()
}
CONFIG = f"config {VIP}"
EDGES_WITH_BALANCER: dict[tuple[State, str], dict[str, Any]] = {
    (State.PROVE, "success"): {},
    (State.PROVE, "late"): {"outages": [(CONFIG, 0, NEVER)]},
    (State.CONFIRM, "success"): {"ends_s": 0},
    (State.CONFIRM, "late"): {"outages": [(CONFIG, 0, NEVER)]},
    (State.GATE, "success"): {},
    (State.GATE, "late"): {"outages": [(FIRST, 0, NEVER)]},
    (State.AWAIT, "success"): {},
    (State.AWAIT, "late"): {"ends_s": NEVER},
    (State.SOAK, "success"): {},
    (State.SOAK, "late"): {"outages": [(CONFIG, 41, NEVER)]},
    (State.LET_GO, "success"): {},
    (State.LET_GO, "failure"): {"stuck": True},
}
CASES = {
    **{(Balancer.CLUSTER, *edge): lan for edge, lan in EDGES.items()},
    **{(Balancer.OPERATOR, *edge): lan for edge, lan in EDGES_OF_OPERATOR.items()},
    **{(Balancer.SITE, *edge): lan for edge, lan in EDGES_WITH_BALANCER.items()},
}


def test_every_edge_of_the_tables_has_a_case() -> None:
    wanted = set()
    for balancer, rows in TABLES.items():
        for state, row in rows.items():
            # With a balancer of the site, no check raises: each asks over TCP alone.
            fails = balancer is not Balancer.SITE or row.does
            leads = {"success": True, "moved": row.moved, "resumed": row.resumed, "failure": fails, "late": row.check}
            wanted |= {(balancer, state, edge) for edge, there in leads.items() if there}
    assert set(CASES) == wanted


@pytest.mark.parametrize(("balancer", "state", "edge"), CASES, ids=lambda each: str(each).replace(" ", "-"))
def test_each_edge_leads_where_the_table_says(balancer: Balancer, state: State, edge: str) -> None:
    rig = Rig(spec_with(balancer=balancer), **CASES[balancer, state, edge])
    begin = {State.PROVE: rig.engine.prove_bootstrap, State.CONFIRM: rig.engine.prove_control_plane}
    with suppress(HandoffUnsafeError):
        begin.get(state, rig.engine.move)()
    where = rig.states.index(state)
    assert rig.states[where + 1] == getattr(TABLES[balancer][state], edge)
