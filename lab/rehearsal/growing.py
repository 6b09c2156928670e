"""A drill of compute that joins a cluster in production, as the documents say."""

from base.yaml_text import parse_yaml, yaml_of
from cluster.plan import Server
from lab.rehearsal.kube_drill import PODS, KubeDrill
from lab.rehearsal.proofs import settle
from lab.rehearsal.refusals import UP
from lab.rehearsal.replacement import LONGEST
from lab.rehearsal.stack import installations
from lab.twin import Twin
from testing.documents import commands

PAGE = "how-to/grow-and-shrink.md"
ENDS_S = 60


class Growing(KubeDrill):
    """The drill of one cluster with a real Kubernetes, whose last server of compute has left."""

    def run(self, twin: Twin) -> None:
        """Have the last server of compute of a twin's install-config join, from which it was removed."""
        server = self.proofs.plan.compute[-1]
        name, client = server.name, self.proofs.kube(self.operator).client
        with self.report.step(f"drill: {name} joins a cluster in production"):
            isos, before = self.stack.iso_digests(), installations(self.stack.log_lines())
            self._add(server, twin)
            made = installations(self.stack.log_lines()) - before
            self.report.prove("installations, by server", wanted={name: 1}, seen=dict(made))
            kept = {host: iso for host, iso in self.stack.iso_digests().items() if host != name}
            self.report.prove("boot ISOs of the others are as before", wanted=True, seen=kept == isos)
            self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
            self.takes_pods(name)
            self.runs_a_pod(client, name)
            client.call("DELETE", f"{PODS}/held")
            left = settle(lambda: len(client.call("GET", PODS)["items"]), (0).__eq__, ENDS_S)
            self.report.prove("pods left of the drill", wanted=0, seen=left, machine=name)
            self.proofs.control_plane_serves()
            self.proofs.ingress_serves()
            self.status.finds_nothing_wrong("with a worker more")
            self.stack.run(*UP, "--expect-no-changes")
        first, again = (sum(steps[name].values()) for steps in (self.report.servers, self.stack.installation_steps()))
        what = f"time to install {name} in production, of its first installation"
        self.report.measure(what, goal=f"under {LONGEST:g}", seen=f"{again / first:.2f}")

    def _add(self, server: Server, twin: Twin) -> None:
        """Do what the page says: the host is back in the file, and the review names it alone."""
        path = self.stack.install_config
        config, (pool,) = parse_yaml(path.read_text()), twin.install_config["compute"]
        hosts = twin.install_config["platform"]["baremetal"]["hosts"]
        config["platform"]["baremetal"]["hosts"] += [host for host in hosts if host["name"] == server.name]
        config["compute"][0]["replicas"] = pool["replicas"]
        path.write_text(yaml_of(config))
        block = commands(PAGE, "node_addresses.<host>[0]")
        text = self.stack.follow(block, host=server.name, address=str(server.address))
        wanted = f"of {server.name} (consent `{self.provisioner.uuid(server)}`), and installs it (compute)"
        self.reads(text, wanted)
