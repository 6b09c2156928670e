"""With the option `snapshots`, etcd is saved before the first word to the bootstrap; without one, nothing moves."""

import socket
from pathlib import Path
from typing import Any

import pytest

from base.clock import SYSTEM_CLOCK
from base.errors import EngineGoneError
from cluster.values.balancer import Balancer
from cluster.values.snapshots import Store
from providers.etcd.snapshot import EtcdSnapshots
from providers.vip_handoff.model import VipHandoffSpec
from providers.vip_handoff.provider import _not_saved
from testing.fakes.lan import NEVER, spec_with
from testing.handoff_rig import RELEASED, TOOK_IT, Rig
from testing.kubeconfigs import write_kubeconfig

LAN = {balancer: {"one_way": balancer is Balancer.OPERATOR} for balancer in Balancer}


def saving(balancer: Balancer) -> VipHandoffSpec:
    return spec_with(balancer=balancer, snapshots="/var/lib/snapshots")


@pytest.mark.parametrize("balancer", Balancer)
def test_etcd_is_saved_before_anything_else_is_done(balancer: Balancer) -> None:
    rig, without = Rig(saving(balancer), **LAN[balancer]), Rig(spec_with(balancer=balancer), **LAN[balancer])
    rig.move()
    without.move()
    assert (rig.states[:2], rig.states[2:]) == (["gate", "save"], without.states[1:])
    assert rig.lan.order == ["etcd saved", *without.lan.order]


@pytest.mark.parametrize("balancer", Balancer)
def test_without_a_snapshot_nothing_is_done(balancer: Balancer) -> None:
    rig = Rig(saving(balancer), saves_s=NEVER, **LAN[balancer])
    error = str(rig.fails())
    what = (
        "at save: no member gave a snapshot, after 600 s; VIP and VM are untouched. Fix: see `oc get clusteroperator"
    )
    assert what in error
    assert (rig.states[1:], rig.lan.order) == (["save", "refused"], [])


def test_an_etcd_that_is_late_is_awaited() -> None:
    rig = Rig(saving(Balancer.CLUSTER), saves_s=100)
    rig.move()
    assert rig.at("save") == 30
    assert rig.at("ask") == 100
    assert rig.lan.order.count("etcd saved") == 1


@pytest.mark.parametrize(("lan", "then"), [(TOOK_IT, "watch"), (RELEASED, "soak")], ids=["by-itself", "released"])
def test_a_vip_that_has_moved_already_is_no_reason_to_save_nothing(lan: dict[str, Any], then: str) -> None:
    rig = Rig(saving(Balancer.CLUSTER), **lan)
    rig.move()
    assert rig.states[:3] == ["gate", "save", then]


def test_an_engine_that_ends_meanwhile_moves_nothing(payload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kubeconfig(payload)
    taken = list[Store]()

    def take(own: EtcdSnapshots) -> None:
        taken.append(own.store)
        with socket.create_server(("127.0.0.1", 0)) as engine:
            monkeypatch.setattr(SYSTEM_CLOCK, "engine", engine.getsockname())

    monkeypatch.setattr(EtcdSnapshots, "take", take)
    with pytest.raises(EngineGoneError):
        _not_saved(saving(Balancer.CLUSTER).changed(stack="prod"))
    assert taken == [Path("/var/lib/snapshots/prod")]
