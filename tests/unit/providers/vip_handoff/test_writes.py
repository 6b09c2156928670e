"""The table of what a change of the handoff may write, against every action of its states."""

from dataclasses import dataclass, field

import pytest

from assets.contract import HELD, RELEASED, Word
from base.writes import Write
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from providers.vip_handoff.model import VipHandoffOuts
from providers.vip_handoff.states import TABLES, State
from providers.vip_handoff.writes import planned
from testing.fakes.lan import spec_with
from wires.libvirt import writes


@dataclass
class RecordedGuest:
    """A bootstrap VM that does as it is bid, and the writes to it."""

    name: str
    made: set[Write] = field(default_factory=set)

    def send(self, word: str) -> str:
        if word in writes.VIP_WORDS:
            self.made.add(writes.to_domain(self.name, writes.vip(word)))
        return f"{HELD if word in (Word.HOLD, Word.STATUS) else RELEASED} vip=yes api=yes"

    def stop(self) -> None:
        self.made |= {writes.to_domain(self.name, action) for action in writes.ENDS}


@pytest.mark.parametrize("balancer", Balancer)
def test_every_action_of_a_move_is_planned_and_nothing_else(balancer: Balancer) -> None:
    old, new = (spec_with(phase=phase, balancer=balancer) for phase in (Phase.BOOTSTRAP, Phase.PRODUCTION))
    guest = RecordedGuest(new.bootstrap_name)
    for row in TABLES[balancer].values():
        if row.does:
            row.does(guest)
    assert guest.made == {*planned(old, VipHandoffOuts(), new)}


@pytest.mark.parametrize(
    ("snapshots", "target"),
    [
        ("/var/lib/snapshots", "folder /var/lib/snapshots/prod"),
        ("s3://etcd", "bucket s3://etcd/prod"),
        ("s3://etcd/okd?endpoint=https://s3.test", "bucket s3://etcd/okd/prod?endpoint=https://s3.test"),
    ],
)
@pytest.mark.parametrize("balancer", Balancer)
def test_a_move_may_save_etcd_if_the_stack_names_a_store(balancer: Balancer, snapshots: str, target: str) -> None:
    options = {"balancer": balancer, "snapshots": snapshots}
    old, new = (spec_with(phase=phase, **options) for phase in (Phase.BOOTSTRAP, Phase.PRODUCTION))
    assert Write(target, "save etcd") in {*planned(old, VipHandoffOuts(), new)}


def test_a_proof_of_the_holder_writes_nothing() -> None:
    bootstrap, production = (spec_with(phase=phase) for phase in (Phase.BOOTSTRAP, Phase.PRODUCTION))
    for table in TABLES.values():
        assert {table[state].does for state in (State.PROVE, State.CONFIRM)} == {None}
    for old, new in ((None, bootstrap), (None, production), (bootstrap, bootstrap), (production, production)):
        assert [*planned(old, VipHandoffOuts(), new)] == []


def test_a_deletion_before_the_move_ends_the_vm() -> None:
    guest = RecordedGuest(spec_with().bootstrap_name)
    guest.stop()
    assert guest.made == {*planned(spec_with(phase=Phase.BOOTSTRAP), VipHandoffOuts(), None)}
    assert [*planned(spec_with(phase=Phase.PRODUCTION), VipHandoffOuts(), None)] == []
