"""The servers of one role: their files, each one's BMC, and what their installation needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from assets.ignition import composed_sha256, own_config
from assets.render import render_role, render_server
from cli.isos import keyfiles_in
from cluster.plan import ClusterPlan, Role, Server
from components.assets import rendered
from components.component import Component
from providers.bmc_host.resource import BmcHost, BmcHostArgs
from providers.host_provisioning.resource import HostProvisioning, HostProvisioningArgs


@dataclass(frozen=True)
class ServersArgs:
    """Inputs of `Servers`."""

    plan: ClusterPlan
    role: Role


class Servers(Component):
    """The servers of one role, keyed by host name: identified and consented to, not yet installed."""

    def __init__(self, name: str, args: ServersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("baremetal:servers:Servers", name, opts)
        self.plan, self.role = args.plan, args.role
        plan = args.plan
        shared = render_role(plan, args.role)
        child = pulumi.ResourceOptions(parent=self)
        self.assets = rendered(name, shared, child)
        self.ours: dict[str, str] = {}
        self.keyfiles: dict[str, dict[str, str]] = {}
        for server in plan.of(args.role):
            own = render_server(plan, server)
            self.assets += rendered(f"{name}-{server.name}", own, child)
            self.ours[server.name] = own_config([*shared, *own])
            if keyfiles := keyfiles_in(own):
                self.keyfiles[server.name] = keyfiles
        self.hosts: dict[str, BmcHost] = {}
        self.register_outputs({})

    def identify(self, after: Sequence[pulumi.Resource]) -> None:
        """Log in to every BMC. A refused file of any role ends the run before the first one: hence `after`."""
        plan, options = self.plan, self.plan.options
        protect = options.phase == "production" and not options.destroyable
        for server in plan.of(self.role):
            opts = pulumi.ResourceOptions(parent=self, depends_on=[*after], protect=protect)
            args = BmcHostArgs(
                host=server.name,
                bmc_url=server.bmc.address,
                username=server.bmc.username,
                password=pulumi.Output.secret(server.bmc.password.get_secret_value()),
                **{"ca": plan.bmc_ca, **self._trust(server)},
                consent=options.consent[server.name],
                deadline_s=options.deadlines.bmc_s,
                running=options.import_production,
                urn=self.urn_of(BmcHost, server.name),
            )
            self.hosts[server.name] = BmcHost(server.name, args, opts)

    def install(self, after: Sequence[pulumi.Resource]) -> HostProvisioning:
        """Install them all, concurrently. Their first boot fetches its config through the VIP: hence `after`."""
        plan, options = self.plan, self.plan.options
        servers = plan.of(self.role)
        payload = getattr(options.payload, self.role.pool)
        passwords = {server.name: server.bmc.password.get_secret_value() for server in servers}
        args = HostProvisioningArgs(
            role=self.role.value,
            hosts={server.name: self._target(server) for server in servers},
            passwords=pulumi.Output.secret(passwords),
            ca=plan.bmc_ca,
            media_address=str(options.media.address or ""),
            media_port=options.media.port,
            media_url=options.media.url,
            base_iso_sha256=options.media.base_iso.sha256,
            base_iso_url=options.media.base_iso.url,
            ignition_sha256={name: composed_sha256(payload, ours) for name, ours in self.ours.items()},
            ours=pulumi.Output.secret(self.ours),
            keyfiles=pulumi.Output.secret(self.keyfiles),
            payload_sha256=payload,
            reinstall={name: who for name, who in options.reinstall.items() if name in self.hosts},
            unicast=any(vip.transport == "unicast" for vip in plan.vips_of(self.role)),
            stack=pulumi.get_stack(),
            api_name=f"api.{plan.domain}",
            deadline_s=options.deadlines.host_s,
            rows={name: self.urn_of(BmcHost, name) for name in self.hosts},
            urn=self.urn_of(HostProvisioning, self.name),
        )
        opts = pulumi.ResourceOptions(parent=self, depends_on=[*after, *self.hosts.values()])
        return HostProvisioning(self.name, args, opts)

    def _target(self, server: Server) -> dict[str, object]:
        host = self.hosts[server.name]
        return {
            "bmc_url": server.bmc.address,
            "username": server.bmc.username,
            **self._trust(server),
            "address": str(server.address),
            "root_device": server.root_device_hints.device_name,
            "uuid": host.uuid,
            "serial": host.serial,
        }

    def _trust(self, server: Server) -> dict[str, Any]:
        """What is said of one BMC alone: whom to take for it, and whether it wants a session."""
        options = self.plan.options
        login, trust = options.bmc_credentials.get(server.name), options.bmc_trust.get(server.name)
        own = {"ca": trust.ca, "fingerprint": trust.sha256} if trust else {}
        said = {**own, "session": login is not None and login.session}
        verify = server.bmc.verify_tls or trust is not None
        return {"verify": verify, **{key: value for key, value in said.items() if value}}
