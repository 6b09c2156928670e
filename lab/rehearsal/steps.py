"""The steps of the rehearsal, in an operator's order."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from assets.render import render
from cli.runs import chart
from cluster.plan import ClusterPlan
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform
from lab import site
from lab.inventory import STACK, Site
from lab.rehearsal.balancer import BalancerProofs
from lab.rehearsal.kube import Operator
from lab.rehearsal.network_boot import NetworkBootProofs
from lab.rehearsal.objects import ObjectProofs
from lab.rehearsal.okd import Okd
from lab.rehearsal.operators import Operators
from lab.rehearsal.platform import PlatformProofs
from lab.rehearsal.preflight import refuse_each_fault
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner, Settings
from lab.rehearsal.refusals import refuse, refuse_all
from lab.rehearsal.report import Report, say
from lab.rehearsal.servers import ServerProofs
from lab.rehearsal.stack import OnLine, Stack, installations, tally
from lab.rehearsal.status import StatusProofs
from lab.rehearsal.writer import AT_REST_S, EVERY_S, Writer
from payload.reading import payload_ca
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.vip_handoff.engine import NOT_ASKED

# Compute's BMCs and files exist since phase bootstrap: production adds its installation, the proof of its VIP, and
# what guards the cluster.
# HostProvisioning and Machines have that etcd is asked, from then on, before the control plane is wiped again.
EXPECTED_PREVIEW = {
    STACK: "create ClusterPower, create DestroyGuard, create HostProvisioning, create VipHeld, delete BootstrapVm, "
    "delete 19 RenderedAsset, update HostProvisioning, update Machines, update NetworkPreflight, "
    "update ProvisionerPreflight, update VipHandoff",
}
"""By stack: the changes to its resources in phase production."""
WRITE_S = 30.0
"""The VIP leaves in 8 s (ADR 69). Then etcd elects another leader, for whom every API is unready and haproxy ends its
connections: 5 s or more for emulated members, so a retry fails as well. Of two that are fenced, both start again.
"""
PROOFS = {Balancer.CLUSTER: Proofs, Balancer.OPERATOR: Proofs, Balancer.SITE: BalancerProofs}
"""By balancer: the proofs of which machine serves."""
TEMPLATES_OF_ALL_ROLES = {
    ClusterPlatform.NONE: "common/okd-coredns.sh.j2",
    ClusterPlatform.BAREMETAL: "common/chrony.conf.j2",
}
"""By platform: a template that is rendered for each role."""


@dataclass
class Rehearsal:
    """One run of the whole rehearsal."""

    provisioner: Provisioner
    stack: Stack
    plan: ClusterPlan
    report: Report
    wanted: Site
    settings_before: dict[str, Settings] = field(default_factory=dict)
    volumes_before: set[str] = field(default_factory=set)
    ready: dict[str, str] = field(default_factory=dict)
    """The time since which each node with etcd was Ready, at the end of phase bootstrap."""

    @property
    def payload(self) -> Path:
        """The payload folder of the copied project."""
        return self.stack.project / "stacks" / self.stack.name / "payload"

    @property
    def proofs(self) -> Proofs:
        """Proofs that trust the payload's CA."""
        ca_pem = payload_ca((self.payload / "master.ign").read_bytes())
        return PROOFS[self.plan.balancer](self.plan, ca_pem, self.report, self.operator)

    @property
    def operator(self) -> Operator | None:
        """The operator's access to the payload's Kubernetes. None: etcd stands in for the API."""
        kubeconfig = self.payload / "auth" / "kubeconfig"
        return Operator.of(kubeconfig) if kubeconfig.exists() else None

    @cached_property
    def writer(self) -> Writer:
        """Writes through the VIP from the end of phase bootstrap on; with a real Kubernetes, from its start on."""
        return Writer(self.proofs.store())

    @cached_property
    def okd(self) -> Okd | None:
        """The operators of an OKD of platform baremetal. None: nothing asks them."""
        return self.proofs.okd(self.operator) if self.operator and self.wanted.is_baremetal else None

    @cached_property
    def operators(self) -> Operators | None:
        """OKD's operators, of which platform none has that of etcd. None: etcd stands in for the API."""
        return self.okd or (self.proofs.etcd_operator(self.operator) if self.operator else None)

    @property
    def objects(self) -> ObjectProofs | None:
        """Proofs of the objects of servers. None: the stack has none."""
        if self.okd is None or self.plan.options.wait != "install":
            return None
        return ObjectProofs(self.okd, self.stack, self.plan, self.report)

    def preflight_refuses(self) -> None:
        """Prove that the preflight refuses each fault of a provisioner."""
        with self.report.step("the preflight refuses each fault"):
            refuse_each_fault(
                ProvisionerPreflightSpec.of(self.plan, self.stack.name, render(self.plan).paths),
                self.stack.project,
                self.report,
            )

    def record_settings(self) -> None:
        """Record the settings and volumes that `destroy` must restore."""
        self.settings_before, self.volumes_before = self.provisioner.bmc_settings(), self.provisioner.volumes()

    def mistakes_are_refused(self) -> None:
        """Prove that each mistake is refused before any machine runs."""
        with self.report.step("each mistake is refused"):
            refuse_all(self.stack, self.report)
            running = ", ".join(sorted(self.provisioner.running())) or "none"
            self.report.prove("machines running after all mistakes", wanted="none", seen=running)

    @property
    def servers(self) -> ServerProofs:
        """Proofs of what each server was installed as."""
        return ServerProofs(self.provisioner, self.stack, self.report, self.wanted)

    @property
    def network_boot(self) -> NetworkBootProofs:
        """Proofs of the provisioning network."""
        return NetworkBootProofs(self.provisioner, self.stack, self.report, self.wanted)

    @property
    def platform(self) -> PlatformProofs:
        """Proofs of the cluster's platform."""
        return PlatformProofs(self.provisioner, self.report, self.wanted)

    @property
    def status(self) -> StatusProofs:
        """Proofs of what an operator is told."""
        return StatusProofs(self.stack, self.report, etcd_is_reported=self.operators is not None)

    def bootstrap(self) -> None:
        """Run and prove phase bootstrap. With a real Kubernetes, the VIP moves by itself."""
        if self.operator:
            self.writer.start()
        with self.report.step("pulumi up, phase bootstrap"):
            self.stack.run("up", "--yes", "--skip-preview")
        with self.report.step("proofs of phase bootstrap"):
            nodes, members = self.plan.control_plane, self.plan.holders_of_etcd
            if self.operator:
                self.proofs.vip_left_the_bootstrap()
                self.ready = self.proofs.nodes_are_ready(self.operator, members)
                what = f"writes that failed after one retry while the VIP left, of {len(self.writer.acknowledged)}"
                for problem in self.writer.problems:
                    say(f"    the writer met: {problem}")
                self.report.measure(what, goal="few", seen=len(self.writer.problems))
                slowest, what = self.writer.slowest_s, "seconds that the slowest write took while the VIP left"
                wanted = f"under {WRITE_S:g}"
                self.report.prove(what, wanted=wanted, seen=f"{slowest:.1f}", holds=slowest < WRITE_S)
            else:
                self.proofs.bootstrap_serves()
                self.proofs.control_plane_joined()
            self.proofs.first_boots("/config/master", nodes, self._config_servers_console)
            if self.plan.arbiters:
                self.proofs.first_boots("/config/arbiter", self.plan.arbiters, self._config_servers_console)
            self.proofs.site_dns_has_only_needed_names(str(self.wanted.provisioners[0].ip))
            self.platform.masks_the_payload()
            if self.operators:
                self.operators.start()
            self.status.finds_nothing_wrong("in phase bootstrap")
            if not self.operator:
                self.writer.start()

    def preview(self) -> None:
        """Prove that the preview shows what production will change."""
        self.stack.configure(phase="production")
        with self.report.step("pulumi preview, phase production"):
            began = time.monotonic()
            changes = self.stack.preview()
            seconds = time.monotonic() - began
        for name, operation in sorted(changes.items(), key=lambda item: item[1]):
            say(f"    {operation:7} {name}")
        if expected := EXPECTED_PREVIEW.get(self.stack.name):
            self.report.prove("preview shows", wanted=expected, seen=tally(changes))
        self.report.measure("preview beside running VMs, s", goal="under 3", seen=f"{seconds:.1f}")

    def gate_refuses(self) -> None:
        """Prove that the gate refuses a control plane that is not ready, and leaves VIP and VM untouched."""
        node = self.proofs.node_to_freeze().name
        self.writer.every_s = EVERY_S
        with self.report.step("the gate refuses while a control-plane node hangs"):
            self.stack.configure(handoff={"deadline_s": 4})
            self.provisioner.suspend(node)
            outcome = self.stack.try_run("up", "--yes", "--skip-preview")
            self.proofs.serves_while_hung(node)
            self.provisioner.resume(node)
            self.stack.configure(handoff={"deadline_s": 120})
            lines = [line.strip() for line in outcome.text.splitlines() if "HandoffUnsafeError" in line]
            refused = outcome.code != 0 and bool(lines) and node in lines[0] and "gate" in lines[0]
            self.report.prove(
                "handoff refused at the gate", wanted="one line", seen=lines[0] if lines else "", holds=refused
            )
            running = self.plan.bootstrap.name in self.provisioner.running()
            self.report.prove("bootstrap VM still runs", wanted=True, seen=running)
            if self.operator:
                self.proofs.serves_again()
            else:
                self.proofs.bootstrap_serves()

    def production(self) -> None:
        """Run and prove phase production: the handoff, compute, the Ingress VIP."""
        self.report.measure(
            "memory of the VMs of phase bootstrap, MiB", goal="under 4096", seen=self.provisioner.memory_mib()
        )
        with self.report.step("pulumi up, phase production"):
            self.proofs.hand_over(self._up_in_production)
        with self.report.step("proofs of phase production"):
            self._prove_handoff()
            self.proofs.control_plane_serves()
            self.proofs.ingress_serves()
            if self.plan.compute:
                self.proofs.first_boots("/config/worker", self.plan.compute, self._config_servers_console)
            self.servers.have_the_disks_of_their_hints()
            self.servers.booted_by_their_firmware()
            self.network_boot.fetched_once()
            self.servers.have_their_addresses()
            self.proofs.clocks_follow_the_time_servers(self.provisioner.console)
            self.proofs.bootstrap_left_etcd()
            self._no_write_lost()
            if self.operator:
                self._stayed_ready(self.operator)
            self._no_trace()
            self.platform.has_no_second_owner()
            if self.objects:
                self.objects.are_linked()
                self.objects.routers_are_trusted()
            self.status.finds_nothing_wrong("in production")
            self.report.servers = self.stack.installation_steps()
        self.report.measure(
            "memory of the VMs of production, MiB", goal="under 4096", seen=self.provisioner.memory_mib()
        )

    def _up_in_production(self, watch: OnLine) -> None:
        """Run `up`. The writer rests once the bootstrap has left etcd, while compute is installed."""

        def on_line(line: str, pid: int) -> None:
            watch(line, pid)
            if VirtualCd.step in line and self.writer.every_s < AT_REST_S and self.proofs.has_left_etcd():
                self.writer.every_s = AT_REST_S

        self.stack.run("up", "--yes", "--skip-preview", on_line=on_line)

    def nothing_changes(self) -> None:
        """Prove that a second `up`, a refresh, and one more byte in each role's files touch no server."""
        with self.report.step("second up, refresh, one byte changed per role"):
            self.stack.run("up", "--yes", "--skip-preview", "--expect-no-changes")
            self.report.prove("second up", wanted="no changes", seen="no changes")
            self.stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
            self.report.prove("refresh", wanted="no drift", seen="no drift")
            self.stack.configure(phase="bootstrap")
            refuse(
                self.stack,
                self.report,
                "back to phase bootstrap",
                "a cluster in production cannot go back to bootstrap",
            )
            self.stack.configure(phase="production")
            path = self.stack.project / "assets" / TEMPLATES_OF_ALL_ROLES[self.plan.platform]
            path.write_text(path.read_text() + "#\n")
            before = site.bmc_writes()
            self.stack.run("up", "--yes", "--skip-preview")
            after = site.bmc_writes()
            self.report.prove("writes to BMCs after one byte changed per role", wanted=0, seen=after - before)

    def secrets(self) -> None:
        """Prove that state and logs contain no secret of the site, and that the logs record each installation."""
        passwords = {server.bmc.password.get_secret_value() for server in self.plan.servers}
        text, lines = self.stack.state_text(), self.stack.log_lines()
        leaked = [word for word in (*passwords, "PRIVATE KEY") if word in text]
        self.report.prove("secrets in the state in the clear", wanted=0, seen=len(leaked))
        # The path of a boot ISO is secret, too.
        words = (*passwords, *self.stack.iso_digests().values(), "PRIVATE KEY", "Authorization", "data:;base64")
        leaked = [word for word in words if any(word in line["text"] for line in lines)]
        self.report.prove("secrets in the logs of the runs", wanted=0, seen=len(leaked))
        done = installations(lines)
        names = [server.name for server in self.plan.servers]
        seen = ", ".join(name for name in names if name in done)
        self.report.prove("installed according to the logs of the runs", wanted=", ".join(names), seen=seen)

    def serves_without_provisioner(self) -> None:
        """Prove that the cluster serves without libvirtd, the BMC emulator and the program."""
        with self.report.step("provisioner switched off"):
            site.stop_provisioner_services()
            self.proofs.answers_without_provisioner()
            self.status.misses_the_bmcs({host.name for host in self.plan.hosts})
            self.provisioner.start_services()

    def mistaken_destroy_is_refused(self) -> None:
        """Prove that `pulumi destroy` deletes nothing unless the stack is `destroyable`."""
        with self.report.step("pulumi destroy by mistake"):
            self.stack.configure(destroyable=False)
            self.stack.run("up", "--yes", "--skip-preview")
            before = self.stack.resources()
            self.stack.try_run("destroy", "--yes", "--skip-preview")
            deleted = before - self.stack.resources()
            self.report.prove("resources that a destroy by mistake deleted", wanted=0, seen=deleted)
            self.stack.configure(destroyable=True)
            self.stack.run("up", "--yes", "--skip-preview")

    def destroy(self) -> None:
        """Destroy the stack, and prove that settings and volumes are as before."""
        with self.report.step("pulumi destroy"):
            self.stack.run("destroy", "--yes", "--skip-preview")
        with self.report.step("proofs of destroy"):
            self.report.prove(
                "servers running", wanted="none", seen=", ".join(sorted(self.provisioner.running())) or "none"
            )
            settings = self.provisioner.bmc_settings()
            restored = sum(settings[name] == before for name, before in self.settings_before.items())
            total = len(self.settings_before)
            self.report.prove(
                "boot override, boot mode and media as found",
                wanted=f"{total} of {total}",
                seen=f"{restored} of {total}",
            )
            self.report.prove("resources in the stack", wanted=0, seen=self.stack.resources())
            left = self.provisioner.volumes() - self.volumes_before
            self.report.prove("volumes left in the pool", wanted="none", seen=", ".join(sorted(left)) or "none")

    def _prove_handoff(self) -> None:
        handoff = self.stack.outputs()["handoff"]
        for line in chart.text(handoff).splitlines():
            say(f"    {line}")
        self.report.chart = chart.svg(handoff)
        clients = handoff["clients"]
        tried, failed = int(clients["connects_tried"]), int(clients["connects_failed"])
        self.report.prove(f"TCP connects failed, of {tried}", wanted=0, seen=failed)
        requests, lost = int(clients["requests_tried"]), int(clients["requests_failed_after_retry"])
        for problem in clients["problems"]:
            say(f"    a client of the VIP met: {problem}")
        self.report.prove(f"HTTPS requests failed after one retry, of {requests}", wanted=0, seen=lost)
        broken = int(clients["connects_broken_in_flight"])
        self.report.measure("TCP connects accepted, then reset by the move", goal="few", seen=broken)
        broken = int(clients["requests_broken_in_flight"])
        self.report.measure("HTTPS requests broken in flight, well after one retry", goal="few", seen=broken)
        self.report.measure("longest gap between connects, ms", goal="under 50", seen=int(handoff["gap_ms"]))
        wanted = "complete" if self.operator else NOT_ASKED
        self.report.prove("completion of the payload", wanted=wanted, seen=handoff["completion"])

    def _config_servers_console(self) -> list[str]:
        servers = (self.plan.bootstrap, *self.plan.control_plane)
        return [line for server in servers for line in self.provisioner.console(server.name)]

    def _no_write_lost(self) -> None:
        self.writer.stop()
        lost = self.writer.lost()
        what = f"acknowledged writes lost, of {len(self.writer.acknowledged)} ({self.writer.retries} retries)"
        self.report.prove(what, wanted=0, seen=len(lost))

    def _stayed_ready(self, operator: Operator) -> None:
        """Prove that all servers are Ready, and that no node has been NotReady since the end of phase bootstrap."""
        since = self.proofs.nodes_are_ready(operator, self.plan.servers)
        changed = [name for name, time in self.ready.items() if since[name] != time]
        self.report.prove("nodes that were NotReady in between", wanted="none", seen=", ".join(changed) or "none")

    def _no_trace(self) -> None:
        name = self.plan.bootstrap.name
        listed = self.provisioner.domains() | self.provisioner.volumes()
        traces = {trace for trace in listed if trace.startswith(name)}
        self.report.prove("traces of the bootstrap VM in libvirt", wanted="none", seen=", ".join(traces) or "none")
