"""Give one server a static address: a `networkConfig` in place of its DHCP reservation."""

from ipaddress import IPv4Interface
from typing import Any

import yaml

from cluster.plan import Intent
from lab.inventory import STACK, STATIC
from lab.rehearsal.stack import Stack
from lab.site.network import provisioner_address


def give_own_address(stack: Stack, plan: Intent) -> None:
    """Change install-config.yaml and the options in the copied project, as an operator would."""
    path = stack.project / "stacks" / STACK / "install-config.yaml"
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    (host,) = (host for host in config["platform"]["baremetal"]["hosts"] if host["name"] == STATIC)
    (server,) = (server for server in plan.servers if server.name == STATIC)
    network = provisioner_address(plan)
    host["networkConfig"] = _nmstate(IPv4Interface(f"{server.address}/{network.network.prefixlen}"), network)
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    stack.run("config", "rm", "--path", f"node_addresses.{STATIC}", quiet=True)


def _nmstate(address: IPv4Interface, site: IPv4Interface) -> dict[str, Any]:
    ipv4 = {"enabled": True, "address": [{"ip": str(address.ip), "prefix-length": address.network.prefixlen}]}
    route = {"destination": "0.0.0.0/0", "next-hop-address": str(site.ip), "next-hop-interface": "eth0"}
    return {
        "interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": ipv4}],
        "routes": {"config": [route]},
        "dns-resolver": {"config": {"server": [str(site.ip)]}},
    }
