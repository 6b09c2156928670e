"""The rehearsal's proofs of a cluster: each holds for a cluster as it should be, and fails for one that is not."""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dns.exception
import dns.message
import dns.query
import dns.rdatatype
import dns.rrset
import pytest

from cluster.plan import Intent, Server
from cluster.plan.model import Machine
from lab.inventory import load_site
from lab.nics import machine_mac
from lab.rehearsal import proofs
from lab.rehearsal.etcd import Etcd, Voter
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.proofs import Proofs, chosen_time_servers
from lab.rehearsal.report import RehearsalError, Report

CONSOLE = """\
[    9.102034] chronyd[412]: 2026-11-22T22:27:11Z chronyd version 4.3 starting (+CMDMON +NTP)
[   14.583121] chronyd[412]: 2026-11-22T22:27:15Z Selected source 10.30.0.123
[   21.010233] chronyd[412]: 2026-11-22T22:27:22Z Selected source fd30:0:0:1::2 (ntp.lab.test)
"""
STRANGER = "52:54:00:ff:ff:ff"
PATH = "/config/master"
SITE_DNS = "10.30.0.1"
OPERATOR = Operator("", ssl.create_default_context())
FAMILIES = {dns.rdatatype.A: ".", dns.rdatatype.AAAA: ":"}
"""By kind of record, a character of its addresses only."""


@dataclass
class World:
    """A cluster as the probes of the proofs see it."""

    plan: Intent
    macs: dict[str, set[str]]
    """Who answers each address."""
    statuses: dict[tuple[str, int, str], int]
    """The answer to a GET by address, port and path; others have none."""
    names: dict[str, dict[str, set[str]]]
    """The addresses of each name, by DNS server."""
    voters: list[str]
    """Those of the etcd operator that are True."""
    ready: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The consoles of the config servers."""
    is_awaited: bool = True
    """Whether each value was what its proof waits for."""

    def resolve(self, query: dns.message.Message, server: str, **_: Any) -> tuple[dns.message.Message, bool]:
        """Answer as a DNS server does, see `dns.query.udp_with_fallback`."""
        if server not in self.names:
            raise dns.exception.Timeout
        answer, question = dns.message.make_response(query), query.question[0]
        known = self.names[server].get(question.name.to_text(omit_final_dot=True), set())
        addresses = [address for address in known if FAMILIES[question.rdtype] in address]
        if addresses:
            kind = dns.rdatatype.to_text(question.rdtype)
            answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *addresses))
        return answer, False

    def moved(self, vip: str, *machines: Server) -> None:
        """Have these machines answer a VIP."""
        self.macs[vip] = {machine_mac(machine, self.plan) for machine in machines}


def world(plan: Intent, holder: Machine, mac: str) -> World:
    """Return a cluster whose API VIPs this machine has."""
    api, ingress = ([str(address) for address in vip.addresses] for vip in (plan.api, plan.ingress))
    domain = plan.domain
    names = {
        f"api.{domain}": {*api},
        f"api-int.{domain}": {*api},
        f"console.apps.{domain}": {*ingress},
        **{f"{server.name}.{domain}": {*map(str, server.addresses)} for server in plan.servers},
    }
    ports = ((6443, "/readyz"), (22623, "/healthz"))
    return World(
        plan,
        macs={
            **{vip: {mac} for vip in api},
            **{vip: {machine_mac(plan.of(plan.ingress_role)[0], plan)} for vip in ingress},
        },
        statuses={
            **{(vip, *port): 200 for vip in api for port in ports},
            **{(vip, 80, "/"): 200 for vip in ingress},
        },
        names={str(holder.address): names, SITE_DNS: {f"api.{domain}": {*api}}},
        voters=sorted(server.name for server in (*plan.control_plane, *plan.arbiters)),
        ready=sorted(server.name for server in plan.servers),
        lines=[
            f"okd-lab: config-server GET {PATH} from {server.address} to {api[0]}" for server in plan.control_plane
        ],
    )


def in_bootstrap(plan: Intent) -> World:
    found = world(plan, plan.bootstrap, plan.bootstrap.mac)
    found.voters = sorted([plan.bootstrap.name, *found.voters])
    return found


def in_production(plan: Intent) -> World:
    return world(plan, plan.control_plane[0], machine_mac(plan.control_plane[0], plan))


Make = Callable[[Intent], World]
Spoil = Callable[[World], object]
Prove = Callable[[Proofs, World], object]
CLOCKS = CONSOLE.splitlines()
PROOFS: dict[str, tuple[Make, Prove]] = {
    "bootstrap_serves": (in_bootstrap, lambda proof, _: proof.bootstrap_serves()),
    "control_plane_joined": (in_bootstrap, lambda proof, _: proof.control_plane_joined()),
    "control_plane_serves": (in_production, lambda proof, _: proof.control_plane_serves()),
    "ingress_serves": (in_production, lambda proof, _: proof.ingress_serves()),
    "bootstrap_left_etcd": (in_production, lambda proof, _: proof.bootstrap_left_etcd()),
    "vip_left_the_bootstrap": (in_production, lambda proof, _: proof.vip_left_the_bootstrap()),
    "answers_without_provisioner": (in_production, lambda proof, _: proof.answers_without_provisioner()),
    "nodes_are_ready": (
        in_production,
        lambda proof, found: proof.nodes_are_ready(OPERATOR, found.plan.servers),
    ),
    "first_boots": (
        in_production,
        lambda proof, found: proof.first_boots(PATH, found.plan.control_plane, lambda: found.lines),
    ),
    "site_dns_has_only_needed_names": (
        in_production,
        lambda proof, _: proof.site_dns_has_only_needed_names(SITE_DNS),
    ),
    "serves_while_hung": (
        in_production,
        lambda proof, found: proof.serves_while_hung(found.plan.control_plane[-1].name),
    ),
    "serves_again": (in_production, lambda proof, _: proof.serves_again()),
    "clocks_follow_the_time_servers": (
        in_production,
        lambda proof, found: proof.clocks_follow_the_time_servers(
            lambda name: CLOCKS[: 3 if name in found.ready or name == found.plan.bootstrap.name else 1]
        ),
    ),
}
"""Each proof, in a phase in which it holds."""


def first_vip(found: World) -> str:
    return str(found.plan.api.addresses[0])


def second_vip(found: World) -> str:
    return str(found.plan.api.addresses[1])


def last_router(found: World) -> str:
    return str(found.plan.ingress.addresses[-1])


def names_of(found: World) -> dict[str, set[str]]:
    return next(iter(found.names.values()))


def stop_answering(found: World) -> None:
    for vip in found.macs:
        found.macs[vip] = set()


def answer(port: int, status: int) -> Spoil:
    """Have a port of the last API VIP answer this status; 0: it does not answer."""

    def spoil(found: World) -> None:
        found.statuses |= {key: status for key in found.statuses if key[:2] == (second_vip(found), port)}

    return spoil


def change_first_line(found: World, old: str, new: str) -> None:
    assert old in found.lines[0]
    found.lines[0] = found.lines[0].replace(old, new)


SPOILED: dict[str, dict[str, Spoil]] = {
    "bootstrap_serves": {
        "two-holders": lambda w: w.macs[first_vip(w)].add(STRANGER),
        "a-node-holds": lambda w: w.moved(second_vip(w), w.plan.control_plane[0]),
        "nobody-holds": stop_answering,
        "no-api": answer(6443, 0),
        "api-unwell": answer(6443, 500),
        "no-config-server": answer(22623, 0),
        "a-name-has-one-more-address": lambda w: names_of(w)[f"api.{w.plan.domain}"].add("10.30.0.99"),
        "a-name-has-one-family": lambda w: names_of(w)[f"api-int.{w.plan.domain}"].remove(first_vip(w)),
        "a-name-has-another-address": lambda w: names_of(w).update({f"console.apps.{w.plan.domain}": {"10.30.0.9"}}),
        "a-server-has-no-name": lambda w: names_of(w).pop(f"{w.plan.servers[-1].name}.{w.plan.domain}"),
        "no-dns": lambda w: w.names.clear(),
    },
    "control_plane_joined": {
        "a-node-is-missing": lambda w: w.voters.pop(),
        "no-bootstrap": lambda w: w.voters.remove(w.plan.bootstrap.name),
        "a-stranger": lambda w: w.voters.append("stranger"),
    },
    "control_plane_serves": {
        "two-holders": lambda w: w.moved(first_vip(w), *w.plan.control_plane[:2]),
        "bootstrap-still-holds": lambda w: w.macs.update({second_vip(w): {w.plan.bootstrap.mac}}),
        "a-stranger-holds": lambda w: w.macs.update({first_vip(w): {STRANGER}}),
        "vips-on-two-nodes": lambda w: w.moved(second_vip(w), w.plan.control_plane[1]),
        "compute-holds": lambda w: w.moved(first_vip(w), w.plan.compute[0]),
        "nobody-holds": stop_answering,
        "no-api": answer(6443, 0),
        "no-config-server": answer(22623, 0),
        "names-of-nobody": lambda w: w.names.clear(),
    },
    "ingress_serves": {
        "two-holders": lambda w: w.macs[last_router(w)].add(STRANGER),
        "control-plane-holds": lambda w: w.moved(last_router(w), w.plan.control_plane[0]),
        "nobody-holds": stop_answering,
        "no-router": lambda w: w.statuses.update({(last_router(w), 80, "/"): 503}),
    },
    "bootstrap_left_etcd": {
        "bootstrap-still-member": lambda w: w.voters.append(w.plan.bootstrap.name),
        "a-node-is-missing": lambda w: w.voters.pop(),
        "no-answer": lambda w: w.voters.clear(),
    },
    "vip_left_the_bootstrap": {
        "bootstrap-still-holds": lambda w: w.macs.update({first_vip(w): {w.plan.bootstrap.mac}}),
        "bootstrap-still-member": lambda w: w.voters.append(w.plan.bootstrap.name),
    },
    "answers_without_provisioner": {
        "no-api": answer(6443, 0),
        "no-router": lambda w: w.statuses.update({(last_router(w), 80, "/"): 0}),
    },
    "nodes_are_ready": {
        "one-is-not": lambda w: w.ready.pop(),
        "one-too-many": lambda w: w.ready.append("stranger"),
    },
    "first_boots": {
        "nobody-fetched": lambda w: w.lines.clear(),
        "one-has-not": lambda w: w.lines.pop(),
        "another-role-fetched": lambda w: change_first_line(w, "master", "worker"),
        "not-through-the-vip": lambda w: change_first_line(w, f"to {first_vip(w)}", f"to {w.plan.bootstrap.address}"),
        "another-machine-fetched": lambda w: change_first_line(
            w, f"from {w.plan.control_plane[0].address} ", f"from {w.plan.bootstrap.address} "
        ),
    },
    "site_dns_has_only_needed_names": {
        "an-internal-name": lambda w: w.names[SITE_DNS].update({f"api-int.{w.plan.domain}": {first_vip(w)}}),
        "no-name": lambda w: w.names[SITE_DNS].clear(),
    },
    "serves_while_hung": {
        "no-api": lambda w: w.statuses.pop((first_vip(w), 6443, "/readyz")),
        "api-unwell": lambda w: w.statuses.update({(first_vip(w), 6443, "/readyz"): 500}),
    },
    "serves_again": {
        "a-stranger-holds": lambda w: w.macs.update({first_vip(w): {STRANGER}}),
        "no-api": answer(6443, 0),
    },
    "clocks_follow_the_time_servers": {"one-follows-none": lambda w: w.ready.pop()},
}
"""What makes each proof fail."""


@pytest.fixture(scope="module")
def plan() -> Intent:
    """The plan of a cluster of both families: two API VIPs, and two for Ingress."""
    return load_site("dual-stack").plan


@pytest.fixture
def prove(plan: Intent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Report]:
    """Return a function that proves something of a cluster that is spoiled before."""

    def run(name: str, spoil: Spoil, plan: Intent = plan) -> Report:
        make, proof = PROOFS[name]
        found = make(plan)
        spoil(found)

        def status(url: str, address: str, _: str = "") -> int:
            parts = urlsplit(url)
            return found.statuses.get((address, parts.port or 80, parts.path), 0)

        def settle(measure: Callable[[], Any], is_wanted: Callable[[Any], bool], _deadline_s: float) -> Any:
            value = measure()
            found.is_awaited = found.is_awaited and is_wanted(value)
            return value

        monkeypatch.setattr(proofs, "settle", settle)
        monkeypatch.setattr(proofs, "answering_macs", lambda address, wait_s=1.0: frozenset(found.macs[address]))
        monkeypatch.setattr(proofs, "status", status)
        monkeypatch.setattr(dns.query, "udp_with_fallback", found.resolve)
        monkeypatch.setattr(Etcd, "started_voters", lambda _: [Voter(7, name, "") for name in sorted(found.voters)])
        monkeypatch.setattr(Kube, "ready_since", lambda _: dict.fromkeys(sorted(found.ready), "2026-11-22T22:27:15Z"))
        report = Report("dual-stack", folder=tmp_path)
        proof(Proofs(plan, "", report), found)
        assert found.is_awaited, "what holds is not waited for"
        return report

    return run


def test_each_proof_has_evidence_against_it() -> None:
    proven = {name for name, method in vars(Proofs).items() if (method.__doc__ or "").startswith("Prove ")}
    assert {name for name in proven if not name.startswith("_")} == PROOFS.keys() == SPOILED.keys()


@pytest.mark.parametrize("name", PROOFS)
def test_a_cluster_as_it_should_be_is_proven(name: str, prove: Callable[[str, Spoil], Report]) -> None:
    assert prove(name, lambda _: None).proofs


@pytest.mark.parametrize(
    ("name", "how"), [pytest.param(name, how, id=f"{name}-{how}") for name in SPOILED for how in SPOILED[name]]
)
def test_evidence_against_a_proof_fails_it(name: str, how: str, prove: Callable[[str, Spoil], Report]) -> None:
    with pytest.raises(RehearsalError, match="seen "):
        prove(name, SPOILED[name][how])


@pytest.mark.parametrize("name", ["control_plane_joined", "bootstrap_left_etcd"])
def test_an_arbiter_has_to_be_a_member_of_etcd(name: str, prove: Callable[..., Report]) -> None:
    plan = load_site("arbiter").plan
    (arbiter,) = plan.arbiters
    assert prove(name, lambda _: None, plan).proofs
    with pytest.raises(RehearsalError, match="seen "):
        prove(name, lambda found: found.voters.remove(arbiter.name), plan)


def test_while_a_lone_node_hangs_no_api_may_answer(prove: Callable[..., Report]) -> None:
    """One that answers is not this cluster's, or the node does not hang."""
    plan = load_site("single").plan
    assert prove("serves_while_hung", lambda found: found.statuses.clear(), plan).proofs
    with pytest.raises(RehearsalError, match="6443 answers while only-a hangs: seen 200, wanted 0"):
        prove("serves_while_hung", lambda _: None, plan)


@pytest.mark.parametrize("status", [0, 500])
def test_while_one_of_two_hangs_the_api_is_not_ready(status: int, prove: Callable[..., Report]) -> None:
    """etcd has no majority then: a server whose peer is ready all the same does not hang."""
    plan = load_site("fenced").plan
    found = (str(plan.api.address), 6443, "/readyz")
    assert prove("serves_while_hung", lambda w: w.statuses.update({found: status}), plan).proofs
    with pytest.raises(RehearsalError, match="6443 answers while right hangs: seen 200, wanted 0 or 500"):
        prove("serves_while_hung", lambda _: None, plan)


@pytest.mark.parametrize(("stack", "waits"), [("fenced", True), ("single", True), ("compact", False)])
def test_without_a_majority_the_vip_may_come_back_later(
    stack: str, waits: bool, prove: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_site(stack).plan

    def back_later(found: World) -> None:
        found.macs[first_vip(found)] = {plan.bootstrap.mac}
        monkeypatch.setattr(Proofs, "_await_node", lambda _: found.moved(first_vip(found), plan.control_plane[0]))

    if waits:
        assert prove("serves_again", back_later, plan).proofs
    else:
        with pytest.raises(RehearsalError, match="wanted 1 of 3 MACs"):
            prove("serves_again", back_later, plan)


def test_of_an_etcd_that_does_not_answer_nobody_has_left(plan: Intent, monkeypatch: pytest.MonkeyPatch) -> None:
    found, names = Proofs(plan, "", Report("dual-stack")), [plan.bootstrap.name, plan.control_plane[0].name]
    for voters, has_left in ((names[1:], True), (names, False), ([], False)):
        monkeypatch.setattr(Proofs, "_voters", lambda _, voters=voters: voters)
        assert found.has_left_etcd() is has_left


def test_what_is_measured_is_measured_until_it_is_wanted_or_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    assert proofs.settle(lambda: now, lambda seen: seen >= 3, 10) == 3
    assert proofs.settle(lambda: now, lambda _: False, 10) == 13


def test_a_machine_says_which_time_servers_it_has_chosen() -> None:
    assert chosen_time_servers(CLOCKS) == {"10.30.0.123", "fd30:0:0:1::2", "ntp.lab.test"}


def test_a_machine_whose_time_servers_do_not_answer_has_chosen_none() -> None:
    assert chosen_time_servers(CLOCKS[:1]) == set()
