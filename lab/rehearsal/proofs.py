"""Proofs of what each step must have achieved, measured on the network with tools that the program does not use."""

import http.client
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self, TypeVar

import dns.exception
import dns.message
import dns.query
import dns.rdatatype

from cluster.plan import Intent, Server
from cluster.plan.model import Machine, Vip
from lab.nics import machine_mac
from lab.rehearsal.client import Client
from lab.rehearsal.etcd import Etcd
from lab.rehearsal.etcd_operator import EtcdOperator
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.okd import Okd
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.report import Report
from lab.rehearsal.segment import answering_macs, status
from lab.rehearsal.stack import OnLine
from lab.rehearsal.writer import Store

OK = 200
API_PORT, ETCD_PORT = 6443, 2379
WITHOUT_MAJORITY: dict[int, tuple[int, ...]] = {1: (0,), 2: (0, 500)}
"""By the number of servers with etcd: how the API answers while one of them hangs; 0 is no answer.

The other one of two has an API that is not ready: in a twin it fences nobody, after which etcd would go on alone.
"""
POLL_S = 0.25
RESOLVER_S = 5.0
"""The time after which a resolver asks again (resolv.conf(5))."""
_CHOSE = " Selected source "
Value = TypeVar("Value")


@dataclass(frozen=True)
class Proofs:
    """Measures from the provisioner, with probes of its own, a cluster whose machines have the VIPs."""

    plan: Intent
    ca_pem: str
    """The CA of the payload's pointers, which signs all certificates if etcd stands in for the API."""
    report: Report
    operator: Operator | None = None
    """The operator's access to a real Kubernetes. None: etcd stands in for it."""
    api_names_in_site_dns: ClassVar = ["api"]
    """The API's names that the site's DNS has."""

    def of(self, plan: Intent) -> Self:
        """Return the same proofs of the cluster as it is planned now."""
        return replace(self, plan=plan)

    def etcd(self) -> Etcd:
        """Return etcd behind the VIP."""
        tls = ssl.create_default_context(cadata=self.ca_pem)
        return Etcd(self._client(tls, ETCD_PORT if self.operator else API_PORT))

    def store(self) -> Store:
        """Return the store that a writer reaches through the VIP."""
        return self.kube(self.operator) if self.operator else self.etcd()

    def okd(self, operator: Operator) -> Okd:
        """Return OKD's operators, which act through the VIP."""
        of_etcd = self.etcd_operator(operator)
        return Okd(self.plan, of_etcd.api, of_etcd)

    def etcd_operator(self, operator: Operator) -> EtcdOperator:
        """Return OKD's etcd operator, which acts through the VIP."""
        return EtcdOperator(self.plan, OkdApi(self._client(operator.tls)), self.etcd(), self.ca_pem)

    def kube(self, operator: Operator) -> Kube:
        """Return the cluster's API, as the operator reaches it."""
        return Kube(self._client(operator.tls))

    def vip_left_the_bootstrap(self) -> None:
        """Prove that the API VIP leaves the bootstrap by itself, and the bootstrap leaves etcd."""
        self._await_node()
        self.control_plane_serves()
        self.bootstrap_left_etcd()

    def nodes_are_ready(self, operator: Operator, servers: tuple[Server, ...]) -> dict[str, str]:
        """Prove that these servers are the cluster's Ready nodes; return since when each has been Ready."""
        kube, wanted = self.kube(operator), sorted(server.name for server in servers)

        def ready() -> dict[str, str]:
            try:
                return kube.ready_since()
            except (OSError, http.client.HTTPException):
                return {}

        seen = settle(ready, lambda nodes: sorted(nodes) == wanted, 120)
        machine = next(iter(set(wanted) - set(seen)), "")
        self.report.prove("nodes Ready", wanted=", ".join(wanted), seen=", ".join(seen), machine=machine)
        return seen

    def bootstrap_serves(self) -> None:
        """Prove phase bootstrap: the bootstrap is behind each VIP, with API, config server and names."""
        self._bootstrap_answers()
        self._served_by(self.plan.bootstrap)

    def seconds_until_the_bootstrap_answers(self, deadline_s: float = 60) -> float:
        """Return the seconds until only the bootstrap answers the API VIP; at least `deadline_s` if it never does."""
        vip, began = str(self.plan.api.address), time.monotonic()
        settle(lambda: answering_macs(vip, wait_s=POLL_S), {self.plan.bootstrap.mac}.__eq__, deadline_s)
        return time.monotonic() - began

    def control_plane_joined(self) -> None:
        """Prove phase bootstrap: the bootstrap and all nodes are voting members of etcd."""
        wanted = sorted([self.plan.bootstrap.name, *(server.name for server in self.plan.holders_of_etcd)])
        self._members("etcd members started", wanted)

    def hand_over(self, up: Callable[[OnLine], object]) -> None:
        """Run the `up` that hands the API over, and prove what shows only while it runs."""
        up(lambda *_: None)

    def node_to_freeze(self) -> Server:
        """Return the last node that does not answer the API VIP, which a frozen one would keep; else the only one."""
        holders = answering_macs(str(self.plan.api.address))
        others = (
            server for server in reversed(self.plan.control_plane) if machine_mac(server, self.plan) not in holders
        )
        return next(others, self.plan.control_plane[0])

    def serves_while_hung(self, node: str) -> None:
        """Prove that the API answers while a node hangs, unless etcd has no majority without the node."""
        wanted = WITHOUT_MAJORITY.get(len(self.plan.holders_of_etcd), (OK,))
        seen = settle(partial(self._api_status, str(self.plan.api.address)), wanted.__contains__, 10)
        shown, what = " or ".join(map(str, wanted)), f"6443 answers while {node} hangs"
        self.report.prove(what, wanted=shown, seen=seen, holds=seen in wanted, machine=node)

    def serves_again(self) -> None:
        """Prove that the control plane serves once no node hangs. Without a majority of etcd, it had lost the VIP."""
        if len(self.plan.holders_of_etcd) in WITHOUT_MAJORITY:
            self._await_node()
        self.control_plane_serves()

    def control_plane_serves(self) -> None:
        """Prove production: the control plane is behind each VIP, with API, config server and names."""
        self._control_plane_answers()
        self._served_by(self.plan.control_plane[0])

    def ingress_serves(self) -> None:
        """Prove production: servers of the role that has Ingress are behind each VIP, with a router."""
        self._routers_answer()
        for vip in _texts(self.plan.ingress):
            self.report.prove(f"router behind the Ingress VIP {vip}", wanted=OK, seen=self._router_status(vip))

    def has_left_etcd(self) -> bool:
        """Return whether etcd answers, and the bootstrap is not among its members."""
        voters = self._voters()
        return bool(voters) and self.plan.bootstrap.name not in voters

    def bootstrap_left_etcd(self) -> None:
        """Prove production: only the nodes that hold etcd are its members."""
        wanted = sorted(server.name for server in self.plan.holders_of_etcd)
        self._members("etcd members after the bootstrap left", wanted)

    def first_boots(self, path: str, servers: tuple[Server, ...], console: Callable[[], list[str]]) -> None:
        """Prove that every server of a role fetched its config through an API VIP."""
        names = {str(address): server.name for server in servers for address in server.addresses}
        ends = tuple(f" to {vip}" for vip in _texts(self.plan.api))

        def fetched() -> list[str]:
            lines = [line for line in console() if f" {path} from " in line and line.rstrip().endswith(ends)]
            clients = {line.partition(" from ")[2].split()[0] for line in lines}
            return sorted({name for address, name in names.items() if address in clients})

        wanted = sorted(server.name for server in servers)
        seen = settle(fetched, wanted.__eq__, 10)
        self.report.prove(f"fetched {path} through the API VIP", wanted=wanted, seen=seen)

    def clocks_follow_the_time_servers(self, console: Callable[[str], list[str]]) -> None:
        """Prove that each machine's chronyd has chosen a time server of the install-config, if that names any."""
        servers = self.plan.ntp_servers
        if not servers:
            return
        wanted = [machine.name for machine in (self.plan.bootstrap, *self.plan.servers)]

        def following() -> list[str]:
            return [name for name in wanted if chosen_time_servers(console(name)) & {*servers}]

        self._settled(f"clocks that follow {' or '.join(servers)}", wanted, following, 60)

    def site_dns_has_only_needed_names(self, dns_server: str) -> None:
        """Prove that the site's DNS has exactly those names of the API that this cluster needs there."""
        seen = [name for name in ("api", "api-int") if _resolve(dns_server, f"{name}.{self.plan.domain}")]
        self.report.prove("names of the API in the site's DNS", wanted=self.api_names_in_site_dns, seen=seen)

    def answers_without_provisioner(self) -> None:
        """Prove that API and Ingress answer without the provisioner."""
        for vip in _texts(self.plan.api):
            seen = settle(partial(self._api_status, vip), OK.__eq__, 10)
            self.report.prove("API without the provisioner", wanted=OK, seen=seen)
        for vip in _texts(self.plan.ingress):
            self.report.prove("Ingress without the provisioner", wanted=OK, seen=self._router_status(vip))

    def _bootstrap_answers(self) -> None:
        bootstrap = self.plan.bootstrap
        for vip in _texts(self.plan.api):
            self._one_answers(f"only the bootstrap VM answers API VIP {vip}", vip, {bootstrap.mac}, bootstrap.name)

    def _control_plane_answers(self) -> None:
        answering, macs = set[str](), self._macs(self.plan.control_plane)
        for vip in _texts(self.plan.api):
            answering |= self._one_answers(f"one control-plane node answers API VIP {vip}", vip, macs)
        self.report.prove("nodes that answer the API VIPs", wanted=1, seen=len(answering))

    def _await_node(self) -> None:
        """Wait until one node of the control plane answers the API VIP."""
        vip, nodes = str(self.plan.api.address), self._macs(self.plan.control_plane)
        settle(lambda: answering_macs(vip, wait_s=POLL_S), lambda seen: len(seen) == 1 and seen <= nodes, 180)

    def _routers_answer(self) -> None:
        role = self.plan.ingress_role
        for vip in _texts(self.plan.ingress):
            self._one_answers(f"one {role} node answers Ingress VIP {vip}", vip, self._macs(self.plan.of(role)))

    def _one_answers(self, what: str, address: str, macs: set[str], machine: str = "") -> frozenset[str]:
        """Prove that one of these machines answers an address, and return its MAC."""
        # A busy machine may not answer for a moment, so wait for a first answer. A second MAC fails at once.
        seen = settle(lambda: answering_macs(address), bool, 10)
        good = len(seen) == 1 and seen <= macs
        wanted = "1 MAC" if len(macs) == 1 else f"1 of {len(macs)} MACs"
        self.report.prove(what, wanted=wanted, seen=" and ".join(sorted(seen)) or "none", holds=good, machine=machine)
        return seen

    def _served_by(self, machine: Machine) -> None:
        for vip in _texts(self.plan.api):
            self._serves(vip, machine.name)
        self._names(str(machine.address), machine.name)

    def _serves(self, address: str, machine: str) -> None:
        for port, status_of in ((6443, self._api_status), (22623, self._config_server_status)):
            seen = settle(partial(status_of, address), OK.__eq__, 10)
            self.report.prove(f"{port} answers on the API VIP {address}", wanted=OK, seen=seen, machine=machine)

    def _api_status(self, address: str) -> int:
        ca_pem = self.operator.ca_pem if self.operator else self.ca_pem
        return status(f"https://api.{self.plan.domain}:{API_PORT}/readyz", address, ca_pem)

    def _config_server_status(self, address: str) -> int:
        # Its certificate has only the internal name.
        return status(f"https://api-int.{self.plan.domain}:22623/healthz", address, self.ca_pem)

    def _names(self, server: str, machine: str) -> None:
        domain = self.plan.domain
        wanted = {
            f"api.{domain}": self.plan.api.addresses,
            f"api-int.{domain}": self.plan.api.addresses,
            f"console.apps.{domain}": self.plan.ingress.addresses,
            **{f"{server.name}.{domain}": server.addresses for server in self.plan.servers},
        }

        def right() -> int:
            return sum(_resolve(server, name) == set(map(str, addresses)) for name, addresses in wanted.items())

        seen = settle(right, len(wanted).__eq__, 30)  # as a client asks again: UDP may lose a packet
        what = f"names answered by CoreDNS on {machine}"
        self.report.prove(
            what, wanted=f"{len(wanted)} of {len(wanted)}", seen=f"{seen} of {len(wanted)}", machine=machine
        )

    def _client(self, tls: ssl.SSLContext, port: int = API_PORT) -> Client:
        return Client(str(self.plan.api.address), f"api.{self.plan.domain}", tls, port)

    def _members(self, what: str, wanted: list[str]) -> None:
        self._settled(what, wanted, self._voters, 90)

    def _voters(self) -> list[str]:
        """Return the names of etcd's voting members; none if it does not answer."""
        try:
            return [voter.name for voter in self.etcd().started_voters()]
        except (OSError, http.client.HTTPException):
            return []

    def _settled(self, what: str, wanted: list[str], measure: Callable[[], list[str]], deadline_s: float) -> None:
        """Prove that a list of machines is, or soon becomes, as wanted."""
        seen = settle(measure, wanted.__eq__, deadline_s)
        machine = next(iter({*wanted} ^ {*seen}), "")
        self.report.prove(what, wanted=", ".join(wanted), seen=", ".join(seen), machine=machine)

    def _router_status(self, vip: str) -> int:
        return status(f"http://console.apps.{self.plan.domain}/", vip)

    def _macs(self, servers: tuple[Server, ...]) -> set[str]:
        return {machine_mac(server, self.plan) for server in servers}


def settle(measure: Callable[[], Value], is_wanted: Callable[[Value], bool], deadline_s: float) -> Value:
    """Measure until the value is as wanted or the deadline has passed; return the last value."""
    until = time.monotonic() + deadline_s
    while not is_wanted(value := measure()) and time.monotonic() < until:
        time.sleep(POLL_S)
    return value


def chosen_time_servers(console: list[str]) -> set[str]:
    """Return addresses and names of the time servers that chronyd chose; it logs `ADDRESS` or `ADDRESS (NAME)`."""
    lines = [line.partition(_CHOSE)[2] for line in console if _CHOSE in line]
    return {word.strip("()") for line in lines for word in line.split()}


def _texts(vip: Vip) -> list[str]:
    return [str(address) for address in vip.addresses]


def _resolve(server: str, name: str) -> set[str]:
    """Return all addresses of a name, of both families; none if the server does not answer."""
    addresses = set[str]()
    for kind in (dns.rdatatype.A, dns.rdatatype.AAAA):
        try:
            answer, _ = dns.query.udp_with_fallback(dns.message.make_query(name, kind), server, timeout=RESOLVER_S)
        except (OSError, dns.exception.DNSException):
            return set()
        addresses |= {str(item) for record in answer.answer for item in record if item.rdtype == kind}
    return addresses
