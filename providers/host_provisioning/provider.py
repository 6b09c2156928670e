"""Pulumi's calls for `HostProvisioning`."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pulumi.dynamic import DiffResult

from assets.contract import API_PORT
from base import lock, log
from base.clock import SYSTEM_CLOCK
from base.errors import Fault, OkdBaremetalError
from boot_media.host_isos import ImageServer, IsoMedia, Recipe
from boot_media.media_server import MediaServer
from boot_media.web_server import WebServer
from cluster.values.boot_method import BootMethod
from cluster.values.role import Role
from payload.kubeconfig import Kubeconfig, api_ca, needed, read_kubeconfig
from providers.host_provisioning import records
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.installation.boot_procedures import BootWay, HttpBoot, NetworkBoot, VirtualCd
from providers.host_provisioning.installation.durations import latest_s
from providers.host_provisioning.installation.engine import HEARTBEAT_S, Installation, Missing, Target, World
from providers.host_provisioning.installation.scheduler import THREADS, roll_out
from providers.host_provisioning.joining.nodes import Joining
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, InstallationRecord
from providers.pulumi import plugin
from providers.pulumi.dynamic import Props, Provider
from wires.api.https import PROBE_S, Endpoint, connect_problem, handshake_problem
from wires.api.kubernetes import KubeApi
from wires.redfish.bmc import BmcClient, Power

KUBELET_PORT = 10250


class HostProvisioningProvider(Provider[HostProvisioningSpec, HostProvisioningOuts]):
    """Create and update install the hosts without a record; a host with one is touched only by `reinstall`."""

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Name in the preview the hosts whose disks the change wipes, and those that it leaves alone."""
        old, new = self.known_spec(_olds), self.known_spec(_news)
        if old and new:
            for line in records.notes(old, self.outs_of(_olds), new):
                plugin.notes(new.urn)(line)
        return super().diff(_id, _olds, _news)

    def _faults(self, old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
        yield from records.faults(old, new)

    def _create(self, spec: HostProvisioningSpec) -> tuple[str, HostProvisioningOuts]:
        return f"{spec.stack}-{spec.role.value}", _provision(spec, HostProvisioningOuts(), {})

    def _update(
        self, old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec
    ) -> HostProvisioningOuts:
        return _provision(new, outs, records.named_anew(old, new))

    def _read(self, spec: HostProvisioningSpec, outs: HostProvisioningOuts) -> HostProvisioningOuts | None:
        """Warn of installed hosts that are off; `BmcHost` does not know that they should run."""
        installed = [name for name in spec.hosts if name in outs.installed]
        contexts = [copy_context() for _ in installed]
        with ThreadPoolExecutor(THREADS) as pool:
            powers = list(pool.map(lambda each, name: each.run(_power, spec, name), contexts, installed))
        if off := [name for name, power in zip(installed, powers, strict=True) if power is Power.OFF]:
            plugin.warnings(spec.urn)(f"installed, but off: {', '.join(off)}")
        return outs


def _provision(
    spec: HostProvisioningSpec, outs: HostProvisioningOuts, again: Mapping[str, str]
) -> HostProvisioningOuts:
    """Install the hosts without a record, and reinstall those that `again` names.

    Raises:
        ProvisioningError: At least one host failed; the next run finds the others installed.
    """
    installed = records.still_installed(outs.installed, spec)
    anew = {name: who for name, who in again.items() if name in installed}
    pending = [name for name in spec.hosts if name in anew or name not in installed]
    disks = {name: disk for name, disk in outs.disks.items() if name in installed}
    steps = {name: seconds for name, seconds in outs.steps.items() if name in installed}
    requests = {name: count for name, count in outs.requests.items() if name in installed}
    approved = {name: found for name, found in outs.approved.items() if name in installed}
    if pending:
        recipe, kubeconfig = _recipe(spec), read_kubeconfig(spec.stack)
        _refuse_members(spec, anew, kubeconfig)
        joining = _joining(spec, kubeconfig) if kubeconfig else None
        with _image_server(spec) as server, IsoMedia(server, recipe, plugin.row(spec.urn)) as media:
            ca_pem = api_ca(recipe.payload, kubeconfig) if spec.role is Role.CONTROL_PLANE else ""
            missing = partial(_missing, spec, ca_pem, joining)
            expected_s = latest_s(spec.stack, pending)
            ways = {
                name: replace(_installation(spec, name, media, missing, anew), expected_s=expected_s.get(name))
                for name in pending
            }
            failed = roll_out(ways, clock=SYSTEM_CLOCK)
        if failed:
            raise records.summary(spec, failed, anew.keys() - failed.keys())
        at = _now()
        for name, way in ways.items():
            uuid = spec.identity_of(name).own
            installed[name] = InstallationRecord(uuid=uuid, iso_sha256=way.iso_sha256, at=at)
            disks[name], steps[name], requests[name] = way.disk, way.seconds, way.world.bmc.requests
        approved |= joining.approved if joining else {}
    shown = {name: disk for name, disk in disks.items() if disk}
    return HostProvisioningOuts(installed=installed, disks=shown, steps=steps, requests=requests, approved=approved)


def _refuse_members(spec: HostProvisioningSpec, anew: Mapping[str, str], kubeconfig: Kubeconfig | None) -> None:
    for name in sorted(anew.keys() & {*spec.out_of_etcd}):
        api = KubeApi.by(needed(spec.stack, kubeconfig, f"reinstall.{name}"), spec.api_name)
        EtcdQuorum(api, spec.api_vip).refuse_member(name, spec.hosts[name].addresses)


def _image_server(spec: HostProvisioningSpec) -> AbstractContextManager[ImageServer]:
    if spec.media_url:
        return nullcontext(WebServer(spec.media_url, spec.stack))
    return MediaServer(spec.media_address, spec.media_port)


def _recipe(spec: HostProvisioningSpec) -> Recipe:
    opened = {
        name: {file: text.get_secret_value() for file, text in files.items()} for name, files in spec.keyfiles.items()
    }
    return Recipe(
        stack=spec.stack,
        payload_name=spec.role.pool,
        payload_sha256=spec.payload_sha256,
        architecture=spec.architecture,
        base_sha256=spec.base_iso_sha256,
        base_url=spec.base_iso_url,
        ours={name: text.get_secret_value() for name, text in spec.ours.items()},
        keyfiles=opened,
        hints={name: host.root_device for name, host in spec.hosts.items()},
        ipxe_macs={
            name: mac for name, mac in spec.boot_macs.items() if spec.hosts[name].bmc.boot_method is BootMethod.IPXE
        },
        on_provisioning=spec.boot_macs.keys(),
        boot_server=spec.boot_server,
    )


def _installation(
    spec: HostProvisioningSpec, name: str, media: IsoMedia, missing: Missing, anew: Mapping[str, str]
) -> Installation:
    bmc = _bmc(spec, name)
    report = plugin.rows(spec.urn, spec.rows, name)
    way = _way(spec, name, bmc, media)
    world = World(bmc, SYSTEM_CLOCK, media, way, missing, report, lock.held(bmc.url))
    # A host that runs is wiped only if it is the machine that `reinstall` names.
    uuid = anew.get(name, spec.identity_of(name).own)
    target = Target(name, uuid, spec.hosts[name].address, anew=name in anew)
    # Above 100 hosts, each reports less often, so that the total stays the same.
    return Installation(target, world, spec.deadline_s, max(HEARTBEAT_S, len(spec.hosts) / 10))


def _way(spec: HostProvisioningSpec, name: str, bmc: BmcClient, media: IsoMedia) -> BootWay:
    match spec.hosts[name].bmc.boot_method:
        case BootMethod.VIRTUAL_CD:
            return VirtualCd(bmc, media)
        case BootMethod.IPXE:
            return NetworkBoot(bmc, media, name, SYSTEM_CLOCK, spec.boot_macs[name])
        case BootMethod.UEFI_HTTP:
            return HttpBoot(bmc, media, name, SYSTEM_CLOCK)


def _bmc(spec: HostProvisioningSpec, name: str) -> BmcClient:
    from wires.redfish.sushy_bmc import SushyBmc  # noqa: PLC0415  (a preview asks no BMC)

    bmc = spec.hosts[name].bmc
    return SushyBmc(bmc.model_copy(update={"ca": bmc.ca or spec.ca}), spec.passwords[name])


def _power(spec: HostProvisioningSpec, name: str) -> Power | None:
    """Return the host's power state, or None if it cannot be read; the refresh of its `BmcHost` reports why."""
    log.about(name)
    bmc = _bmc(spec, name)
    try:
        with lock.held(bmc.url):
            return bmc.power()
    except OkdBaremetalError:
        return None
    finally:
        bmc.close()


def _joining(spec: HostProvisioningSpec, kubeconfig: Kubeconfig) -> Joining:
    return Joining(
        api=KubeApi.by(kubeconfig, spec.api_name),
        vip=spec.api_vip,
        hosts={name: host.addresses for name, host in spec.hosts.items()},
        approves=spec.approve_certificates,
        clock=SYSTEM_CLOCK,
        kubelet=partial(handshake_problem, port=KUBELET_PORT),
        log=plugin.notes(spec.urn),
        warn=plugin.warnings(spec.urn),
        today=_now,
    )


def _missing(spec: HostProvisioningSpec, ca_pem: str, joining: Joining | None, target: Target) -> str | None:
    """Return what an installed host lacks.

    The control plane is up when its API is ready; it becomes a node on the way there. Compute is up when its node is
    ready. Only the kubeconfig lets the API be asked for nodes; without one, a kubelet that listens has to do.
    """
    if spec.role is Role.COMPUTE:
        return joining.missing(target.name, target.address) if joining else _kubelet_missing(target)
    if joining:
        joining.admit(target.name)
    problem = Endpoint(API_PORT, "/readyz", spec.api_name, ca_pem).problem(target.address)
    return f"its API is not ready ({problem})" if problem else None


def _kubelet_missing(target: Target) -> str | None:
    """Return why the host has not become a node; a host with a record is never touched again.

    ARP or a ping would not tell: an initramfs that fetches its config in vain answers them too. kubelet starts only
    after the first boot has pivoted to the cluster's image and rebooted, and needs none of our files. It listens
    before anybody has approved its certificates.
    """
    problem = connect_problem(target.address, KUBELET_PORT, timeout_s=PROBE_S)
    return f"its kubelet does not listen ({problem})" if problem else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
