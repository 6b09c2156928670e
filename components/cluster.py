"""The graph of one cluster, for both phases of its stack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from assets.render import render
from base.errors import word
from cluster.plan import ClusterPlan, Role
from cluster.values.phase import Phase
from cluster.values.platform import ClusterPlatform
from cluster.values.role import BOOTSTRAP
from components.component import Component
from components.files import Files, FilesArgs
from components.hooks import Hooks
from components.outputs import hosts
from components.provisioner import Provisioner, ProvisionerArgs
from components.servers import Servers, ServersArgs, Spares, SparesArgs
from payload.reading import payload_folder
from providers.bmc_host.resource import BmcHost
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.resource import BootstrapVm
from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_power.resource import ClusterPower
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.cluster_upgrade.resource import ClusterUpgrade
from providers.destroy_guard.model import DestroyGuardSpec
from providers.destroy_guard.resource import DestroyGuard
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.resource import HostProvisioning
from providers.machines.model import MachinesSpec
from providers.machines.resource import Machines
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.resource import NetworkPreflight
from providers.okd_installed.model import OkdInstalledSpec
from providers.okd_installed.resource import OkdInstalled
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.resource import ProvisionerPreflight
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.resource import ServerObjects
from providers.vip_handoff.model import VipHandoffSpec
from providers.vip_handoff.resource import VipHandoff
from providers.vip_held.model import VipHeldSpec
from providers.vip_held.resource import VipHeld

NEXT = "OKD still installs its operators; openshift-install wait-for install-complete --dir {} tells the end"


@dataclass(frozen=True)
class ClusterArgs:
    """Inputs of `Cluster`."""

    plan: ClusterPlan


class Cluster(Component):
    """A bare-metal cluster. Arrows show the order in which its resources run.

    first:       ProvisionerPreflight, before anything is touched; and before any later run changes a machine
    then:        Files ─► Machines ─► Servers, Spares (every BmcHost) ─► NetworkPreflight
    bootstrap:   NetworkPreflight ─► BootstrapVm ─► VipHandoff ─► HostProvisioning (control plane, arbiter)
    production:  Machines ─► ClusterPower ─► Servers, Spares
                 NetworkPreflight, HostProvisioning (control plane, arbiter) ─► VipHandoff
                 ─► HostProvisioning (compute) ─► VipHeld (Ingress) ─► OkdInstalled, with wait: install; then, on
                 platform baremetal, ServerObjects; then, with upgrade, ClusterUpgrade ─► DestroyGuard

    Unless `destroyable`, everything is protected in production, except what a later `up` may have to delete. The
    DestroyGuard depends on all of it, so that `pulumi destroy` is refused before anything is deleted.
    While the cluster sleeps, what needs one that runs keeps its inputs: a change of them waits until it is awake.
    VipHandoff exists from phase bootstrap on, so phase production always updates it. If that update fails, Pulumi
    keeps the bootstrap VM, which VipHandoff depended on.
    """

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        protected = pulumi.ResourceOptions(protect=args.plan.options.protects_cluster)
        super().__init__("cluster", name, pulumi.ResourceOptions.merge(opts, protected))
        self.plan, self.rendered = args.plan, render(args.plan)
        self.stack = pulumi.get_stack()
        child = pulumi.ResourceOptions(parent=self)
        # Files and spares come and go, also in production.
        deletable = pulumi.ResourceOptions(parent=self, protect=False)
        spec = ProvisionerPreflightSpec.of(args.plan, self.stack, self.rendered.paths)
        self.hooks = Hooks(name, spec)
        self.preflight = self._preflight(spec)
        provisioner = ProvisionerArgs(args.plan, [self.preflight], self.hooks.base_volume)
        self.provisioner = Provisioner(f"{name}-provisioner", provisioner, child)
        # A file that its reader refuses ends the run before the first request to a BMC.
        self.files = self._files(deletable)
        before = [self.preflight, self.files]
        # No server is touched before all machines are identified, and found to be no other host's.
        before = [self._machines(before)]
        if args.plan.options.phase is Phase.PRODUCTION:
            before = [self._power(before)]
        machine = self.hooks.machine
        self.servers = {
            role: Servers(f"{name}-{role.value}", name, ServersArgs(args.plan, role, before, machine), child)
            for role in Role
            # Of the other roles, a stack has the component even without servers.
            if args.plan.of(role) or role is not Role.ARBITER
        }
        spares = SparesArgs(args.plan, before)
        self.spares = Spares(f"{name}-spares", name, spares, deletable).hosts if args.plan.spares else []
        self.installed: dict[Role, HostProvisioning] = {}
        network = self._network_preflight()
        reach = self._bootstrap if args.plan.options.phase is Phase.BOOTSTRAP else self._production
        self.outputs = self._outputs(reach(network))
        self.register_outputs(self.outputs)

    def _preflight(self, spec: ProvisionerPreflightSpec) -> ProvisionerPreflight:
        name = f"{self.name}-preflight"
        opts = pulumi.ResourceOptions(parent=self, hooks=self.hooks.preflight)
        return ProvisionerPreflight(name, spec, opts, urn=self.urn_of(ProvisionerPreflight, name))

    def _files(self, child: pulumi.ResourceOptions) -> Files:
        folders = dict(self.rendered.folders)
        if self.plan.options.phase is Phase.PRODUCTION:
            del folders[BOOTSTRAP]
        return Files(self.name, FilesArgs(folders), child)

    def _machines(self, after: Sequence[pulumi.Resource]) -> Machines:
        name = f"{self.name}-machines"
        return Machines(name, MachinesSpec.of(self.plan), self._after(*after), urn=self.urn_of(Machines, name))

    def _power(self, after: Sequence[pulumi.Resource]) -> ClusterPower:
        """Declare it before the first resource that asks a server: a cluster that slept is awake by then."""
        name = f"{self.name}-power"
        spec = ClusterPowerSpec.of(self.plan, self.stack)
        # An `up` whose handoff failed may go back to phase bootstrap, which has none.
        opts = pulumi.ResourceOptions.merge(self._after(*after), pulumi.ResourceOptions(protect=False))
        return ClusterPower(name, spec, opts, urn=self.urn_of(ClusterPower, name))

    def _network_preflight(self) -> NetworkPreflight:
        """Declare it after the servers: by then, BmcHost has switched off whatever ran on them before."""
        name = f"{self.name}-network"
        opts = self._awake(self._after(self.preflight, *self._hosts()))
        urn = self.urn_of(NetworkPreflight, name)
        return NetworkPreflight(name, NetworkPreflightSpec.of(self.plan), opts, urn=urn)

    def _bootstrap(self, network: NetworkPreflight) -> VipHandoff:
        # The VM starts only after every host has been identified, and the consent to each server checked.
        vm = self._bootstrap_vm(after=[self.preflight, self.files, self.provisioner, network, *self._hosts()])
        handoff = self._handoff(after=[vm])
        # A server fetches its config through the VIP at its first boot.
        self._install_holders_of_etcd(after=[handoff])
        return handoff

    def _production(self, network: NetworkPreflight) -> VipHandoff:
        handoff = self._handoff(after=[*self._install_holders_of_etcd(after=[]), network])
        last: pulumi.Resource = handoff
        if self.plan.compute:
            # The bootstrap's config server refuses the role worker; the control plane's serves it after the move.
            last = self._install(Role.COMPUTE, after=[handoff, *self._hosts()])
        held = [
            self._ingress(VipHeldSpec.of(self.plan, vip), vip.version, after=[last])
            for vip in self.plan.ingress.addresses
        ]
        installed = self._completed(after=held)
        upgraded = self._upgraded(after=[*held, *installed])
        self._guard(after=[self.provisioner, *held, *installed, *upgraded])
        return handoff

    def _outputs(self, handoff: VipHandoff) -> dict[str, Any]:
        """Return what the stack exports."""
        approved = (installation.approved for installation in self.installed.values())
        return {
            "api": f"https://api.{self.plan.domain}:6443",
            "phase": self.plan.options.phase.value,
            "api_vip_holder": handoff.holder,
            "handoff": handoff.summary(),
            "hosts": hosts(self.plan, self._bmcs(), self.installed.items()),
            "approved_certificates": pulumi.Output.all(*approved).apply(_joined),
            "kubeconfig": handoff.kubeconfig,
            **(self._access() if self.plan.options.phase is Phase.PRODUCTION else {}),
        }

    def _access(self) -> dict[str, str]:
        """Return where the cluster is reached, and what is left to do."""
        links = {
            "console": f"https://console-openshift-console.apps.{self.plan.domain}",
        }
        if self.plan.options.wait == "install":
            return links
        return links | {"next": NEXT.format(word(payload_folder(self.stack)))}

    def _bootstrap_vm(self, after: Sequence[pulumi.Resource]) -> BootstrapVm:
        name = f"{self.name}-bootstrap"
        owner = f"{pulumi.get_project()}/{self.stack}"
        spec = BootstrapVmSpec.of(self.plan, self.rendered.bootstrap, self.provisioner.base, owner, self.stack)
        return BootstrapVm(name, spec, self._changing(*after), urn=self.urn_of(BootstrapVm, name))

    def _handoff(self, after: Sequence[pulumi.Resource]) -> VipHandoff:
        name = f"{self.name}-api"
        spec = VipHandoffSpec.of(self.plan, self.stack)
        return VipHandoff(name, spec, self._awake(self._after(*after)), urn=self.urn_of(VipHandoff, name))

    def _install_holders_of_etcd(self, after: Sequence[pulumi.Resource]) -> list[HostProvisioning]:
        """Install their roles at once: etcd may wait for an arbiter before it grows at all."""
        return [self._install(role, after) for role in self.servers if role.holds_etcd]

    def _install(self, role: Role, after: Sequence[pulumi.Resource]) -> HostProvisioning:
        """Install the servers of a role, concurrently."""
        name, servers = f"{self.name}-{role.value}", self.servers[role]
        installed = HostProvisioning(
            name,
            HostProvisioningSpec.of(self.plan, role, self.rendered, self.stack),
            self._awake(self._changing(*after, *servers.hosts.values())),
            identities={host: {"uuid": bmc.uuid, "serial": bmc.serial} for host, bmc in servers.hosts.items()},
            rows=servers.rows,
            urn=self.urn_of(HostProvisioning, name),
        )
        self.installed[role] = installed
        return installed

    def _ingress(self, spec: VipHeldSpec, version: int, after: Sequence[pulumi.Resource]) -> VipHeld:
        """Declare one VipHeld per family: keepalived may put the two addresses on different machines."""
        primary = self.plan.ingress.address.version == version
        name = f"{self.name}-ingress" if primary else f"{self.name}-ingress-ipv{version}"
        return VipHeld(name, spec, self._awake(self._after(*after)), urn=self.urn_of(VipHeld, name))

    def _completed(self, after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Declare what waits for OKD, and what the complete OKD gets."""
        if self.plan.options.wait != "install":
            return []
        okd = self._okd(after)
        # Objects that were there earlier could keep a member of the control plane out of etcd.
        return [okd, self._server_objects(okd)] if self.plan.platform is ClusterPlatform.BAREMETAL else [okd]

    def _okd(self, after: Sequence[pulumi.Resource]) -> OkdInstalled:
        name = f"{self.name}-okd"
        spec = OkdInstalledSpec.of(self.plan, self.stack)
        return OkdInstalled(name, spec, self._deletable(*after), urn=self.urn_of(OkdInstalled, name))

    def _server_objects(self, okd: OkdInstalled) -> ServerObjects:
        name = f"{self.name}-objects"
        spec = ServerObjectsSpec.of(self.plan, self.stack)
        return ServerObjects(name, spec, self._deletable(okd), urn=self.urn_of(ServerObjects, name))

    def _upgraded(self, after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Declare the upgrade after all else: what `up` has still to do is done with the release that is there."""
        if (release := self.plan.options.upgrade) is None:
            return []
        name = f"{self.name}-upgrade"
        spec = ClusterUpgradeSpec.of(self.plan, self.stack, release)
        return [ClusterUpgrade(name, spec, self._deletable(*after), urn=self.urn_of(ClusterUpgrade, name))]

    def _deletable(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Return the options of a resource that a later `up` without `wait: install` or `upgrade` deletes."""
        return self._awake(pulumi.ResourceOptions.merge(self._after(*after), pulumi.ResourceOptions(protect=False)))

    def _awake(self, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        """Return the options of a resource whose update needs a cluster that runs: in its sleep, its inputs stay."""
        kept = pulumi.ResourceOptions(ignore_changes=["*"] if self.plan.options.is_asleep else None)
        return pulumi.ResourceOptions.merge(opts, kept)

    def _guard(self, after: Sequence[pulumi.Resource]) -> None:
        name = f"{self.name}-destroy-guard"
        spec = DestroyGuardSpec.of(self.plan)
        DestroyGuard(name, spec, self._after(*after), urn=self.urn_of(DestroyGuard, name))

    def _bmcs(self) -> dict[str, BmcHost]:
        return {name: bmc for servers in self.servers.values() for name, bmc in servers.hosts.items()}

    def _hosts(self) -> list[pulumi.Resource]:
        return [*self._bmcs().values(), *self.spares]

    def _changing(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Return the options of a resource that changes machines."""
        hooks = pulumi.ResourceOptions(hooks=self.hooks.machine)
        return pulumi.ResourceOptions.merge(self._after(*after), hooks)

    def _after(self, *resources: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, depends_on=[*resources])


def _joined(by_role: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    """Return an output of all roles, by host."""
    return {host: value for of_role in by_role for host, value in (of_role or {}).items()}
