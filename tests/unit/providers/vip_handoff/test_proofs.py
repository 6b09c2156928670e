"""The proofs of the VIP's holder in both phases, without a move."""

from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from providers.vip_handoff.checks import known_vip_holder
from testing.fakes.lan import BOOTSTRAP, FLOOD, NEVER, SPEC, STRANGER, VIP
from testing.handoff_rig import HELD, TAKEN, Rig


def test_a_vip_without_an_answer_has_no_holder() -> None:
    assert known_vip_holder(SPEC, [frozenset()], lambda _: frozenset()) is None


@pytest.mark.parametrize(
    ("answering", "holder"),
    [
        pytest.param([HELD, HELD], "okd-bootstrap", id="the-bootstrap-has-both"),
        pytest.param([TAKEN, TAKEN], "master-1", id="a-node-has-both"),
        pytest.param([HELD, TAKEN], None, id="one-each"),
        pytest.param([TAKEN, HELD], None, id="one-each-the-other-way"),
        pytest.param([HELD, {STRANGER}], None, id="a-stranger-has-one"),
        pytest.param([HELD, set()], None, id="nobody-has-the-second"),
        pytest.param([set(), TAKEN], None, id="nobody-has-the-first"),
    ],
)
def test_of_two_vips_the_holder_has_both(answering: list[set[str]], holder: str | None) -> None:
    assert known_vip_holder(SPEC, list(map(frozenset, answering)), Rig().lan.macs_of) == holder


def test_two_machines_at_the_address_of_a_node_are_no_holder() -> None:
    both = HELD | TAKEN
    assert known_vip_holder(SPEC, [both], lambda _: both) is None


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
    assert outs.holder == holder
    assert (outs.gap_ms, outs.gap_at_s, outs.probes_sent, outs.probes_failed, outs.clients) == (None, None, 0, 0, {})
    assert outs.completion is None
    assert rig.lan.second >= max(9, macs[-1][0])
    assert rig.lan.sent == []


@pytest.mark.parametrize(
    ("lan", "problem"),
    [
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param(
            {"macs": [(0, HELD | {STRANGER})]},
            f"a stranger ({STRANGER}) and okd-bootstrap ({BOOTSTRAP})",
            id="two-macs",
        ),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by a stranger ({STRANGER})", id="stranger"),
        pytest.param({"macs": [(0, FLOOD)]}, ") and 23,886 more", id="S19"),
        pytest.param(
            {"outages": [(VIP, 0, NEVER)]}, "okd-bootstrap holds it; its API is not ready (status 500)", id="no-api"
        ),
        pytest.param({"outages": [(f"config {VIP}", 0, NEVER)]}, "no config server yet", id="no-config-server"),
    ],
)
def test_phase_bootstrap_fails_without_a_serving_holder_by_the_deadline(lan: dict[str, Any], problem: str) -> None:
    rig = Rig(**lan)
    with pytest.raises(HandoffUnsafeError, match="at prove") as caught:
        rig.engine.prove_bootstrap()
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert SPEC.bootstrap_s <= rig.lan.second < SPEC.bootstrap_s + 1


def test_phase_production_is_proven_by_a_node_of_the_control_plane() -> None:
    rig = Rig(macs=[(0, frozenset()), (3, TAKEN)])
    assert rig.engine.prove_control_plane().holder == "master-1"


@pytest.mark.parametrize(
    "macs",
    [HELD, frozenset(), TAKEN | HELD, frozenset({STRANGER})],
    ids=["the-bootstrap", "nobody", "two-macs", "stranger"],
)
def test_phase_production_fails_with_any_other_holder(macs: frozenset[str]) -> None:
    rig = Rig(macs=[(0, macs)])
    with pytest.raises(HandoffUnsafeError, match="at confirm"):
        rig.engine.prove_control_plane()
    assert rig.lan.second >= SPEC.deadline_s
