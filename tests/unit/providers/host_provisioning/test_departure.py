"""How a server leaves etcd before it is wiped; tests/wire/test_departure.py has a real etcd."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from base import log
from base.errors import ProvisioningError
from base.progress import Progress, Report
from providers.etcd.access import EtcdAccess
from providers.host_provisioning.departure import AGAIN, DEAD_TOO, KEEP, OFF, OUT_S, REACH, Departure
from providers.host_provisioning.etcd_guard import REPAIR, EtcdQuorum
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import EtcdApi, FakeMembers, OperatedApi
from wires.bmc.steps import run_steps

VIP, HOST = "192.0.2.5", "master-2"
FIRST, SECOND, DEAD = 0x2F79956F264CFA13, 0x5F9E2165742930DD, 0x51CB78449DFE679
ADDRESSES = {FIRST: "192.0.2.21", SECOND: "192.0.2.22", DEAD: "192.0.2.23"}
CLIENT = authority("etcd-signer").issue_client("etcd-client")


@dataclass
class Rig:
    """A cluster of three whose server master-2 is dead."""

    members: FakeMembers = field(
        default_factory=lambda: FakeMembers(listed=dict(ADDRESSES), broken={"192.0.2.23": "UNAVAILABLE: refused"})
    )
    clock: FakeClock = field(default_factory=lambda: FakeClock(0))
    report: Report = list[Progress]().append
    api: OperatedApi = field(init=False)
    unreached: set[str] = field(default_factory=set)
    """Members that answer others, and not this machine."""

    def __post_init__(self) -> None:
        told = EtcdApi.of([*ADDRESSES.values()], authority("etcd-signer").pem, CLIENT)
        listed = self.members.listed
        lost = lambda: [each for each in listed.values() if each in {*self.members.broken} - self.unreached]  # noqa: E731
        self.api = OperatedApi(told, lambda: listed, lost, {"master-0", "master-1", HOST})

    @property
    def departure(self) -> Departure:
        access = EtcdAccess(self.api, VIP, lambda *_: self.members)
        quorum = EtcdQuorum(self.api, VIP, self.clock, self.report)
        own = ("192.0.2.23", "2001:db8::23")
        return Departure(HOST, own, "api.okd.lab.test", self.api, access, quorum, self.clock)

    def refused(self) -> str:
        with pytest.raises(ProvisioningError) as error:
            self.departure.prove()
        assert (self.members.removed, self.api.deleted) == ([], [])
        return str(error.value)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_dead_server_leaves_etcd_then_the_cluster(rig: Rig, tmp_path: Path) -> None:
    log.opened(tmp_path / "run.jsonl")
    try:
        rig.departure.prove()
        assert (rig.members.removed, rig.api.deleted) == ([], []), "a proof touches nothing"
        run_steps(rig.departure.take_out(), rig.clock)
    finally:
        log.close()
    assert (rig.members.removed, rig.api.deleted) == (["192.0.2.23"], [HOST])
    assert rig.members.listed == {FIRST: "192.0.2.21", SECOND: "192.0.2.22"}
    assert "etcd of api.okd.lab.test: remove member master-2" in (tmp_path / "run.jsonl").read_text()


def test_the_member_that_is_listed_first_leaves_as_any_other(rig: Rig) -> None:
    for number, address in ((FIRST, "192.0.2.31"), (SECOND, "192.0.2.32")):
        rig.members.listed[number] = address
    rig.departure.prove()
    run_steps(rig.departure.take_out(), rig.clock)
    assert rig.members.removed == ["192.0.2.23"]


def test_each_other_member_is_asked_before(rig: Rig) -> None:
    rig.departure.prove()
    assert rig.members.asked[-3:] == ["192.0.2.21", "192.0.2.22", "192.0.2.23"]


def test_a_member_that_answers_is_kept(rig: Rig) -> None:
    rig.members.broken = {}
    what = "master-2 is a member of etcd that answers (192.0.2.23)"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {OFF}"


@pytest.mark.parametrize("alive", [True, False])
def test_a_server_that_is_listed_twice_is_dead_if_both_its_members_are(rig: Rig, alive: bool) -> None:
    """As one that was installed again with its other address first, beside the member of before."""
    rig.members.listed[0x99] = "2001:db8::23"
    if alive:
        assert rig.refused().startswith(f"{HOST}: not wiped: {HOST} is a member of etcd that answers (2001:db8::23)")
    else:
        rig.members.broken["2001:db8::23"] = "UNAVAILABLE: refused"
        rig.departure.prove()
        run_steps(rig.departure.take_out(), rig.clock)
        assert sorted(rig.members.removed) == ["192.0.2.23", "2001:db8::23"]


@pytest.mark.parametrize(
    "says",
    [
        "UNAVAILABLE: etcdserver: rpc not supported for learner",
        "FAILED_PRECONDITION: etcdserver: rpc not supported for learner",
        "UNAVAILABLE: etcdserver: no leader",
    ],
)
def test_a_member_that_declines_is_not_dead(rig: Rig, says: str) -> None:
    """Which code it is depends on the release of etcd (rpctypes/error.go of 3.5 and 3.6)."""
    rig.members.broken["192.0.2.23"] = says
    what = "master-2 is a member of etcd that answers (192.0.2.23)"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {OFF}"


@pytest.mark.parametrize("learns", [True, False], ids=["learner", "no-member"])
def test_what_has_no_vote_leaves_a_member_that_is_alone(rig: Rig, learns: bool) -> None:
    """A server that was to join a control plane of one, and died on the way: etcd never counted on it."""
    for number in (SECOND, *(() if learns else (DEAD,))):
        del rig.members.listed[number]
    voter = {FIRST: "192.0.2.21"}
    rig.api.members, rig.api.unhealthy = lambda: voter, lambda: []
    rig.departure.prove()
    rig.departure._remove()
    assert (rig.members.listed, rig.api.deleted) == (voter, [HOST])


def test_a_voter_stays_beside_one_that_would_be_alone(rig: Rig) -> None:
    del rig.members.listed[SECOND]
    assert rig.refused() == f"master-2: not wiped: etcd has 1 other members, wanted 2 or more. Fix: {KEEP}"


def test_a_member_that_only_this_machine_does_not_reach_is_not_dead(rig: Rig) -> None:
    """As behind a firewall: the proof of a death needs more than one place to look from."""
    rig.unreached, rig.api.ready = {"192.0.2.23"}, {HOST}
    what = "its etcd is silent, but its node is ready, and the etcd operator reaches all members: only this machine"
    said = rig.refused()
    assert said.startswith(f"master-2: not wiped: {what}")
    assert said.endswith(f". Fix: {OFF}")


@pytest.mark.parametrize("late", ["kubelet", "operator"])
def test_one_that_is_late_to_see_a_death_does_not_keep_a_dead_server(rig: Rig, late: str) -> None:
    """The node of a dead server is ready for 50 s; the operator that ran on it reports nothing for minutes."""
    if late == "kubelet":
        rig.api.ready = {HOST}
    else:
        rig.unreached = {"192.0.2.23"}
    rig.departure.prove()


def test_a_server_that_has_just_died_is_waited_for(rig: Rig) -> None:
    rig.unreached, rig.api.ready = {"192.0.2.23"}, {HOST}

    def noticed(_: Progress) -> None:
        if rig.clock.now() >= 50:
            rig.api.ready = set()

    rig.report = noticed
    rig.departure.prove()
    assert 50 <= rig.clock.now() < 60


def test_a_server_that_is_out_needs_no_etcd(rig: Rig) -> None:
    del rig.members.listed[DEAD]
    rig.api.nodes.discard(HOST)
    rig.members.broken = {}
    rig.departure.prove()
    run_steps(rig.departure.take_out(), rig.clock)
    assert (rig.members.asked, rig.members.removed, rig.api.deleted) == ([], [], [])


@pytest.mark.parametrize("left", ["member", "node"])
def test_what_a_killed_run_has_left_is_done(rig: Rig, left: str) -> None:
    if left == "member":
        rig.api.nodes.discard(HOST)
    else:
        del rig.members.listed[DEAD]
    rig.departure.prove()
    run_steps(rig.departure.take_out(), rig.clock)
    done = (["192.0.2.23"], []) if left == "member" else ([], [HOST])
    assert (rig.members.removed, rig.api.deleted) == done


def test_another_lost_member_keeps_it(rig: Rig) -> None:
    rig.members.broken["192.0.2.22"] = "DEADLINE_EXCEEDED: no leader"
    what = "another member of etcd does not answer, 192.0.2.22: DEADLINE_EXCEEDED: no leader"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {REPAIR}"


def test_a_new_server_joins_no_etcd_of_which_a_member_is_dead(rig: Rig) -> None:
    del rig.members.listed[DEAD]
    rig.members.listed[DEAD + 1] = "192.0.2.24"
    rig.members.broken = {"192.0.2.24": "UNAVAILABLE: refused"}
    rig.api.nodes.discard(HOST)
    what = "another member of etcd does not answer, 192.0.2.24: UNAVAILABLE: refused"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {DEAD_TOO}"


def test_of_five_two_may_be_dead_of_which_a_person_takes_out_one(rig: Rig) -> None:
    """Each refusal of the other one would name `reinstall`, and lead in a circle."""
    rig.members.listed |= {0x24: "192.0.2.24", 0x25: "192.0.2.25"}
    rig.members.broken["192.0.2.25"] = "UNAVAILABLE: refused"
    what = "another member of etcd does not answer, 192.0.2.25: UNAVAILABLE: refused"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {DEAD_TOO}"
    del rig.members.listed[0x25]
    rig.departure.prove()


@pytest.mark.parametrize(("others", "are"), [(1, "1 other members"), (0, "no other member")])
def test_too_few_others_keep_it(rig: Rig, others: int, are: str) -> None:
    for member in [*ADDRESSES][others:-1]:
        del rig.members.listed[member]
    assert are in rig.refused()
    assert rig.refused().endswith(KEEP)


def test_etcd_that_cannot_be_asked_keeps_it(rig: Rig) -> None:
    rig.members.broken = dict.fromkeys(ADDRESSES.values(), "UNAVAILABLE: filtered")
    what = "etcd cannot be asked: UNAVAILABLE: filtered"
    assert rig.refused() == f"master-2: not wiped: {what}. Fix: {REACH}"


def test_an_etcd_that_elects_a_leader_is_waited_for(rig: Rig) -> None:
    """As after the death of the server that led."""
    dead, lines = rig.members.broken, list[str]()
    rig.members.broken = dict.fromkeys(ADDRESSES.values(), "UNAVAILABLE: etcdserver: no leader")

    def elect(line: Progress) -> None:
        lines.append(str(line))
        if rig.clock.now() >= 10:
            rig.members.broken = dead

    rig.report = elect
    rig.departure.prove()
    said = "etcd cannot be asked: UNAVAILABLE: etcdserver: no leader"
    assert lines[-1] == f"asking the API: not done yet ({said}); at most 50 s left"
    assert rig.members.removed == []


def test_a_refusal_of_etcd_ends_it_before_the_wipe(rig: Rig) -> None:
    rig.members.refuses = "FAILED_PRECONDITION: etcdserver: unhealthy cluster"
    with pytest.raises(ProvisioningError) as error:
        run_steps(rig.departure.take_out(), rig.clock)
    what = f"not wiped: it is off, but not out of the cluster after 300 s: {rig.members.refuses}"
    assert str(error.value) == f"{HOST}: {what}. Fix: {AGAIN}"
    assert rig.api.deleted == [], "the node stays as long as the member does"
    assert rig.clock.now() == OUT_S


def test_nothing_is_wiped_before_the_operator_has_seen_it(rig: Rig) -> None:
    assert rig.departure.missing(), "the operator has reported what is"
    rig.api.stopped = True
    with pytest.raises(
        ProvisioningError, match=r"it is off, but not out of the cluster after 300 s: master-2 is a m"
    ):
        run_steps(rig.departure.take_out(), rig.clock)


def test_it_is_back_once_it_is_a_member_that_answers(rig: Rig) -> None:
    run_steps(rig.departure.take_out(), rig.clock)
    assert rig.departure.missing() == "it is not yet a member of etcd"
    rig.members.listed[DEAD + 1] = "192.0.2.23"
    assert str(rig.departure.missing()).startswith("a member of etcd does not answer: 2 of 3 members are available")
    rig.members.broken = {}
    rig.api.revisions = "2 nodes are at revision 1; 1 node is at revision 2; 0 nodes have achieved new revision 3"
    restarts = f"the etcd operator restarts the members, one after another: {rig.api.revisions}"
    assert rig.departure.missing() == restarts
    rig.api.revisions = ""
    assert rig.departure.missing() is None
    rig.api.api.down = True
    assert rig.departure.missing() == "etcd cannot be asked: refused"
