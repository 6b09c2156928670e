"""The handoff, edge by edge: the VIP moves and stays moved, or everything is as it was."""

from dataclasses import replace
from typing import Any

import pytest

from providers.errors import HandoffUnsafeError
from providers.vip_handoff.engine import BACK_S, MOVE_S, SOAKS, Cluster, HandoffEngine, holder_of
from tests.fakes.clock import FakeClock
from tests.fakes.lan import BOOTSTRAP, CLUSTER, MACS, NEVER, NODES, STRANGER, VIP, FakeLan

FIRST, SECOND = "192.0.2.21", "192.0.2.22"
TAKEN = frozenset({MACS[SECOND]})
HELD = frozenset({BOOTSTRAP})


class Rig:
    """One engine over one fake cluster."""

    def __init__(self, cluster: Cluster = CLUSTER, **lan: Any) -> None:
        self.clock = FakeClock()
        self.lan = FakeLan(self.clock, **lan)
        self.lines: list[str] = []
        self.engine = HandoffEngine(cluster, self.lan, self.clock, self.lines.append)

    def move(self) -> dict[str, Any]:
        return self.engine.move(self.lan, self.lan.client)

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
    assert rig.states == ["gate", "release", "soak", "let go", "done"]
    assert rig.lan.said == ["release"]
    assert rig.lan.stopped_at == [rig.at("let go")]
    assert rig.at("release") == CLUSTER.stable_s
    assert rig.at("soak") == CLUSTER.stable_s + rig.lan.moves_s
    assert rig.at("let go") == rig.at("soak") + CLUSTER.soak_s
    assert outs["holder"] == "master-1"
    assert outs["macs"] == [MACS[SECOND]]
    assert outs["felt"] == {"connects_tried": 450}
    assert outs["timeline"] == rig.engine.timeline


def test_the_client_measures_from_before_the_release_until_after_the_soak() -> None:
    rig = Rig()
    rig.move()
    assert rig.lan.order == ["client begins", "release", "client ends", "stop"]


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param(
            {"outages": [(FIRST, 0, NEVER)]}, "master-0 (192.0.2.21) does not answer /readyz", id="one-down"
        ),
        pytest.param(
            {"outages": [(f"config {address}", 0, NEVER) for address in NODES.values()]},
            "no node of the control plane serves 22623",
            id="no-config-server",
        ),
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param({"macs": [(0, HELD | TAKEN)]}, f"{BOOTSTRAP} and {MACS[SECOND]}", id="two-macs"),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by {STRANGER}", id="stranger"),
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
    assert seen in str(error) or "steady for" in str(error)
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
    assert rig.lan.said == ["release", "status", "hold"]
    assert rig.states == ["gate", "release", "back"]
    assert "at release" in str(error)
    assert f"answered by {BOOTSTRAP}, after {MOVE_S:g} s" in str(error)
    assert "the VIP is on okd-bootstrap again" in str(error)
    assert isinstance(error.__cause__, HandoffUnsafeError)


def test_a_bootstrap_that_does_not_let_go_is_told_to_hold() -> None:
    rig = Rig(answers={"release": "held vip=yes api=yes"})
    error = rig.fails()
    assert "'held vip=yes api=yes', wanted released" in str(error)
    assert rig.lan.said == ["release", "status", "hold"]


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
    assert "at soak: master-1 holds it; its API is not ready" in str(error)
    assert "giving it back failed: at back" in str(error)
    assert f"answered by {MACS[SECOND]}, after {BACK_S:g} s" in str(error)
    assert rig.lan.said == ["release", "status", "hold"]


def test_a_bootstrap_whose_api_is_gone_is_not_given_the_vip_back() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], answers={"status": "released vip=no api=no"})
    error = rig.fails()
    assert rig.lan.said == ["release", "status"]
    assert "the bootstrap's own API is down" in str(error)
    assert "at soak" in str(error)
    assert rig.lan.vip_macs() == TAKEN


def test_a_channel_that_dies_after_the_release_keeps_the_vm_and_says_both() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], answers={"status": None})
    error = rig.fails()
    assert "master-1 holds it; its API is not ready" in str(error)
    assert "giving it back failed: no answer within 10 s" in str(error)
    assert rig.lan.said == ["release", "status"]


def test_a_channel_that_is_dead_at_the_release_keeps_everything() -> None:
    rig = Rig(answers={"release": None, "status": None})
    assert "no answer within 10 s" in str(rig.fails())
    assert rig.lan.vip_macs() == HELD


def test_a_soak_that_breaks_once_begins_anew_and_succeeds() -> None:
    rig = Rig(outages=[(VIP, 45, 50)])
    rig.move()
    assert rig.at("let go") == 50 + CLUSTER.soak_s
    assert rig.lan.said == ["release"]


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param({"outages": [(VIP, 36, NEVER)]}, "master-1 holds it; its API is not ready", id="api-down"),
        pytest.param({"macs": [(0, HELD), (40, HELD | TAKEN)]}, f"{BOOTSTRAP} and {MACS[SECOND]}", id="two-macs"),
        pytest.param({"macs": [(0, HELD), (40, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param({"macs": [(0, HELD), (40, HELD)]}, f"answered by {BOOTSTRAP}", id="back-by-itself"),
        pytest.param({"macs": [(0, HELD), (40, frozenset({STRANGER}))]}, f"by {STRANGER}", id="stranger"),
    ],
)
def test_a_soak_that_never_lasts_gives_the_vip_back(lan: dict[str, Any], seen: str) -> None:
    rig = Rig(**lan)
    error = rig.fails()
    assert "at soak" in str(error)
    assert seen in str(error)
    assert rig.lan.said == ["release", "status", "hold"]
    assert rig.at("back") == pytest.approx(rig.at("soak") + SOAKS * CLUSTER.soak_s, abs=1)


def test_what_the_control_plane_holds_already_is_soaked_and_never_released() -> None:
    rig = Rig(macs=[(0, TAKEN)])
    outs = rig.move()
    assert rig.lan.said == []
    assert rig.states == ["gate", "soak", "let go", "done"]
    assert len(rig.lan.stopped_at) == 1
    assert outs["holder"] == "master-1"


def test_what_the_control_plane_holds_already_is_never_rolled_back() -> None:
    rig = Rig(macs=[(0, TAKEN)], outages=[(VIP, 31, NEVER)])
    assert "at soak" in str(rig.fails())
    assert rig.lan.said == []


def test_a_node_whose_address_nobody_answers_is_no_holder_of_nothing() -> None:
    assert holder_of(frozenset(), CLUSTER, lambda _: frozenset()) is None


def test_two_that_answer_for_a_node_make_no_holder() -> None:
    both = HELD | TAKEN
    assert holder_of(both, CLUSTER, lambda _: both) is None


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
    assert (outs["holder"], outs["felt"]) == (holder, {})
    assert rig.lan.second >= max(9, macs[-1][0])
    assert rig.lan.said == []


@pytest.mark.parametrize(
    ("lan", "seen"),
    [
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param({"macs": [(0, HELD | {STRANGER})]}, f"{STRANGER} and {BOOTSTRAP}", id="two-macs"),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by {STRANGER}", id="stranger"),
        pytest.param({"outages": [(VIP, 0, NEVER)]}, "okd-bootstrap holds it; its API is not ready", id="no-api"),
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
    with pytest.raises(HandoffUnsafeError, match="at prove"):
        rig.engine.prove_control_plane()
    assert rig.lan.second >= CLUSTER.deadline_s


def test_progress_is_one_line_per_state_and_a_heartbeat_not_one_per_poll() -> None:
    rig = Rig(replace(CLUSTER, stable_s=100))
    rig.move()
    gate = [line for line in rig.lines if line.startswith("gate")]
    assert 15 <= len(gate) <= 25
    assert "gate: all of the control plane ready; steady for 100 s more; 600 s left" in gate
