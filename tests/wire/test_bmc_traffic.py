"""Who reaches a BMC of the lab, by any port: what the rehearsal counts to prove that only the provisioner does."""

import subprocess
import sys

import pytest

from lab.inventory import load_site
from lab.site.bmc_traffic import READ, packets, rules
from testing.namespaces import SBIN, in_own_network, ip, needs_root, neighbour

pytestmark = needs_root
MAC = "52:54:00:70:00:0a"
UDP = "import socket; socket.socket(socket.{}, socket.SOCK_DGRAM).sendto(b'?', ('{}', {}))"
TCP = "import socket; socket.socket(socket.{}).connect_ex(('{}', {}))"


def run(*command: str, stdin: str = "") -> str:
    done = subprocess.run(command, input=stdin, check=True, capture_output=True, text=True, env={"PATH": SBIN})
    return done.stdout


@pytest.mark.parametrize(
    ("stack", "family", "node", "own"),
    [("platform", "AF_INET", "10.70.0.21", "10.70.0.2"), ("ipv6", "AF_INET6", "fd60:0:0:1::21", "fd60:0:0:1::2")],
)
def test_each_packet_to_a_bmc_counts_but_the_provisioners_own(stack: str, family: str, node: str, own: str) -> None:
    site = load_site(stack)
    bmc = str(next(bmc.address for bmc in site.bmcs.values()))
    length, version = (24, "-4") if family == "AF_INET" else (64, "-6")

    def sent(*prefix: str) -> dict[str, int]:
        """Send to IPMI, Redfish and another port, of the BMC and of the provisioner; return all that has counted."""
        for program, port in ((UDP, 623), (TCP, 443), (UDP, 9)):
            for address in (bmc, own):
                run(*prefix, sys.executable, "-c", program.format(family, address, port))
        return packets(run(*READ))

    def scenario() -> None:
        for bridge, address in (("lan", f"{own}/{length}"), ("bmc", f"{bmc}/{length}")):
            ip(f"link add {bridge} type bridge forward_delay 0")
            ip(f"address add {address} dev {bridge}{' nodad' if ':' in address else ''}")
            ip(f"link set {bridge} up")
        run("nft", "-f", "-", stdin=rules(site))
        with neighbour("lan", "port", MAC, f"{node}/{length}") as inside:
            run(*inside, "ip", version, "route", "add", "default", "via", own)
            assert sent() == {}
            assert sent(*inside) == {node: 3}
            run("nft", "-f", "-", stdin=rules(site))  # as `up` of a lab that is up
            assert sent(*inside) == {node: 6}

    in_own_network(scenario)
