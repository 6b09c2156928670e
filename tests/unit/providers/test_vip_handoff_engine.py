"""The handoff, edge by edge: the VIP moves and stays moved, or everything is as it was."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from providers.errors import HandoffUnsafeError
from providers.vip_handoff.checks import holder_of
from providers.vip_handoff.engine import HandoffEngine
from providers.vip_handoff.model import UNMEASURED, Cluster
from providers.vip_handoff.states import BACK_S, MOVE_S, TABLE, State
from tests.fakes.clock import FakeClock
from tests.fakes.lan import BOOTSTRAP, CLUSTER, MACS, NEVER, NODES, STRANGER, VIP, VIP6, FakeLan

FIRST, SECOND = "192.0.2.21", "192.0.2.22"
TAKEN = frozenset({MACS[SECOND]})
HELD = frozenset({BOOTSTRAP})
BOTH = f"okd-bootstrap ({BOOTSTRAP}) and master-1 ({MACS[SECOND]})"


class Rig:
    """One engine over one fake cluster."""

    def __init__(self, cluster: Cluster = CLUSTER, *, signals: bool = False, **lan: Any) -> None:
        self.clock = FakeClock()
        self.lan = FakeLan(self.clock, **lan)
        self.lines: list[str] = []
        signal = self.lan.missing if signals else None
        work = (self.lan.client, self.clock, self.lines.append)
        self.engine = HandoffEngine(cluster, self.lan, self.lan, signal, *work)

    def move(self) -> dict[str, Any]:
        return self.engine.move()

    def fails(self) -> HandoffUnsafeError:
        with pytest.raises(HandoffUnsafeError) as caught:
            self.move()
        assert not self.lan.stopped_at, "the VM must be kept"
        assert "\n" not in str(caught.value)
        assert VIP in str(caught.value)
        return caught.value

    @property
    def states(self) -> list[str]:
        return [entry["state"] for entry in self.engine.timeline]

    def at(self, state: str) -> float:
        return float(next(entry["at_s"] for entry in self.engine.timeline if entry["state"] == state))


def test_the_vip_moves_soaks_and_the_vm_is_let_go_once() -> None:
    rig = Rig()
    outs = rig.move()
    assert rig.states == ["gate", "ask", "release", "soak", "await", "let go", "done"]
    assert rig.lan.said == ["status", "release"]
    assert rig.lan.stopped_at == [rig.at("let go")]
    assert rig.at("release") == CLUSTER.stable_s
    assert rig.at("soak") == CLUSTER.stable_s + rig.lan.moves_s
    assert rig.at("let go") == rig.at("soak") + CLUSTER.soak_s
    assert outs["holder"] == "master-1"
    assert (outs["mac"], outs["macs"]) == (MACS[SECOND], [MACS[SECOND]])
    assert outs["seconds"] == {"gate": 30, "ask": 0, "release": 4, "soak": 20, "await": 0, "let go": 0}
    assert {name: outs[name] for name in UNMEASURED} == rig.lan.figures(rig.lan.started)
    assert outs["completion"] == "not asked: no kubeconfig"
    assert outs["holders"] == [{"holder": "okd-bootstrap", "at_s": 0}, {"holder": "master-1", "at_s": 34}]
    assert outs["timeline"] == rig.engine.timeline


def test_the_client_measures_from_before_the_release_until_after_the_soak() -> None:
    rig = Rig()
    rig.move()
    assert rig.lan.order == ["status", "client begins", "release", "client ends", "stop"]


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param(
            {"outages": [(FIRST, 0, NEVER)]},
            "master-0 (192.0.2.21) without answer to /readyz on 6443; 2 of the wanted 3 are ready",
            id="one-down",
        ),
        pytest.param(
            {"outages": [(f"config {address}", 0, NEVER) for address in NODES.values()]},
            "no node of the control plane serves 22623",
            id="no-config-server",
        ),
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param({"macs": [(0, HELD | TAKEN)]}, f"answered by {BOTH}", id="two-macs"),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by a stranger ({STRANGER})", id="stranger"),
        pytest.param(
            {"outages": [(FIRST, begin, begin + 5) for begin in range(10, 1000, 25)]},
            "master-0 (192.0.2.21)",
            id="never-ready-for-long-enough",
        ),
    ],
)
def test_a_gate_that_never_opens_refuses_and_the_guest_is_never_spoken_to(lan: dict[str, Any], seen: str) -> None:
    rig = Rig(**lan)
    error = rig.fails()
    assert "at gate" in str(error)
    assert seen in str(error)
    assert "VIP and VM are untouched" in str(error)
    assert rig.lan.said == []
    assert rig.lan.order == []
    assert CLUSTER.deadline_s <= rig.lan.second < CLUSTER.deadline_s + 1


def test_one_config_server_is_enough() -> None:
    rig = Rig(outages=[(f"config {address}", 0, NEVER) for address in (FIRST, "192.0.2.23")])
    assert rig.move()["holder"] == "master-1"


def test_a_break_at_the_gate_starts_the_wait_anew() -> None:
    rig = Rig(outages=[(FIRST, 20, 25)])
    rig.move()
    assert rig.at("release") == 25 + CLUSTER.stable_s


def test_a_vip_that_never_moves_is_held_again() -> None:
    rig = Rig(moves_s=NEVER)
    error = rig.fails()
    assert rig.lan.said == ["status", "release", "status", "hold"]
    assert rig.states == ["gate", "ask", "release", "back", "returned"]
    assert "at release" in str(error)
    assert f"answered by okd-bootstrap ({BOOTSTRAP}), after {MOVE_S:g} s" in str(error)
    assert "the VIP is on the bootstrap again, nothing was lost" in str(error)
    assert isinstance(error.__cause__, HandoffUnsafeError)


def test_a_bootstrap_that_does_not_let_go_is_told_to_hold() -> None:
    rig = Rig(answers={"release": "held vip=yes api=yes"})
    error = rig.fails()
    assert "'held vip=yes api=yes', wanted released" in str(error)
    assert rig.lan.said == ["status", "release", "status", "hold"]


@pytest.mark.parametrize(
    "rubbish", ["unknown word", "", "rel eased", "\x00 \x01"], ids=["refused", "empty", "torn", "binary"]
)
def test_rubbish_on_the_channel_is_no_release(rubbish: str) -> None:
    rig = Rig(answers={"release": rubbish})
    rig.fails()
    assert "hold" in rig.lan.said


def test_a_vip_that_does_not_come_back_is_said() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], backs_s=NEVER)
    error = rig.fails()
    assert "at soak: master-1 holds it; its API is not ready (status 500)" in str(error)
    assert "giving it back failed: at back" in str(error)
    assert f"answered by master-1 ({MACS[SECOND]}), after {BACK_S:g} s" in str(error)
    assert rig.lan.said == ["status", "release", "status", "hold"]


def test_a_bootstrap_whose_api_is_gone_is_not_given_the_vip_back() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], answers={"status": "released vip=no api=no"})
    error = rig.fails()
    assert rig.lan.said == ["status", "release", "status"]
    assert "the bootstrap's own API is down" in str(error)
    assert "at soak" in str(error)
    assert rig.lan.vip_macs() == (TAKEN,)


def test_a_channel_that_dies_after_the_release_keeps_the_vm_and_says_both() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], silent_s=60)
    error = rig.fails()
    assert "master-1 holds it; its API is not ready (status 500)" in str(error)
    assert "giving it back failed: at back: no answer within 10 s" in str(error)
    assert rig.lan.said == ["status", "release", "status"]


@pytest.mark.parametrize(
    "answer", [None, "unknown word", "", "held vip=yes"], ids=["none", "refused", "empty", "torn"]
)
def test_a_channel_that_does_not_answer_before_the_release_refuses_it(answer: str | None) -> None:
    rig = Rig(answers={"status": answer})
    error = str(rig.fails())
    assert "at ask: " in error
    assert "VIP and VM are untouched" in error
    assert (f"answered {answer!r}, wanted held" if answer is not None else "no answer within 10 s") in error
    assert rig.lan.order == ["status"]
    assert rig.lan.vip_macs() == (HELD,)


def test_a_soak_that_breaks_once_begins_anew_and_succeeds() -> None:
    rig = Rig(outages=[(VIP, 45, 50)])
    rig.move()
    assert rig.at("let go") == 50 + CLUSTER.soak_s
    assert rig.lan.said == ["status", "release"]


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param(
            {"outages": [(VIP, 36, NEVER)]}, "master-1 holds it; its API is not ready (status 500)", id="api-down"
        ),
        pytest.param({"macs": [(0, HELD), (40, HELD | TAKEN)]}, BOTH, id="two-macs"),
        pytest.param({"macs": [(0, HELD), (40, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param(
            {"macs": [(0, HELD), (40, HELD)]}, f"answered by okd-bootstrap ({BOOTSTRAP})", id="back-by-itself"
        ),
        pytest.param(
            {"macs": [(0, HELD), (40, frozenset({STRANGER}))]}, f"by a stranger ({STRANGER})", id="stranger"
        ),
    ],
)
def test_a_soak_that_never_lasts_gives_the_vip_back(lan: dict[str, Any], seen: str) -> None:
    rig = Rig(**lan)
    error = rig.fails()
    assert "at soak" in str(error)
    assert seen in str(error)
    assert rig.lan.said == ["status", "release", "status", "hold"]
    assert rig.at("back") == pytest.approx(rig.at("soak") + CLUSTER.soaks_s, abs=1)


def test_what_the_control_plane_holds_already_is_soaked_and_never_released() -> None:
    rig = Rig(macs=[(0, TAKEN)])
    outs = rig.move()
    assert rig.lan.said == []
    assert rig.states == ["gate", "watch", "await", "let go", "done"]
    assert len(rig.lan.stopped_at) == 1
    assert outs["holder"] == "master-1"


def test_what_the_control_plane_holds_already_is_never_rolled_back() -> None:
    rig = Rig(macs=[(0, TAKEN)], outages=[(VIP, 31, NEVER)])
    assert "at watch" in str(rig.fails())
    assert rig.states == ["gate", "watch", "left"]
    assert rig.lan.said == []


TOOK_IT = {"macs": [(0, TAKEN)]}


@pytest.mark.parametrize("lan", [{}, TOOK_IT], ids=["released", "taken-by-the-control-plane"])
def test_the_vm_is_kept_until_the_payload_says_that_its_bootstrap_may_end(lan: dict[str, Any]) -> None:
    rig = Rig(signals=True, completes_s=400, **lan)
    outs = rig.move()
    assert rig.states[-3:] == ["await", "let go", "done"]
    assert rig.lan.stopped_at == [400]
    assert outs["completion"] == "complete"
    assert any(line.startswith("await: the ConfigMap is not there; ") for line in rig.lines)


@pytest.mark.parametrize("lan", [{}, TOOK_IT], ids=["released", "taken-by-the-control-plane"])
def test_a_payload_that_never_says_so_keeps_the_vm_and_the_vip_stays_with_the_control_plane(
    lan: dict[str, Any],
) -> None:
    rig = Rig(signals=True, completes_s=NEVER, **lan)
    error = str(rig.fails())
    assert f"at await: the ConfigMap is not there, after {CLUSTER.deadline_s:g} s" in error
    assert "the VIP was left where it is, and the VM runs on" in error
    assert "hold" not in rig.lan.said
    assert rig.lan.vip_macs() == (TAKEN,)


def test_the_vm_is_kept_while_the_vip_is_away_from_the_control_plane() -> None:
    rig = Rig(signals=True, macs=[(0, TAKEN), (60, HELD)], completes_s=70)
    assert f"at await: answered by okd-bootstrap ({BOOTSTRAP})" in str(rig.fails())
    assert rig.lan.said == []


@pytest.mark.parametrize(
    ("macs", "holders"),
    [
        pytest.param(
            [(0, HELD), (36, frozenset()), (38, TAKEN)], ["okd-bootstrap", "nobody", "master-1"], id="nobody"
        ),
        pytest.param(
            [(0, HELD), (36, HELD | TAKEN), (38, TAKEN)], ["okd-bootstrap", "no one machine", "master-1"], id="two"
        ),
    ],
)
def test_who_held_the_vip_is_told_in_turn(macs: list[tuple[float, frozenset[str]]], holders: list[str]) -> None:
    outs = Rig(macs=macs, moves_s=NEVER).move()
    wanted = zip(holders, (0, 36, 38), strict=True)
    assert outs["holders"] == [{"holder": holder, "at_s": at_s} for holder, at_s in wanted]


def test_a_node_whose_address_nobody_answers_is_no_holder_of_nothing() -> None:
    assert holder_of([frozenset()], CLUSTER, lambda _: frozenset()) is None


def test_two_that_answer_for_a_node_make_no_holder() -> None:
    both = HELD | TAKEN
    assert holder_of([both], CLUSTER, lambda _: both) is None


@pytest.mark.parametrize(
    ("macs", "holder"),
    [
        pytest.param([(0, HELD)], "okd-bootstrap", id="bootstrap"),
        pytest.param([(0, frozenset()), (100, HELD)], "okd-bootstrap", id="later"),
        pytest.param([(0, TAKEN)], "master-1", id="control-plane-took-it-by-itself"),
    ],
)
def test_phase_bootstrap_is_proven_by_one_known_holder_that_serves(
    macs: list[tuple[float, frozenset[str]]], holder: str
) -> None:
    rig = Rig(macs=macs, outages=[(VIP, 0, 5), (f"config {VIP}", 0, 9)])
    outs = rig.engine.prove_bootstrap()
    assert outs["holder"] == holder
    assert {name: outs[name] for name in UNMEASURED} == UNMEASURED
    assert outs["completion"] is None
    assert rig.lan.second >= max(9, macs[-1][0])
    assert rig.lan.said == []


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param(
            {"macs": [(0, HELD | {STRANGER})]},
            f"a stranger ({STRANGER}) and okd-bootstrap ({BOOTSTRAP})",
            id="two-macs",
        ),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by a stranger ({STRANGER})", id="stranger"),
        pytest.param(
            {"outages": [(VIP, 0, NEVER)]}, "okd-bootstrap holds it; its API is not ready (status 500)", id="no-api"
        ),
        pytest.param({"outages": [(f"config {VIP}", 0, NEVER)]}, "no config server yet", id="no-config-server"),
    ],
)
def test_phase_bootstrap_is_not_proven_by_deadline(lan: dict[str, Any], seen: str) -> None:
    rig = Rig(**lan)
    with pytest.raises(HandoffUnsafeError, match="at prove") as caught:
        rig.engine.prove_bootstrap()
    assert seen in str(caught.value)
    assert CLUSTER.bootstrap_s <= rig.lan.second < CLUSTER.bootstrap_s + 1


def test_phase_production_is_proven_by_a_node_of_the_control_plane() -> None:
    rig = Rig(macs=[(0, frozenset()), (3, TAKEN)])
    assert rig.engine.prove_control_plane()["holder"] == "master-1"


@pytest.mark.parametrize(
    "macs",
    [HELD, frozenset(), TAKEN | HELD, frozenset({STRANGER})],
    ids=["the-bootstrap", "nobody", "two-macs", "stranger"],
)
def test_phase_production_is_not_proven_by_anybody_else(macs: frozenset[str]) -> None:
    rig = Rig(macs=[(0, macs)])
    with pytest.raises(HandoffUnsafeError, match="at confirm"):
        rig.engine.prove_control_plane()
    assert rig.lan.second >= CLUSTER.deadline_s


def test_progress_is_one_line_per_state_and_a_heartbeat_not_one_per_poll() -> None:
    rig = Rig(replace(CLUSTER, stable_s=100))
    rig.move()
    gate = [line for line in rig.lines if line.startswith("gate")]
    assert 15 <= len(gate) <= 25
    assert "gate: as wanted; steady for 100 s more; 600 s left" in gate


@pytest.mark.parametrize(("min_ready", "ready"), [(3, 2), (2, 1)])
def test_the_gate_counts_ready_nodes(min_ready: int, ready: int) -> None:
    down = [(address, 0, 100) for address in list(NODES.values())[ready:]]
    rig = Rig(replace(CLUSTER, min_ready=min_ready), outages=down)
    rig.move()
    assert rig.at("release") == 100 + CLUSTER.stable_s


def test_enough_nodes_are_enough_even_when_they_take_turns() -> None:
    rig = Rig(replace(CLUSTER, min_ready=2), outages=[(FIRST, 0, 15), (SECOND, 15, NEVER)])
    rig.move()
    assert rig.at("release") == CLUSTER.stable_s


TWO = replace(CLUSTER, vips=(VIP, VIP6))


def test_two_vips_move_together() -> None:
    rig = Rig(TWO, second_macs=[(0, HELD), (36, TAKEN)])
    assert rig.move()["holder"] == "master-1"
    assert (rig.at("release"), rig.at("soak")) == (30, 36)


@pytest.mark.parametrize(
    ("second", "state", "seen"),
    [
        pytest.param([(0, HELD)], "release", f"{VIP} by master-1 ({MACS[SECOND]}), {VIP6} by okd-", id="one-stays"),
        pytest.param([(0, HELD), (36, TAKEN), (40, frozenset())], "soak", f"{VIP6} by nobody", id="one-lost"),
    ],
)
def test_of_two_vips_both_move_or_none(second: list[tuple[float, frozenset[str]]], state: str, seen: str) -> None:
    rig = Rig(TWO, second_macs=[*second, (122, HELD)])
    error = str(rig.fails())
    assert f"at {state}: answered: " in error
    assert seen in error
    assert rig.lan.said[-1] == "hold"
    assert "the VIP is on the bootstrap again" in error


def test_two_vips_are_served_when_the_api_is_ready_through_both() -> None:
    rig = Rig(TWO, second_macs=[(0, HELD)], outages=[(VIP6, 0, 7)])
    assert rig.engine.prove_bootstrap()["holder"] == "okd-bootstrap"
    assert rig.lan.second == 7


LOST = {"outages": [(VIP, 31, NEVER)]}
"""The API is not ready through the VIP, from the release on."""
EDGES: dict[tuple[State, str], dict[str, Any]] = {
    (State.PROVE, "success"): {},
    (State.PROVE, "failure"): {"blind_s": 0},
    (State.PROVE, "late"): {"macs": [(0, frozenset())]},
    (State.CONFIRM, "success"): {"macs": [(0, TAKEN)]},
    (State.CONFIRM, "failure"): {"blind_s": 0},
    (State.CONFIRM, "late"): {},
    (State.GATE, "success"): {},
    (State.GATE, "moved"): {"macs": [(0, TAKEN)]},
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
    (State.BACK, "success"): LOST,
    (State.BACK, "failure"): {**LOST, "silent_s": 60},
    (State.BACK, "late"): {**LOST, "backs_s": NEVER},
}


def test_every_edge_of_the_table_is_driven() -> None:
    wanted = set()
    for state, row in TABLE.items():
        leads = {"success": True, "moved": row.moved, "failure": True, "late": row.check}
        wanted |= {(state, edge) for edge, there in leads.items() if there}
    assert set(EDGES) == wanted


@pytest.mark.parametrize(("state", "edge"), EDGES, ids=lambda each: str(each).replace(" ", "-"))
def test_each_edge_leads_where_the_table_says(state: State, edge: str) -> None:
    rig = Rig(**EDGES[state, edge])
    begin = {State.PROVE: rig.engine.prove_bootstrap, State.CONFIRM: rig.engine.prove_control_plane}
    with suppress(HandoffUnsafeError):
        begin.get(state, rig.engine.move)()
    where = rig.states.index(state)
    assert rig.states[where + 1] == getattr(TABLE[state], edge)
