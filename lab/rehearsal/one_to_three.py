"""A drill of a control plane of one in production, whose two planned spares join it, as the documents say."""

import http.client
from pathlib import Path

from base.yaml_text import parse_yaml, yaml_of
from cluster.plan import Server
from lab.nics import machine_mac
from lab.rehearsal.kube_drill import KubeDrill
from lab.rehearsal.okd_api import CONFIG, OkdApi
from lab.rehearsal.proofs import settle
from lab.rehearsal.refusals import UP, refuse
from lab.rehearsal.segment import answering_macs
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.topology import Topology
from testing.documents import commands

PAGE = "how-to/grow-and-shrink.md"
UNASKED = f"nobody has asked OKD to take its control plane for {Topology.MANY.value}"
SERVED_S = 60
"""Until the API serves a new kind."""


class OneToThree(KubeDrill):
    """The drill of one cluster with a real Kubernetes, in which OKD's own part of the transition is a stand-in."""

    def run(self) -> None:
        """Have the spares join: first nobody has asked OKD for it, then `up` is killed on the way."""
        plan, writer, before = self.proofs.plan, Writer(self.proofs.store()), self.stack.iso_digests()
        only, first, second = (host.name for host in (*plan.control_plane, *plan.spares))
        with self.report.step(f"drill: {only} becomes one of three, with {first} and {second}"):
            writer.start()
            self._wants_three()
            self._takes_for(Topology.ONE)
            refuse(self.stack, self.report, "servers that OKD was not asked for", UNASKED, UP)
            self._takes_for(Topology.ONE, wish=Topology.MANY)
            self.kills_up(first, VirtualCd.step)
            self.stack.run(*UP)
            self._takes_for(Topology.MANY, wish=Topology.MANY)
            self._has_grown(plan.control_plane[0], before)
            writer.stop()
            lost, slowest = writer.lost(), writer.slowest_s
            what = f"acknowledged writes lost while one became three, of {len(writer.acknowledged)}"
            self.report.prove(what, wanted=0, seen=len(lost))
            self.report.measure("seconds that the slowest write took meanwhile", goal="few", seen=f"{slowest:.1f}")
            self.stack.run(*UP, "--expect-no-changes")

    @property
    def _snapshots(self) -> Path:
        return self.stack.project.parent / "snapshots"

    def _wants_three(self) -> None:
        """Do what the page says before `up`: replicas, a place for snapshots, and consent to both."""
        path = self.stack.install_config
        config = parse_yaml(path.read_text())
        config["controlPlane"]["replicas"] = len(config["platform"]["baremetal"]["hosts"])
        path.write_text(yaml_of(config))
        text = self.stack.follow(commands(PAGE, "config set snapshots"), folder=str(self._snapshots))
        joining = self.stack.plan().control_plane[1:]
        names = " and ".join(server.name for server in joining)
        consents = [f"of {server.name} (consent `{self.provisioner.uuid(server)}`)" for server in joining]
        self.reads(text, *consents, f"Adds {names} to etcd while all its members answer")

    def _takes_for(self, status: Topology, wish: Topology | None = None) -> None:
        """Have OKD take the control plane for something, and its administrator want something of it."""
        api = OkdApi(self.proofs.kube(self.operator).client)
        spec = {"controlPlaneTopology": wish.value} if wish else {}
        observed = {"controlPlaneTopology": status.value, "platformStatus": {"type": "None"}}
        named = {"apiVersion": CONFIG, "kind": "Infrastructure", "metadata": {"name": "cluster"}}

        def told() -> str:
            try:
                api.tell_topology({**named, "spec": spec, "status": observed})
            except (OSError, http.client.HTTPException) as error:
                return str(error)
            return ""

        self.report.prove("OKD's word on the control plane", wanted="", seen=settle(told, "".__eq__, SERVED_S))

    def _has_grown(self, only: Server, before: dict[str, str]) -> None:
        """Prove that three are members and nodes, of which the first was left as it was, with the API VIP."""
        proofs = self.proofs.of(self.stack.plan())
        proofs.bootstrap_left_etcd()
        proofs.nodes_are_ready(self.operator, proofs.plan.servers)
        proofs.control_plane_serves()
        proofs.ingress_serves()
        vip = str(proofs.plan.api.address)
        seen = settle(lambda: answering_macs(vip), bool, 10)
        self.report.prove(
            f"{only.name} answers the API VIP", wanted=machine_mac(only, proofs.plan), seen=" and ".join(sorted(seen))
        )
        kept = {name: iso for name, iso in self.stack.iso_digests().items() if name in before}
        self.report.prove("the boot ISO of the first is as before", wanted=True, seen=kept == before)
        saved = any((self._snapshots / self.stack.name).glob("*.db"))
        self.report.prove("etcd was saved before", wanted=True, seen=saved)
        self.status.finds_nothing_wrong("as one of three")
