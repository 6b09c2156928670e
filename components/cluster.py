"""The cluster: two phases of one stack."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from cluster.plan import ClusterPlan, Role
from components.bootstrap import Bootstrap, BootstrapArgs
from components.component import Component
from components.preflight import wanted_of, wire_wanted_of
from components.provisioner import Provisioner, ProvisionerArgs
from components.servers import Servers, ServersArgs
from providers.network_preflight.resource import WirePreflight, WirePreflightArgs
from providers.provisioner_preflight.resource import ProvisionerPreflight, ProvisionerPreflightArgs
from providers.vip_handoff.resource import VipHandoff, VipHandoffArgs
from providers.vip_held.resource import VipHeld, VipHeldArgs


@dataclass(frozen=True)
class ClusterArgs:
    """Inputs of `Cluster`."""

    plan: ClusterPlan


class Cluster(Component):
    """A bare-metal cluster.

    first:       ProvisionerPreflight, before everything that touches the world
    then:        files ─► every BmcHost ─► WirePreflight
    bootstrap:   WirePreflight ─► BootstrapVm ─► VipHandoff ─► HostProvisioning (control plane)
    production:  WirePreflight, HostProvisioning (control plane) ─► VipHandoff ─► HostProvisioning (compute)
                 ─► VipHeld (Ingress)

    VipHandoff exists from phase bootstrap on, so production always meets it as an update; one that fails stops the
    deletion of what it depended on, the VM.
    """

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("baremetal:cluster:Cluster", name, opts)
        self.plan = args.plan
        child = pulumi.ResourceOptions(parent=self)
        self.preflight = self._preflight()
        self.provisioner = Provisioner(f"{name}-provisioner", ProvisionerArgs(args.plan, [self.preflight]), child)
        self.control_plane = Servers(f"{name}-control-plane", ServersArgs(args.plan, Role.CONTROL_PLANE), child)
        self.compute = Servers(f"{name}-compute", ServersArgs(args.plan, Role.COMPUTE), child)
        self.handoff = self._bootstrap(child) if args.plan.options.phase == "bootstrap" else self._production()
        outputs = {
            "api": f"https://api.{args.plan.domain}:6443",
            "phase": args.plan.options.phase,
            "api_vip_holder": self.handoff.holder,
            "handoff": self.handoff.summary(),
        }
        self.outputs = outputs
        self.register_outputs(outputs)

    def _bootstrap(self, child: pulumi.ResourceOptions) -> VipHandoff:
        bootstrap = Bootstrap(f"{self.name}-bootstrap", BootstrapArgs(self.plan, self.provisioner), child)
        hosts = self._identify(bootstrap.assets)
        handoff = self._handoff(after=[bootstrap.start([self.preflight, *hosts, self._wire(hosts)])])
        self.control_plane.install([handoff])
        return handoff

    def _production(self) -> VipHandoff:
        hosts = self._identify([])
        handoff = self._handoff(after=[self.control_plane.install([]), self._wire(hosts)])
        # The bootstrap's config server refuses the role worker; the control plane's serves it once it has the VIP.
        last = self.compute.install([handoff, *hosts]) if self.plan.compute else handoff
        self._ingress(after=[last])
        return handoff

    def _identify(self, more: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        first = [self.preflight, *more, *self.control_plane.assets, *self.compute.assets]
        self.control_plane.identify(first)
        self.compute.identify(first)
        return [*self.control_plane.hosts.values(), *self.compute.hosts.values()]

    def _preflight(self) -> ProvisionerPreflight:
        name = f"{self.name}-preflight"
        args = ProvisionerPreflightArgs(
            wanted=wanted_of(self.plan, pulumi.get_stack()), urn=self.urn_of(ProvisionerPreflight, name)
        )
        return ProvisionerPreflight(name, args, pulumi.ResourceOptions(parent=self))

    def _wire(self, hosts: Sequence[pulumi.Resource]) -> WirePreflight:
        """After the servers are known: what ran on them before, and was consented to end, is in nobody's way."""
        name = f"{self.name}-wire"
        args = WirePreflightArgs(wanted=wire_wanted_of(self.plan), urn=self.urn_of(WirePreflight, name))
        opts = pulumi.ResourceOptions(parent=self, depends_on=[self.preflight, *hosts])
        return WirePreflight(name, args, opts)

    def _handoff(self, after: Sequence[pulumi.Resource]) -> VipHandoff:
        plan, options = self.plan, self.plan.options
        args = VipHandoffArgs(
            phase=options.phase,
            import_production=options.import_production,
            vips=tuple(map(str, plan.api.addresses)),
            domain=plan.domain,
            bootstrap_name=plan.bootstrap.name,
            bootstrap_mac=plan.bootstrap.mac,
            nodes={server.name: str(server.address) for server in plan.control_plane},
            min_ready=options.handoff.min_ready or len(plan.control_plane),
            libvirt_uri=plan.libvirt_uri,
            stack=pulumi.get_stack(),
            payload_sha256=options.payload.master,
            stable_s=options.handoff.stable_s,
            soak_s=options.handoff.soak_s,
            deadline_s=options.handoff.deadline_s,
            bootstrap_s=options.deadlines.bootstrap_s,
            shutdown_s=options.handoff.shutdown_s,
            urn=self.urn_of(VipHandoff, f"{self.name}-api"),
        )
        return VipHandoff(f"{self.name}-api", args, pulumi.ResourceOptions(parent=self, depends_on=[*after]))

    def _ingress(self, after: Sequence[pulumi.Resource]) -> None:
        """Each family by itself: keepalived may have them on different machines."""
        ingress, holders = self.plan.ingress, self.plan.of(self.plan.ingress_role)
        for vip in ingress.addresses:
            name = f"{self.name}-ingress" if vip == ingress.address else f"{self.name}-ingress-ipv{vip.version}"
            args = VipHeldArgs(
                vip=str(vip),
                nodes={server.name: str(server.address_of(vip.version)) for server in holders},
                deadline_s=self.plan.options.deadlines.ingress_s,
                urn=self.urn_of(VipHeld, name),
            )
            VipHeld(name, args, pulumi.ResourceOptions(parent=self, depends_on=[*after]))
