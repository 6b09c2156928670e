"""Composes what the installations of a role use, from its inputs: BMCs, boot media, the cluster's API, progress."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from assets.contract import API_PORT, KUBELET_PORT
from base import lock
from base.clock import SYSTEM_CLOCK
from base.errors import BmcError, BusyError, Fault, ProvisioningError
from base.progress import Progress
from boot_media.host_isos import ImageServer, IsoMedia, Recipe
from boot_media.shared_server import shared_media_server
from boot_media.web_server import WebServer
from cluster.values.boot_method import BootMethod
from cluster.values.role import Role
from payload.kubeconfig import PUT_THERE, Kubeconfig, api_ca, kubeconfig_path
from providers.etcd.access import EtcdAccess
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.drain import Drain
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.installation.adapters import Adapters, Missing, Target
from providers.host_provisioning.installation.boot_procedures import BootProcedure, HttpBoot, NetworkBoot, VirtualCd
from providers.host_provisioning.installation.durations import latest_s
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.evidence import Evidence
from providers.host_provisioning.installation.shown_steps import HEARTBEAT_S
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.records import InstallationPlan
from providers.host_provisioning.removal import Removal
from providers.host_provisioning.topology import ControlPlane
from providers.joining.approvals import Joining
from providers.joining.nodes import may_be_node
from providers.mark_file import MarkFile
from providers.pulumi import plugin
from providers.registered import has_api
from wires.api.https import PROBE_S, Endpoint, connect_problem
from wires.api.kubernetes import KubeApi
from wires.bmc.client import BmcClient, Identity, Power
from wires.bmc.steps import LATE_FIX, Steps, Waits, run_steps
from wires.bmc_clients import client_of, exclusive
from wires.etcd.client import EtcdClient
from wires.redfish.client.masking import shown

LOOKING = "seeing whether it runs from its disk"
RAN = Fault(
    "",
    "it ran from its disk a moment ago, and does so no more",
    "if it does not run this cluster, switch it off, then run `pulumi up` again, which asks etcd first",
)
FENCED = Fault(
    "",
    "it does not run from its disk, and etcd runs on the control plane, whose servers fence each other",
    "have Pacemaker start it (`pcs status` on its peer), then run `pulumi up` again",
)


def bmc_of(spec: HostProvisioningSpec, name: str, *, from_state: bool = False) -> BmcClient:
    """Return a client of a host's BMC; the caller closes it."""
    bmc = spec.hosts[name].bmc
    return client_of(bmc.changed(ca=bmc.ca or spec.ca), spec.passwords[name], from_state=from_state)


def locked_bmc(
    spec: HostProvisioningSpec, name: str, *, from_state: bool = False
) -> AbstractContextManager[BmcClient]:
    """Return a client of a host's BMC, which no other run uses while a block runs; see `exclusive`."""
    return exclusive(bmc_of(spec, name, from_state=from_state))


def runs_from_disk(spec: HostProvisioningSpec, kubeconfig: Kubeconfig | None, name: str) -> bool:
    """Return whether a host's BMC shows that it runs from its disk. It has as long to say so as in an installation.

    One that is on, and boots from the network or has an image in its drive, may run a live system: there, the cluster
    has to say whether it is a part of it.

    Raises:
        ProvisioningError: Nobody knows; or it is a part, with an image in its drive. Nothing was touched.
    """
    plugin.rows(spec.urn, spec.rows, name)(Progress(LOOKING))
    bmc, host = bmc_of(spec, name), spec.hosts[name]
    where = f"{name} ({bmc.url})"
    try:
        with exclusive(bmc):
            steps = Steps(bmc, SYSTEM_CLOCK, SYSTEM_CLOCK.now() + spec.deadline_s)
            power, image = run_steps(steps.power_and_media(), SYSTEM_CLOCK)
    except (BmcError, BusyError) as error:
        what = f"not touched, as it may run from its disk: {error.fault.what}"
        raise ProvisioningError(what, where=where, fix=error.fault.fix or LATE_FIX) from None
    if power is Power.OFF:
        return False
    if image is None and host.bmc.boot_method is BootMethod.VIRTUAL_CD:
        return True
    machine = spec.identity_of(name).identity
    if kubeconfig is None or not quorum_of(spec, kubeconfig).has(name, machine, host.all_addresses):
        return False
    if image:
        what = f"it is a part of the cluster, with {shown(image)} in its virtual CD drive, wanted an empty one"
        fix = "eject that on the BMC's own pages, then run `pulumi up` again"
        raise ProvisioningError(f"{what}; nothing was changed", where=where, fix=fix)
    return True


def mark_of(spec: HostProvisioningSpec, name: str) -> MarkFile:
    """Return the mark of a host's last installation."""
    return MarkFile.of(spec.hosts[name].bmc.address, plugin.warnings(spec.urn))


def image_server_of(spec: HostProvisioningSpec) -> AbstractContextManager[ImageServer]:
    """Return the server of the boot ISOs: the site's own, or this process's, which ends with its last context."""
    if spec.media_url:
        return nullcontext(WebServer(spec.media_url, spec.stack))
    return shared_media_server(spec.media_address, spec.media_port)


def recipe_of(spec: HostProvisioningSpec) -> Recipe:
    """Return the contents of the hosts' boot ISOs."""
    return Recipe(
        stack=spec.stack,
        payload_name=spec.role.pool,
        payload_sha256=spec.payload_sha256,
        architecture=spec.architecture,
        base_sha256=spec.base_iso_sha256,
        base_url=spec.base_iso_url,
        own_ignition={name: text.get_secret_value() for name, text in spec.own_ignition.items()},
        keyfiles={
            name: {file: text.get_secret_value() for file, text in files.items()}
            for name, files in spec.keyfiles.items()
        },
        hints={name: host.root_device for name, host in spec.hosts.items()},
        wipe_disks={name: host.wipe_disks for name, host in spec.hosts.items()},
        ipxe_macs={
            name: mac for name, mac in spec.boot_macs.items() if spec.hosts[name].bmc.boot_method is BootMethod.IPXE
        },
        on_provisioning=spec.boot_macs.keys(),
        boot_server=spec.boot_server,
        over_tls=frozenset(spec.over_tls),
    )


def quorum_of(spec: HostProvisioningSpec, kubeconfig: Kubeconfig) -> EtcdQuorum:
    """Return the cluster's etcd, as asked before a server with a copy of it is touched."""
    api, report = KubeApi.by(kubeconfig, spec.api_name), plugin.row(spec.urn)
    return EtcdQuorum(api, spec.api_vip, SYSTEM_CLOCK, report, in_production=bool(spec.out_of_etcd))


def departure_of(spec: HostProvisioningSpec, kubeconfig: Kubeconfig, name: str) -> Departure:
    """Return what takes a host out of etcd and the cluster, in production."""
    api = KubeApi.by(kubeconfig, spec.api_name)
    return Departure(
        host=name,
        addresses=spec.hosts[name].all_addresses,
        api_name=spec.api_name,
        api=api,
        access=EtcdAccess(api, spec.api_vip, EtcdClient),
        quorum=quorum_of(spec, kubeconfig),
        clock=SYSTEM_CLOCK,
    )


def control_plane_of(spec: HostProvisioningSpec, kubeconfig: Kubeconfig) -> ControlPlane:
    """Return the control plane that a host is to join, in production."""
    return ControlPlane(spec.hosts, quorum_of(spec, kubeconfig))


def removal_of(old: HostProvisioningSpec, new: HostProvisioningSpec, kubeconfig: Kubeconfig, name: str) -> Removal:
    """Return what takes a host of `old` out of the cluster, within the deadline of `new`."""
    report = plugin.rows(old.urn, old.rows, name)
    drain = Drain(name, new.api_vip, KubeApi.by(kubeconfig, new.api_name), SYSTEM_CLOCK, report)
    return Removal(
        host=name,
        uuid=old.identity_of(name).own,
        bmc=partial(locked_bmc, old, name, from_state=True),
        drain=drain,
        clock=SYSTEM_CLOCK,
        report=report,
        warn=plugin.warnings(new.urn),
        deadline_s=new.deadline_s,
    )


def leaving(adapters: Adapters, departure: Departure, joining: Joining | None) -> Adapters:
    """Return the adapters of a host that leaves etcd before it is wiped, and is up once it is back."""

    def take_out() -> Waits:
        yield from departure.take_out()
        if joining:
            joining.forget(departure.host)

    def missing(target: Target) -> str | None:
        return adapters.missing(target) or departure.missing()

    return replace(adapters, take_out=take_out, missing=missing)


def missing_of(
    spec: HostProvisioningSpec, recipe: Recipe, kubeconfig: Kubeconfig | None, joining: Joining | None
) -> Missing:
    """Return what reads whether an installed host is up.

    A control-plane host is up when its API is ready; it has joined before that. Compute is up when its node is ready,
    and so has to be what joins a control plane in production.
    Only the kubeconfig lets the API be asked for nodes: without one, a kubelet that listens has to do.
    """
    if spec.role is Role.CONTROL_PLANE:
        api = Endpoint(API_PORT, "/readyz", spec.api_name, api_ca(recipe.payload, kubeconfig))
        return partial(_missing_api, api, joining)
    return _missing_kubelet if joining is None else lambda target: joining.missing(target.name, target.address)


def _missing_api(api: Endpoint, joining: Joining | None, target: Target) -> str | None:
    if joining and target.name in joining.together:
        if problem := joining.missing(target.name, target.address):
            return problem
    elif joining:
        joining.approve_requests(target.name)
    problem = api.problem(target.address)
    return f"its API is not ready ({problem})" if problem else None


def _missing_kubelet(target: Target) -> str | None:
    """Return why the host has not become a node; a host with a record is never touched again.

    ARP or a ping would not tell: an initramfs that fetches its config in vain answers them too. kubelet starts only
    after the first boot has pivoted to the cluster's image and rebooted, and needs none of our files. It listens
    before anybody has approved its certificates.
    """
    problem = _kubelet_problem(target.address)
    return f"its kubelet does not listen ({problem})" if problem else None


def _kubelet_problem(address: str) -> str | None:
    return connect_problem(address, KUBELET_PORT, timeout_s=PROBE_S)


def installations_of(
    spec: HostProvisioningSpec, plan: InstallationPlan, media: IsoMedia, missing: Missing, joining: Joining | None
) -> dict[str, Installation]:
    """Return the installation of each pending host."""
    expected_s = latest_s(spec.stack, plan.pending)
    # Above 100 hosts, each reports less often, so that the total stays the same.
    heartbeat_s = max(HEARTBEAT_S, len(spec.hosts) / 10)
    return {
        name: Installation(
            _target(spec, plan, name),
            _adapters(spec, name, media, missing, joining),
            spec.deadline_s,
            heartbeat_s,
            expected_s.get(name),
        )
        for name in plan.pending
    }


def _target(spec: HostProvisioningSpec, plan: InstallationPlan, name: str) -> Target:
    # A host that runs is wiped only if it is the machine that `reinstall` names.
    uuid = plan.reinstall.get(name, spec.identity_of(name).own)
    address, reinstall = spec.hosts[name].address, name in plan.reinstall
    untouchable = (FENCED if spec.fenced else RAN) if name in plan.adopted else None
    return Target(name, uuid, address, reinstall=reinstall, untouchable=untouchable)


def _adapters(
    spec: HostProvisioningSpec, name: str, media: IsoMedia, missing: Missing, joining: Joining | None
) -> Adapters:
    bmc, address = bmc_of(spec, name), spec.hosts[name].address
    return Adapters(
        bmc=bmc,
        clock=SYSTEM_CLOCK,
        media=media,
        boot_procedure=_boot_procedure(spec, name, bmc, media),
        missing=missing,
        report=plugin.rows(spec.urn, spec.rows, name),
        guard=lock.held(bmc.url),
        evidence=Evidence(
            mark=mark_of(spec, name),
            has_joined=partial(_has_joined, spec, joining, name),
            answers=lambda: _kubelet_problem(address) is None,
        ),
    )


def _has_joined(spec: HostProvisioningSpec, joining: Joining | None, name: str, machine: Identity) -> bool | None:
    """See `Evidence`. A control plane in production is that of a cluster, which may have the node, asked or not."""
    if joining:
        return joining.is_node(name, machine)
    if spec.out_of_etcd or has_api(spec.stack):
        what = f"the API cannot be asked without {kubeconfig_path(spec.stack)}"
        raise may_be_node(name, what, f"{PUT_THERE}; then run `pulumi up` again")
    return False


def _boot_procedure(spec: HostProvisioningSpec, name: str, bmc: BmcClient, media: IsoMedia) -> BootProcedure:
    match spec.hosts[name].bmc.boot_method:
        case BootMethod.VIRTUAL_CD:
            return VirtualCd(bmc, media, name)
        case BootMethod.IPXE:
            return NetworkBoot(bmc, media, name, SYSTEM_CLOCK, spec.boot_macs[name])
        case BootMethod.UEFI_HTTP:
            return HttpBoot(bmc, media, name, SYSTEM_CLOCK)
