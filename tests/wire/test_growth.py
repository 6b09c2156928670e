"""A real etcd of one member grows to three under writes; the part of its operator alone is a stand-in."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from base.errors import ProvisioningError
from base.progress import Progress
from providers.etcd.access import EtcdAccess
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.topology import ControlPlane
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import EtcdApi, OperatedApi
from testing.namespaces import needs_root
from testing.scene.machine import until
from tests.wire.test_departure import Minutes
from tests.wire.test_etcd_snapshot import (
    ADDRESSES,
    EVERYTHING,
    KEYS,
    Members,
    client,
    keys_in,
    members,
    restored_as_the_restore_pod_does,
    snapshots,
)
from wires.api.resources import INFRASTRUCTURE, NODE_LIST
from wires.bmc.steps import run_steps

pytestmark = needs_root  # as root, each worker has a loopback of its own
FIRST, SECOND, THIRD = ADDRESSES
SERVERS = {"only-a": FIRST, "only-b": SECOND, "only-c": THIRD}
VIP = "192.0.2.5"
ONE, MANY = "SingleReplica", "HighlyAvailable"
SOME = 10
"""Writes that show that etcd takes them."""


@dataclass
class Growing:
    """A cluster of one server, whose operator does what that of OKD does: one learner at a time, which it promotes.

    Source: pkg/operator/clustermembercontroller of openshift/cluster-etcd-operator, b4786ae33.
    """

    etcd: Members
    api: OperatedApi = field(init=False)
    clock: FakeClock = field(default_factory=lambda: Minutes(0))

    def __post_init__(self) -> None:
        pair = authority("etcd-signer").issue_client("etcd-client", "system:etcd", "etcd-client")
        told = EtcdApi.of([FIRST], authority("etcd-signer").pem, pair)
        told.resources[NODE_LIST] = {"items": [{"metadata": {"name": "only-a"}}]}
        lost = lambda: [each for each in self.voters().values() if not self.etcd.serves(each)]  # noqa: E731
        self.api = OperatedApi(told, self.voters, lost, {"only-a"})
        self.topology(ONE)

    def topology(self, status: str, spec: str = "") -> None:
        wish = {"controlPlaneTopology": spec} if spec else {}
        status_of = {"controlPlaneTopology": status, "platformStatus": {"type": "None"}}
        self.api.api.resources[INFRASTRUCTURE] = {"spec": wish, "status": status_of}

    def voters(self) -> dict[int, str]:
        """Return what etcd-endpoints has: no learner."""
        voting = (each for each in self.etcd.listed() if not each.get("isLearner"))
        return {int(each["ID"]): each["peerURLs"][0].split("/")[2].split(":")[0] for each in voting}

    @property
    def quorum(self) -> EtcdQuorum:
        return EtcdQuorum(self.api, VIP, self.clock, list[Progress]().append)

    def prove(self, host: str) -> None:
        """Ask as `up` does before it touches a server that is to join."""
        ControlPlane(SERVERS, self.quorum).prove(host)
        self.departure(host).prove()

    def refused(self, host: str) -> str:
        with pytest.raises(ProvisioningError) as error:
            self.prove(host)
        return str(error.value)

    def departure(self, host: str) -> Departure:
        access = EtcdAccess(self.api, VIP, lambda *_: client())
        own = (SERVERS[host],)
        return Departure(host, own, "api.okd.lab.test", self.api, access, self.quorum, self.clock)

    def learns(self, address: str) -> None:
        until("etcd takes a learner", partial(self.etcd.adds, address))

    def joins(self, address: str) -> None:
        """Have a member that was added start, and vote."""
        names = [*self.voters().values(), address]
        self.etcd.start(address, names, state="existing")
        (own,) = (int(each["ID"]) for each in self.etcd.listed() if address in each["peerURLs"][0])
        until(f"etcd at {address} votes", partial(self.etcd.promotes, own))
        until(f"etcd at {address}", partial(self.etcd.serves, address))


@contextmanager
def writer(put: Callable[[dict[str, str]], object]) -> Iterator[dict[str, str]]:
    """Write one key after another; yield those that etcd has acknowledged."""
    acknowledged, over = dict[str, str](), threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            key = f"/writer/{number}"
            try:
                put({"key": key, "value": str(number)})
            except OSError:
                continue  # nobody was told that it is written
            acknowledged[key] = str(number)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield acknowledged
    finally:
        over.set()
        thread.join()


def test_one_member_becomes_three_without_a_lost_write(tmp_path: Path, measured: Callable[[str], None]) -> None:
    with members(tmp_path / "members", [FIRST]) as etcd:
        with writer(partial(etcd.call, "put")) as acknowledged:
            grows(Growing(etcd), acknowledged)
        left = keys_in(etcd.call("range", EVERYTHING, THIRD))
        assert acknowledged.items() <= left.items()
    measured(f"etcd of one grows to three, of which one dies: {len(acknowledged)} acknowledged writes, none lost")


def grows(cluster: Growing, acknowledged: dict[str, str]) -> None:
    """Take a cluster from one member to three, and lose one of these."""
    etcd = cluster.etcd
    assert "Fix: run `oc adm transition topology HighlyAvailable` first" in cluster.refused("only-b")
    cluster.topology(ONE, MANY)
    cluster.prove("only-b")
    until("writes", lambda: len(acknowledged) > SOME)
    assert cluster.departure("only-b").missing() == "it is not yet a member of etcd"

    cluster.learns(SECOND)
    assert etcd.refuses_to_add(THIRD) == "etcdserver: too many learner members in cluster"
    cluster.api.nodes.add("only-b")  # and it dies, before it has ever voted
    cluster.prove("only-b")
    run_steps(cluster.departure("only-b").take_out(), FakeClock(0))
    assert ([each["name"] for each in etcd.listed()], cluster.api.deleted) == ([FIRST], ["only-b"])

    cluster.learns(SECOND)
    cluster.joins(SECOND)
    assert cluster.departure("only-b").missing() is None
    cluster.prove("only-c")
    assert "etcd has 1 other members, wanted 2 or more" in cluster.refused("only-b"), "it votes, so it stays"
    cluster.learns(THIRD)
    cluster.joins(THIRD)
    assert cluster.departure("only-c").missing() is None

    assert f"OKD still takes its control plane of 3 for {ONE}" in cluster.refused("only-c")
    cluster.topology(MANY, MANY)
    etcd.lose(SECOND)
    before = len(acknowledged)
    until("writes without the second member", lambda: len(acknowledged) > before + SOME)


def test_of_two_members_none_may_be_lost_and_the_snapshot_is_the_way_back(tmp_path: Path) -> None:
    with members(tmp_path / "members", [FIRST]) as etcd:
        cluster = Growing(etcd)
        cluster.topology(ONE, MANY)
        for key, value in KEYS.items():
            etcd.call("put", {"key": key, "value": value})
        saved = Path(snapshots(tmp_path / "saved", []).take())
        cluster.learns(SECOND)
        cluster.joins(SECOND)
        listed = cluster.voters()
        etcd.lose(SECOND)
        until("no majority", lambda: not etcd.serves(FIRST))
        cluster.api.members, cluster.api.unhealthy = lambda: listed, lambda: [SECOND]
        assert "not wiped: etcd cannot be asked: " in cluster.refused("only-b")
        assert cluster.api.deleted == []
        etcd.lose(FIRST)
        restored_as_the_restore_pod_does(etcd, saved)
        assert keys_in(etcd.call("range", EVERYTHING)) == KEYS
