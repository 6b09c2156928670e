"""A replaced server that has joined only after its `up` had ended: the next one leaves it on, and each fix helps."""

import copy
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest

from testing.fakes.media import FakeMedia
from testing.server_changes import BMC, MASTER, NEW, STATES, Scene
from tests.unit.providers.machines.test_histories import replaced_after_the_deadline
from wires.api.resources import ETCD_MEMBERS, NODE_LIST
from wires.bmc.client import Power

PHASES = dict(zip(("bootstrap", "production"), STATES[1:], strict=True))
NODE, MEMBER = ("ready", "not ready", "absent", "no answer"), ("yes", "no", "no answer")
BOOTS = ("disk", "network", "media", "unknown")
CD = BMC.format("192.0.2.90")


@cache
def _joined(phase: str) -> Scene:
    return replaced_after_the_deadline(PHASES[phase])


def joined(phase: str, boots: str) -> Scene:
    """Return a scene in which the server is on, and what its BMC shows of it."""
    made = _joined(phase)
    it = copy.deepcopy(made, {id(made.plan): made.plan})
    if boots == "network":
        http = CD.replace("-virtualmedia", "-uefihttp")
        it.site.behind[http] = NEW
        it.readdress(MASTER, http)
    elif boots == "media":
        it.site.machines[NEW].image = FakeMedia().url(MASTER)
    elif boots == "unknown":
        del it.site.behind[CD]
    return it


def known(it: Scene, node: str, member: str) -> None:
    """Have the cluster show or hide the server's node, and its member of etcd."""
    it.site.nodes = {} if node == "absent" else {MASTER: NEW}
    it.site.ready = {MASTER} if node == "ready" else set()
    silent = {NODE_LIST: node, ETCD_MEMBERS: member}
    it.site.unanswered = tuple(path for path, answer in silent.items() if answer == "no answer")
    if member == "no":
        it.site.members.discard(str(it.host(MASTER).address))


def have_the_api_answer(it: Scene) -> None:
    it.site.unanswered = ()


def eject(it: Scene) -> None:
    it.site.machines[NEW].image = None


def repair_the_bmc(it: Scene) -> None:
    it.site.behind[CD] = NEW


FIXES: dict[str, Callable[[Scene], None]] = {
    "have the API answer first": have_the_api_answer,
    "eject that on the BMC's own pages": eject,
    "see in the BMC's own page and log what it does": repair_the_bmc,
    # It runs this cluster, so it stays on.
    "look at the server's console; if it does not run this cluster, switch it off": have_the_api_answer,
}
"""What a person does by each fix: any other one fails the test."""


@pytest.mark.parametrize(("phase", "boots", "node"), [*product(PHASES, BOOTS, NODE)])
def test_a_part_of_the_cluster_stays_on_whatever_is_known_of_it(phase: str, boots: str, node: str) -> None:
    """Of one that boots from the network, a node that was not ready for a moment had a person switch it off."""
    for member in MEMBER:
        it = joined(phase, boots)
        known(it, node, member)
        followed = list[str]()
        while errors := it.stack.up(it.plan):
            fix = next((fix for fix in FIXES if f"Fix: {fix}" in errors[0]), "")
            assert fix, errors
            assert fix not in followed, "a fix that helps is told once"
            FIXES[fix](it)
            followed.append(fix)
        is_part = node != "absent" or member != "no"
        assert (it.site.writes() == {}) is (is_part or boots != "media"), member
        assert it.site.is_on(NEW), member


def test_an_image_in_the_drive_of_a_member_is_named() -> None:
    it = joined("production", "media")
    assert it.stack.up(it.plan) == [
        f"{MASTER} (https://{NEW}): it is a part of the cluster, with http://media/…/{MASTER}.iso in its virtual CD "
        "drive, wanted an empty one; nothing was changed. "
        "Fix: eject that on the BMC's own pages, then run `pulumi up` again"
    ]


def test_one_from_the_network_that_is_off_boots_from_its_disk() -> None:
    it = joined("production", "network")
    it.site.machines[NEW].request_power(Power.OFF)
    it.site.silent = {str(it.host(MASTER).address)}
    it.site.settle()
    assert it.stack.up(it.plan) == []
    assert it.site.installed()[NEW] == 1
