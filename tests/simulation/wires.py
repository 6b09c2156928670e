"""Joins the program's providers to a simulated world, in place of every wire, thread and file that they use."""

import heapq
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import base.lock
import providers.bmc_host.provider as bmc_host
import providers.bootstrap_vm.provider as bootstrap_vm
import providers.cluster_power.provider as cluster_power
import providers.host_provisioning.provider as host_provisioning
import providers.machines.provider as machines
import providers.network_preflight.provider as network_preflight
import providers.vip_handoff.provider as vip_handoff
import providers.vip_held.provider as vip_held
from base.clock import SYSTEM_CLOCK, Clock
from base.errors import BmcAuthError, BmcTransientError, ConfigError, Fault, OkdBaremetalError
from boot_media.host_isos import Recipe
from providers import mark_file, node_joining
from providers.bmc_host import node
from providers.etcd import snapshot as etcd_snapshot
from providers.etcd.access import EtcdAccess
from providers.host_provisioning import composition, provision
from providers.host_provisioning.installation.engine import Installation
from providers.joining import approvals
from providers.joining.certificates import Content, Request, content_of
from providers.mark_file import Ended
from providers.pulumi import plugin
from providers.vip_handoff import adapters
from testing.fakes.bmc import FakeBmc
from tests.simulation.api import SimMembers
from tests.simulation.media import SimMedia
from tests.simulation.servers import REQUEST_S, Server
from tests.simulation.site import way
from tests.simulation.world import World
from wires.api.resources import ETCD_MEMBERS, ConfigMap
from wires.bmc.access import BmcAccess


@dataclass
class _Mark:
    """`Mark` in the memory of a world, by BMC."""

    world: World
    key: str
    """The BMC's address."""

    def read(self) -> Ended | None:
        return self.world.marks.get(self.key)

    def set(self, ended: Ended) -> None:
        self.world.clock.check()
        self.world.marks[self.key] = ended

    def remove(self) -> None:
        self.world.clock.check()
        self.world.marks.pop(self.key, None)
        self.world.unmark(_named(self.world, self.key).url)


@dataclass
class _Probe:
    """`NetworkProbe`: nobody else is on the segment, and DNS is right."""

    world: World

    def macs_of(self, address: str) -> frozenset[str]:
        return self.world.macs_at(address, wait_s=0.9)

    def unanswered(self, _address: str, _port: int) -> str | None:
        return None

    def adverts(self, _addresses: object) -> list[Any]:
        self.world.clock.sleep(4)
        return []

    def dhcp_offers(self, _interface: str, _mac: str) -> list[Any]:
        return []

    def resolve(self, name: str, _version: int) -> frozenset[str]:
        site = self.world.site
        return frozenset({site.api_vip if name.startswith("api") else site.ingress_vip})


class _Client:
    """`MeasuringClient` that measures nothing."""

    def figures(self, _started: float) -> dict[str, Any]:
        return {}


@dataclass
class _Api:
    """`wires.api.api.Api`, and an `Endpoint` of the API."""

    world: World

    def problem(self, address: str, **_: object) -> str | None:
        return self.world.api_problem(address)

    def serves_config(self, address: str) -> bool:
        return self.world.serves_config(address)


@dataclass
class _Keeper:
    """`wires.etcd.stores.Keeper` of a folder that may be full."""

    world: World

    @contextmanager
    def new(self, name: str) -> Iterator[Callable[[bytes], object]]:
        yield lambda _: None
        if self.world.clock.now() < self.world.full_until:
            raise ConfigError(Fault("etcd", f"not saved: {name} cannot be written", "have room in that folder"))
        self.world.clock.check()
        self.world.saved_in = self.world.run


@contextmanager
def wired(world: World) -> Iterator[None]:
    """Have the providers work on a world until the context ends."""
    random.seed(world.rng.random())
    with ExitStack() as stack:
        for patch in _patches(world):
            stack.enter_context(patch)
        yield


def _patches(world: World) -> Iterator[AbstractContextManager[Any]]:
    replaced: tuple[tuple[Any, Mapping[str, Any]], ...] = (
        (SYSTEM_CLOCK, {"now": world.clock.now, "sleep": world.clock.sleep}),
        (plugin, {"_display": lambda urn, severity, **_: lambda line: _told(world, severity, line)}),
        (base.lock, {"held": lambda key, **_: _held(world, key)}),
        (bmc_host, {"client_of": lambda access, *_, **__: _server(world, access)}),
        (node, {"KubeApi": _Kube(world), "read_kubeconfig": lambda _: True}),
        (machines, {"client_of": lambda access, *_, **__: _server(world, access), "by_host": _by_host}),
        (network_preflight, {"LocalNetworkProbe": lambda _: _Probe(world)}),
        (bootstrap_vm, {**_on_segment(world), "held": lambda key: _held(world, key), "connected": _connected(world)}),
        (bootstrap_vm, {"all_macs_on": lambda _, address: world.macs_at(address)}),
        (bootstrap_vm, {"read_bootstrap": lambda *_: b"{}", "compose": lambda *_: b"{}"}),
        (bootstrap_vm, {"marks": world.marks.values, "by_host": _by_host}),
        (vip_handoff, {**_on_segment(world), "macs_at": world.macs_at, "held": lambda key: _held(world, key)}),
        (vip_handoff, {"read_kubeconfig": lambda _: True, "kubeconfig_text": lambda _: "", "unproven": lambda: None}),
        (vip_handoff, {"read_payload": lambda *_: b"", "api_ca": lambda *_: "", "Api": lambda *_: _Api(world)}),
        (vip_handoff, {"KubeApi": _Kube(world), "measuring": lambda *_: nullcontext(_Client())}),
        (adapters, {**_on_segment(world), "macs_at": world.macs_at, "connected": _connected(world)}),
        (
            vip_held,
            {"macs_at": world.macs_at, "unproven": lambda: None, "handshake_problem": world.handshake_problem},
        ),
        (composition, {**_on_segment(world), "KubeApi": _Kube(world)}),
        (composition, {"client_of": lambda access, *_, **__: _server(world, access), "latest_s": lambda *_: {}}),
        (composition, {"Endpoint": lambda *_: _Api(world), "image_server_of": lambda _: nullcontext()}),
        (composition, {"api_ca": lambda *_: ""}),
        (etcd_snapshot, {"KubeApi": _Kube(world), "read_kubeconfig": lambda _: True, "needed": lambda *_: True}),
        (etcd_snapshot, {"keeper_of": lambda _: _Keeper(world)}),
        (EtcdAccess, {"reach": lambda own: _reached(world, own)}),
        (mark_file.MarkFile, {"of": lambda address, _: _Mark(world, address)}),
        (host_provisioning, {"by_host": _by_host}),
        *((it, {"expiry_warning": lambda *_: None}) for it in (bmc_host, host_provisioning, vip_handoff, vip_held)),
        (provision, {"read_kubeconfig": lambda _: True, "install_all": _install_all}),
        (provision, {"by_host": _by_host}),
        (provision, {"IsoMedia": lambda _, recipe, __: _media(world, recipe), "needed": lambda *_, **__: True}),
        (Recipe, {"payload": b""}),
        (cluster_power, {"client_of": lambda access, *_, **__: _server(world, access), "by_host": _by_host}),
        (cluster_power, {"KubeApi": _Kube(world), "read_kubeconfig": lambda _: True, "needed": lambda *_: True}),
        (approvals, {"content_of": _read}),
        (node_joining, {"KubeApi": _Kube(world), "handshake_problem": world.handshake_problem}),
        (cluster_power, {"macs_at": world.macs_at}),
        (cluster_power, {"shown_certificate": lambda *_: None}),
    )
    for target, names in replaced:
        for name, value in names.items():
            yield mock.patch.object(target, name, value)


def _on_segment(world: World) -> dict[str, Any]:
    return {"connect_problem": world.connect_problem}


@dataclass
class _Kube:
    world: World

    def by(self, *_: object) -> object:
        return self.world.kube()


def _reached(world: World, access: EtcdAccess) -> tuple[SimMembers, list[str]]:
    told = access.api.get(access.vip, ETCD_MEMBERS, ConfigMap)
    return SimMembers(world.cluster, world.clock.check), sorted(told.data.values()) if told else []


def _told(world: World, severity: str, line: str) -> None:
    if severity == "WARNING":
        world.warnings.append(line)
        world.tell(f"warning: {line}")


def _read(request: Request, read: dict[str, Content] = {}) -> Content:  # noqa: B006
    """Return a request's content, which is the same each time: to parse it costs more than all else of a poll."""
    return read.get(request.spec.request) or read.setdefault(request.spec.request, content_of(request))


@contextmanager
def _held(world: World, key: str) -> Iterator[None]:
    world.clock.check()
    assert key not in world.locks, f"the run has taken the lock of {key} already"
    world.locks.add(key)
    try:
        yield
    finally:
        world.locks.discard(key)


def _named(world: World, address: str) -> Server:
    """Return the server whose BMC has an address, or had it."""
    first = re.sub(r"172\.22\.\d+\.", "172.22.0.", address)
    return next(world.servers[host.name] for host in world.site.plan.hosts if host.bmc.address == first)


def _server(world: World, access: BmcAccess) -> FakeBmc:
    server = _named(world, access.address)
    first = next(host.bmc for host in world.site.plan.hosts if host.name == server.name)
    now = way({"address": first.address}, server.way)
    if (access.address, access.username) != (now["address"], now["username"]):
        return FakeBmc(world.clock, url=server.url, fault=partial(_astray, world, access.address == now["address"]))
    server.wanted_mode = access.boot_mode
    return server


def _astray(world: World, is_there: bool, request: str) -> None:
    world.clock.check()
    world.clock.sleep(REQUEST_S)
    if is_there:
        raise BmcAuthError(f"cannot {request}: the login was refused", where="bmc", fix="correct it, or `pulumi up`")
    raise BmcTransientError(f"cannot {request}: no connection", where="bmc", undone=True)


def _by_host(hosts: Iterable[str], call: Callable[[str], Any]) -> dict[str, Any]:
    return {host: call(host) for host in hosts}


def _connected(world: World) -> Callable[[str], AbstractContextManager[Any]]:
    def connected(_: str) -> AbstractContextManager[Any]:
        world.libvirt.connect()
        return nullcontext(world.libvirt)

    return connected


def _media(world: World, recipe: Recipe) -> SimMedia:
    return SimMedia(recipe, world.clock.now, world.serve)


def _install_all(installations: Mapping[str, Installation], *, clock: Clock) -> dict[str, OkdBaremetalError]:
    """As `scheduler.install_all`, on one thread: whichever installation is due next goes on."""
    runs = {host: installation.run() for host, installation in installations.items()}
    due, failed = [(clock.now(), number, host) for number, host in enumerate(runs)], dict[str, OkdBaremetalError]()
    try:
        while due:
            at, number, host = heapq.heappop(due)
            clock.sleep(max(0.0, at - clock.now()))
            try:
                seconds = next(runs[host], None)
            except OkdBaremetalError as error:
                failed[host] = error
                continue
            if seconds is not None:
                heapq.heappush(due, (clock.now() + seconds, number, host))
    finally:
        for run in runs.values():
            run.close()
    return failed
