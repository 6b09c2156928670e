"""One cluster as its stack's inputs have it, and what its segment and its API are asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

from assets.contract import API_PORT
from base.errors import OwnAddressError, PayloadError, SegmentError
from base.shown import few, short
from cli.status.answers import Level, Question, Row
from cluster.plan import ClusterPlan, Server
from cluster.plan.model import Machine
from cluster.values.address import Address
from cluster.values.balancer import Balancer
from cluster.values.consent import missing_consent
from cluster.values.phase import Phase
from payload.kubeconfig import Kubeconfig, api_ca, kubeconfig_path, read_kubeconfig
from payload.reading import read_payload
from providers.etcd.health import listed_members, member_problem
from providers.joining.certificates import REQUESTS, Requests
from providers.joining.nodes import Nodes
from wires.api.api import Api
from wires.api.kubernetes import KubeApi
from wires.api.resources import NODE_LIST, KubernetesReader
from wires.segment.neighbours import macs_at
from wires.segment.vip_holder import vip_holder

VIP_S, NODE_S = 1.0, 0.1
"""Seconds for answers of a VIP, which several machines may give, and of a machine's own address."""
Rows = Iterator[Row]


@dataclass(frozen=True)
class Cluster:
    """A stack's cluster, whatever became of it."""

    stack: str
    plan: ClusterPlan
    now: datetime

    @property
    def is_in_production(self) -> bool:
        """Whether the stack is in phase production, in which all must be as planned."""
        return self.plan.options.phase is Phase.PRODUCTION

    @property
    def is_asleep(self) -> bool:
        """Whether all servers are to be off."""
        return self.plan.options.is_asleep

    @property
    def unfinished(self) -> Level:
        """How bad it is that a machine does not do its part: in phase bootstrap, it may still become one."""
        return Level.WRONG if self.is_in_production else Level.WARNING

    @property
    def running(self) -> tuple[Server, ...]:
        """The servers that the phase installs, and that are to run; none of a cluster that sleeps."""
        if self.is_asleep:
            return ()
        return self.plan.servers if self.is_in_production else self.plan.holders_of_etcd

    @property
    def vip(self) -> str:
        """The address at which the API is asked."""
        return str(self.plan.api.address)

    @cached_property
    def kubeconfig(self) -> Kubeconfig | None:
        """The kubeconfig beside the payload. None: it is missing."""
        return read_kubeconfig(self.stack)

    @cached_property
    def api(self) -> Api:
        """The API's readiness, by the CAs of payload and kubeconfig.

        Raises:
            PayloadError: There is neither.
        """
        try:
            pointer = read_payload(self.stack, "master", self.plan.options.payload.master)
        except PayloadError:
            if self.kubeconfig is None:
                raise
            return Api(self.plan.domain, self.kubeconfig.ca_pem)
        return Api(self.plan.domain, api_ca(pointer, self.kubeconfig))

    def of_kubernetes(self, kind: str, name: str, rows: Callable[["Cluster", KubernetesReader], Rows]) -> Question:
        """Return a question to the API, which takes the kubeconfig."""

        def ask() -> Sequence[Row]:
            if self.kubeconfig is None:
                why = f"not asked: {kubeconfig_path(self.stack)} is missing"
                return [Row(kind, name, Level.WARNING, why)]
            return [*rows(self, KubeApi.by(self.kubeconfig, f"api.{self.plan.domain}"))]

        return Question(kind, name, ask, self.unfinished)


def vips(cluster: Cluster) -> Iterator[Question]:
    """Ask the segment who holds each VIP. A balancer of the site holds its addresses itself."""
    plan = cluster.plan
    if plan.balancer is Balancer.SITE:
        return
    first = () if cluster.is_in_production else (plan.bootstrap,)
    wanted: tuple[tuple[str, Sequence[Address], Sequence[Machine], bool], ...] = (
        ("API", plan.api.addresses, (*first, *plan.control_plane), True),
        ("Ingress", plan.ingress.addresses, plan.of(plan.ingress_role), cluster.is_in_production),
    )
    for what, addresses, machines, must in wanted:
        for address in addresses:
            name = f"{what} {address}"
            yield Question("vip", name, partial(_holder, name, address, machines, must=must))


def _holder(name: str, address: Address, machines: Sequence[Machine], *, must: bool) -> Rows:
    try:
        macs = macs_at(str(address), wait_s=VIP_S)
    except OwnAddressError:
        raise
    except SegmentError as error:  # a person elsewhere is not to be told that it is wrong
        yield Row("vip", name, Level.WARNING, str(error))
        return
    nodes = {machine.name: str(machine.address_of(address.version)) for machine in machines}
    holder = vip_holder([macs], nodes, partial(macs_at, wait_s=NODE_S)) if macs else None
    if holder:
        yield Row("vip", name, Level.GOOD, f"held by {holder}")
    elif macs or must:
        seen = " and ".join(few(macs)) or "nobody"
        yield Row("vip", name, Level.WRONG, f"answered by {seen}, wanted exactly one of {', '.join(nodes)}")
    else:
        yield Row("vip", name, Level.GOOD, "held by nobody, until phase production")


def apis(cluster: Cluster) -> Iterator[Question]:
    """Ask the API for its readiness, through each VIP and at each server of the control plane."""
    for vip in cluster.plan.api.addresses:
        yield Question("api", f"VIP {vip}", partial(_ready, cluster, f"VIP {vip}", str(vip), Level.WRONG))
    for server in cluster.plan.control_plane:
        ask = partial(_ready, cluster, server.name, str(server.address), cluster.unfinished)
        yield Question("api", server.name, ask, cluster.unfinished)


def _ready(cluster: Cluster, name: str, address: str, unready: Level) -> Rows:
    problem = cluster.api.problem(address)
    says = f"not ready on {API_PORT}: {problem}" if problem else "ready"
    yield Row("api", name, unready if problem else Level.GOOD, says)


def nodes(cluster: Cluster) -> Iterator[Question]:
    """Ask the API for the node of each server."""
    yield cluster.of_kubernetes("node", "all", node_rows)


def node_rows(cluster: Cluster, api: KubernetesReader) -> Rows:
    """Yield a row for each server that the phase installs, by its node."""
    listed = api.get(cluster.vip, NODE_LIST, Nodes) or Nodes()
    by_name = {node.metadata.name: node for node in listed.items}
    for server in cluster.running:
        node = by_name.get(server.name)
        problem = node.problem if node else "there is no such node"
        says = short(problem) if problem else f"Ready, kubelet {node.status.node_info.kubelet if node else ''}"
        yield Row("node", server.name, cluster.unfinished if problem else Level.GOOD, says)


def etcds(cluster: Cluster) -> Iterator[Question]:
    """Ask the API for etcd, by what its operator reports, as before a server is wiped."""
    yield cluster.of_kubernetes("etcd", "members", member_rows)
    yield cluster.of_kubernetes("etcd", "health", health_rows)


def member_rows(cluster: Cluster, api: KubernetesReader) -> Rows:
    """Yield the row of etcd's members."""
    listed = listed_members(api, cluster.vip) or frozenset()
    own = {str(address): server.name for server in cluster.plan.holders_of_etcd for address in server.addresses}
    members = sorted(own.get(address, address) for address in listed)
    wanted = sorted({*own.values()})
    says = ", ".join(map(short, few(members))) or "none is named"
    if members == wanted:
        yield Row("etcd", "members", Level.GOOD, says)
    else:
        yield Row("etcd", "members", cluster.unfinished, f"{says}; wanted {', '.join(wanted)}")


def health_rows(cluster: Cluster, api: KubernetesReader) -> Rows:
    """Yield the row of the health of etcd's members."""
    problem = member_problem(api, cluster.vip)
    says = short(problem) if problem else "all members answer"
    yield Row("etcd", "health", cluster.unfinished if problem else Level.GOOD, says)


def requests(cluster: Cluster) -> Iterator[Question]:
    """Ask the API for the certificate requests that nobody has approved."""
    yield cluster.of_kubernetes("request", "pending", request_rows)


def request_rows(cluster: Cluster, api: KubernetesReader) -> Rows:
    """Yield the row of all pending certificate requests."""
    listed = api.get(cluster.vip, REQUESTS, Requests) or Requests()
    pending = [f"{it.metadata.name} of {it.spec.username}" for it in listed.items if it.is_pending]
    if pending:
        who = ", ".join(map(short, few(pending)))
        says = f"{len(pending)} wait for a person, unless they are new: {who}; see `oc get csr`"
        yield Row("request", "pending", Level.WARNING, says)
    else:
        yield Row("request", "pending", Level.GOOD, "none")


def sleeps(_: Cluster) -> Iterator[Question]:
    """Say that the cluster sleeps; no machine is asked."""
    row = Row(
        "power", "cluster", Level.GOOD, "asleep, since the option `power` is off: nothing but the BMCs is asked"
    )
    yield Question("power", "cluster", partial(iter, (row,)))


def consents(cluster: Cluster) -> Iterator[Question]:
    """Name the servers that wait for a consent; no machine is asked."""
    for server in cluster.plan.servers:
        if not cluster.plan.options.consent.get(server.name, "").strip():
            fault = missing_consent(server.name, server.bmc.address)
            row = Row("consent", server.name, Level.WARNING, f"{fault.what}. Fix: {fault.fix}")
            yield Question("consent", server.name, partial(iter, (row,)))
