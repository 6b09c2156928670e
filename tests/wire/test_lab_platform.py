"""The nodes of the lab's payload of platform baremetal, with its files: real keepalived, haproxy and CoreDNS."""

from contextlib import ExitStack
from pathlib import Path

from cluster.plan import Server
from lab.binaries import ensure_binary
from lab.inventory import load_site
from lab.payload import make_payload
from lab.rehearsal.proofs import _resolve
from testing.namespaces import in_own_network, needs_root
from testing.scene.ignited import ignite
from testing.scene.machine import Machine, bridge, machine, until
from testing.scene.operators_node import BEST

pytestmark = needs_root
CONF, RUN = "/etc/lab-baremetal", "/run/lab-baremetal"
NO_UNIT = "no unit"


def ignited(node: Machine, config: str) -> None:
    """Write a node's files, with the folders that systemd and the monitor of keepalived make."""
    (node.folder / RUN[1:]).mkdir()
    ignite(node, config, NO_UNIT)
    node.run("cp", f"/etc/lab/keepalived/{node.addresses[0]}.conf", f"{CONF}/keepalived.conf")


def start_keepalived(node: Machine, vip: object) -> None:
    node.run("/usr/local/bin/lab-keepalived.sh", "5", str(vip))
    node.start("keepalived", "keepalived", "-n", "-l", "-P", "-f", f"{RUN}/keepalived.conf")


def start_dns(node: Machine, domain: str, network: object) -> None:
    (node.folder / "etc/resolv.conf").write_text("nameserver 10.70.0.53\n")
    node.run("/usr/local/bin/lab-coredns.sh", "5")
    node.start("coredns", ensure_binary("coredns"), "-conf", f"{CONF}/Corefile")
    node.run("/usr/local/bin/lab-resolver.sh", domain, str(network))


def test_the_labs_nodes_serve_as_the_operators_do(tmp_path: Path, certificate: str) -> None:
    plan = load_site("platform").plan
    payload = make_payload(load_site("platform"))
    api, ingress = plan.api.address, plan.ingress.address

    def work() -> None:
        with ExitStack() as stack:
            stack.enter_context(bridge(plan.machine_networks))

            def made(server: Server) -> Machine:
                return stack.enter_context(machine(tmp_path, plan, server, ()))

            nodes, (compute,) = [*map(made, plan.control_plane)], [*map(made, plan.compute)]
            for node in nodes:
                ignited(node, payload.role_master)
                node.start_api(certificate)
                node.start_haproxy(CONF)
                start_dns(node, plan.domain, plan.machine_networks[0])
                start_keepalived(node, api)
            ignited(compute, payload.role_worker)
            compute.start("router", "haproxy", "-db", "-f", "/etc/lab/router.cfg")
            start_keepalived(compute, ingress)
            until("all nodes healthy", lambda: all(node.priorities()[-1:] == [BEST] for node in nodes))
            until("the API VIP on one node", lambda: [node.holds(api) for node in nodes].count(True) == 1)
            until("the Ingress VIP on compute", lambda: compute.holds(ingress))
            asked = {
                name: _resolve(str(nodes[0].addresses[0]), f"{name}.{plan.domain}") for name in ("api-int", "x.apps")
            }
            assert asked == {"api-int": {str(api)}, "x.apps": {str(ingress)}}
            assert nodes[0].run("cat", "/etc/resolv.conf").split("nameserver ")[1].strip() == str(
                nodes[0].addresses[0]
            )

    in_own_network(work)
