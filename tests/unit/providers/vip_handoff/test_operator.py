"""The handoff on platform baremetal: the bootstrap never hears that a node took the VIP, and is sent `leave`."""

from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from providers.vip_handoff.states import CONFIGURED_S
from testing.fakes.lan import BOOTSTRAP, MACS, NEVER, SPEC, STRANGER, VIP, spec_with
from testing.handoff_rig import BOTH, FIRST, SECOND, TAKEN, Rig

OPERATOR = spec_with(balancer="operator", platform="baremetal")
WORDS = ["status", "release", "leave"]
BESIDE = frozenset({BOOTSTRAP, MACS[SECOND]})
HAPROXY_COUNTS_S = 5 + 3 * 6 + 10 + 3 * 2
"""The periods of the operator's monitors and checks, see `CONFIGURED_S`."""


def rig(**lan: Any) -> Rig:
    return Rig(OPERATOR, **{"one_way": True, **lan})


def test_the_bootstrap_leaves_only_once_a_node_answers_beside_it() -> None:
    made = rig()
    outs = made.move()
    assert made.states == ["gate", "ask", "release", "leave", "soak", "await", "let go", "done"]
    assert made.lan.sent == WORDS
    assert (made.at("ask"), made.at("leave") - made.at("release")) == (40.0, made.lan.moves_s)
    assert made.lan.order == ["status", "client begins", "release", "leave", "client ends", "stop"]
    assert [entry["holder"] for entry in outs.holders] == ["okd-bootstrap", "no one machine", "master-1"]
    assert (outs.holder, outs.macs) == ("master-1", [MACS[SECOND]])


def test_the_gate_is_as_long_as_the_operators_monitor_needs() -> None:
    """Or longer, if the option wants that."""
    made = Rig(OPERATOR.changed(stable_s=90.0), one_way=True)
    made.move()
    assert made.at("ask") == 90


def test_a_passed_gate_has_each_keepalived_count_its_haproxy() -> None:
    assert CONFIGURED_S >= HAPROXY_COUNTS_S


def test_a_node_without_haproxy_is_named_at_the_gate() -> None:
    made = rig(outages=[(f"haproxy {FIRST}", 0, NEVER)])
    assert f"at gate: haproxy of master-0 ({FIRST}) does not answer on 9444, after 600 s" in str(made.fails())
    assert made.lan.sent == []


def test_without_a_kubeconfig_the_vip_stays() -> None:
    """`openshift-install wait-for bootstrap-complete` cannot stand in for OKD's report on this platform."""
    made = rig()
    made.engine.signal = None
    error = made.fails()
    assert str(error) == (
        f"API VIP {VIP}: at gate: no kubeconfig beside the payload, and only OKD itself knows when the bootstrap may "
        "end; VIP and VM are untouched. Fix: put auth/kubeconfig of the payload's own run into stacks/prod/payload"
    )
    assert made.at("refused") == 0
    assert made.lan.sent == []


def test_min_ready_counts_for_haproxy_too() -> None:
    made = Rig(OPERATOR.changed(min_ready=2), one_way=True, outages=[(f"haproxy {FIRST}", 0, NEVER)])
    assert made.move().holder == "master-1"


def test_nodes_whose_keepalived_is_not_configured_leave_the_vip() -> None:
    made = rig(moves_s=NEVER)
    error = made.fails()
    assert "at release: answered by okd-bootstrap" in str(error)
    assert "the VIP is on the bootstrap again, nothing was lost" in str(error)
    assert made.lan.sent == ["status", "release", "hold"], "`leave` was not sent"


@pytest.mark.parametrize(
    ("macs", "sent"),
    [
        pytest.param(BESIDE, WORDS, id="killed-after-release"),
        pytest.param(TAKEN, ["status"], id="killed-after-leave"),
    ],
)
def test_a_killed_move_goes_on(macs: frozenset[str], sent: list[str]) -> None:
    made = rig(macs=[(0, macs)], state="released", moves_s=0)
    made.move()
    assert made.lan.sent == sent
    assert made.states[-1] == "done"
    assert "soak" in made.states, "and is taken back if necessary"


def test_a_bootstrap_that_gave_the_vip_up_by_itself_is_watched() -> None:
    made = rig(macs=[(0, TAKEN)])
    made.move()
    assert made.states == ["gate", "watch", "await", "let go", "done"]
    assert made.lan.sent == ["status"]


def test_a_bootstrap_that_cannot_leave_is_left_with_both_named() -> None:
    """keepalived is dead there, and the VIP is still on its NIC."""
    made = rig(leaves_s=NEVER, backs_s=NEVER)
    error = str(made.fails())
    assert f"at leave: answered by {BOTH}" in error
    assert made.lan.sent == [*WORDS, "hold"]


@pytest.mark.parametrize(
    "macs",
    [
        pytest.param({STRANGER}, id="a-stranger"),
        pytest.param({BOOTSTRAP, STRANGER}, id="beside-the-bootstrap"),
        pytest.param({MACS[FIRST], MACS[SECOND]}, id="two-nodes"),
    ],
)
def test_no_other_two_machines_may_answer_at_the_gate(macs: set[str]) -> None:
    made = rig(macs=[(0, frozenset(macs))])
    assert "at gate: answered by " in str(made.fails())
    assert made.lan.sent == []


@pytest.mark.parametrize(("spec", "words"), [(OPERATOR, "oc get clusteroperators"), (SPEC, "wait-for bootstrap")])
def test_the_fix_of_await_is_one_that_can_end(spec: Any, words: str) -> None:
    """On platform baremetal, `wait-for bootstrap-complete` waits for BareMetalHosts that there are none of."""
    made = Rig(spec, signals=True, completes_s=NEVER, one_way=spec is OPERATOR)
    with pytest.raises(HandoffUnsafeError) as caught:
        made.move()
    assert words in (caught.value.fault.fix or "")
    assert VIP in str(caught.value)
