"""The handoff of a control plane whose two nodes fence each other: it waits until Pacemaker runs their etcd."""

from typing import Any

import pytest

from testing.fakes.lan import NEVER, NODES, spec_with
from testing.handoff_rig import Rig

TWO = dict(list(NODES.items())[:2])


def rig(balancer: str, **lan: Any) -> Rig:
    return Rig(spec_with(balancer=balancer, fenced=True, nodes=TWO, min_ready=2.0), signals=True, **lan)


@pytest.mark.parametrize("balancer", ["ours", "operator", "site"])
def test_no_vip_moves_before_pacemaker_runs_etcd(balancer: str) -> None:
    late = rig(balancer, hands_over_s=100, ends_s=200, config_ends_s=200)
    late.move()
    steady_s = {"operator": 40}.get(balancer, 30)
    assert late.at("await" if balancer == "site" else "ask") == 100 + steady_s


@pytest.mark.parametrize("balancer", ["ours", "operator", "site"])
def test_etcd_that_stays_in_its_pods_leaves_vip_and_vm_alone(balancer: str) -> None:
    never = rig(balancer, hands_over_s=NEVER)
    error = never.fails()
    assert "at gate: etcd is still in its static pods" in str(error)
    assert (never.lan.sent, never.lan.order) == ([], [])


@pytest.mark.parametrize("balancer", ["ours", "operator", "site"])
def test_the_vm_waits_for_pacemaker_once_more(balancer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that was fenced meanwhile has its etcd started again."""
    made, kept = rig(balancer, completes_s=150), rig(balancer).lan.kept
    awaited: list[float] = []

    def kept_until(address: str) -> str | None:
        if "await" in made.states:
            awaited.append(made.lan.second)
            return None if made.lan.second >= 250 else "etcd is still in its static pods"
        return kept(address)

    made.engine.handed_over = kept_until
    made.move()
    assert awaited
    assert min(made.lan.stopped_at) >= 250


def test_other_control_planes_are_not_asked() -> None:
    assert Rig(hands_over_s=NEVER).move().holder == "master-1"
