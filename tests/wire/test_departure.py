"""A server leaves a real etcd of three members, and is back; its operator's part alone is a stand-in."""

from functools import partial
from pathlib import Path

import pytest

from base.errors import ProvisioningError
from base.progress import Progress
from providers.etcd.access import EtcdAccess
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.patience import WITHIN_S
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import EtcdApi, OperatedApi
from testing.namespaces import needs_root
from testing.scene.machine import until
from tests.wire.test_etcd_snapshot import ADDRESSES, EVERYTHING, KEYS, Members, client, keys_in, members
from wires.bmc.steps import run_steps
from wires.etcd.member import DeclinedError

pytestmark = needs_root  # as root, each worker has a loopback of its own
FIRST, SECOND, DEAD = ADDRESSES
VIP = "192.0.2.5"


class Minutes(FakeClock):
    """Each wait lasts a minute, since each question to a silent etcd takes seconds of the real clock."""

    def sleep(self, seconds: float) -> None:
        super().sleep(max(seconds, WITHIN_S))


def operated(three: Members) -> OperatedApi:
    """Return the API of the cluster, whose operator asks the first member."""
    pair = authority("etcd-signer").issue_client("etcd-client", "system:etcd", "etcd-client")
    told = EtcdApi.of(ADDRESSES, authority("etcd-signer").pem, pair)
    listed = partial(client().members, FIRST)
    return OperatedApi(
        told, listed, lambda: [each for each in listed().values() if not three.serves(each)], {"master-2"}
    )


def departure(api: OperatedApi) -> Departure:
    access = EtcdAccess(api, VIP, lambda *_: client())
    clock = Minutes(0)
    quorum = EtcdQuorum(api, VIP, clock, list[Progress]().append)
    return Departure("master-2", (DEAD,), "api.okd.lab.test", api, access, quorum, clock)


def test_a_dead_member_is_replaced_without_a_lost_write(tmp_path: Path) -> None:
    with members(tmp_path / "members") as three:
        api = operated(three)
        leaving = departure(api)
        with pytest.raises(
            ProvisioningError, match=rf"not wiped: master-2 is a member of etcd that answers \({DEAD}"
        ):
            leaving.prove()
        for key, value in KEYS.items():
            three.call("put", {"key": key, "value": value})
        dies(three)
        leaving.prove()
        run_steps(leaving.take_out(), FakeClock(0))
        assert sorted(client().members(FIRST).values()) == [FIRST, SECOND]
        assert api.deleted == ["master-2"]
        assert leaving.missing() == "it is not yet a member of etcd"
        back(three)
        api.learners, api.nodes = {DEAD}, {*api.nodes, "master-2"}
        with pytest.raises(ProvisioningError, match=r"not wiped: master-2 is a member of etcd that answers"):
            leaving.prove()
        assert leaving.missing() == "it is not yet a member of etcd"
        votes(three)
        api.learners = set()
        assert leaving.missing() is None
        assert keys_in(three.call("range", EVERYTHING, DEAD)) == KEYS


def dies(three: Members) -> None:
    """Lose one, and wait until the others have a leader."""
    three.lose(DEAD)
    for address in (FIRST, SECOND):
        until(f"etcd at {address}, with a leader", partial(three.serves, address))


def back(three: Members) -> None:
    """Add an empty member, as the operator does, and start it: it is a learner, which declines to read."""
    until("etcd takes a member", partial(three.adds, DEAD))
    three.start(DEAD, ADDRESSES, state="existing")
    until(f"etcd at {DEAD}", partial(declines, DEAD))


def declines(address: str) -> bool:
    try:
        client().revision(address)
    except DeclinedError:
        return True
    except OSError:
        return False
    return False


def votes(three: Members) -> None:
    """Have the learner vote, as the operator does."""
    (own,) = (member for member, address in client().members(FIRST).items() if address == DEAD)
    until(f"etcd at {DEAD} votes", partial(three.promotes, own))
    until(f"etcd at {DEAD}", partial(three.serves, DEAD))


def test_without_a_majority_nothing_is_removed(tmp_path: Path) -> None:
    with members(tmp_path / "members") as three:
        api = operated(three)
        listed = client().members(FIRST)
        api.members, api.unhealthy = lambda: listed, lambda: [SECOND, DEAD]
        for address in (SECOND, DEAD):
            three.lose(address)
        with pytest.raises(ProvisioningError, match=r"not wiped: etcd cannot be asked: (UNAVAILABLE|DEADLINE)"):
            departure(api).prove()
        assert api.deleted == []


def test_etcd_itself_refuses_what_would_cost_the_majority(tmp_path: Path) -> None:
    """`strict-reconfig-check`, on by default: with one of three dead, no live one is removed."""
    with members(tmp_path / "members") as three:
        dies(three)
        live = next(member for member, address in client().members(FIRST).items() if address == SECOND)
        with pytest.raises(ConnectionError, match="etcdserver: "):
            client().remove(FIRST, live)
        assert SECOND in client().members(FIRST).values()
