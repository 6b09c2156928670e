"""The rendered Corefile, served by real CoreDNS and queried over UDP; and each machine as its own resolver."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from assets.render import render_bootstrap, render_role
from boot_media.tools import cache_dir
from cluster.plan import Intent, Role
from cluster.values.role import BOOTSTRAP, MachineRole
from testing import clusters
from testing.namespaces import SBIN, in_own_network, needs_root
from testing.scene.machine import Machine, bridge, machine, until

COREDNS = cache_dir() / "bin" / "coredns"
SITE = """site.test {
    hosts {
        203.0.113.80 www.site.test
        2001:db8::80 www.site.test
    }
}
. {
    template ANY ANY {
        rcode NXDOMAIN
    }
}
"""
FOUR, SIX = {"A": "192.168.111", "AAAA": None}, {"A": None, "AAAA": "fd2e:"}
BOTH = {"A": "192.168.111", "AAAA": "fd2e:"}

pytestmark = needs_root


@contextmanager
def resolver(plan: Intent, role: MachineRole, folder: Path) -> Iterator[Machine]:
    """Run a machine of a role with CoreDNS as its unit starts it, and the site's DNS server."""
    which, files = (
        (plan.bootstrap, render_bootstrap(plan)) if role == BOOTSTRAP else (plan.of(role)[0], render_role(plan, role))
    )
    (folder / "site").write_text(SITE)
    site = plan.machine_networks[0]
    with bridge(plan.machine_networks), machine(folder, plan, which, files) as made:
        command = [str(COREDNS), "-conf", str(folder / "site")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={"PATH": SBIN}) as server:
            (made.folder / "etc/resolv.conf").write_text(f"search site.test\nnameserver {next(site.hosts())}\n")
            made.run("okd-coredns.sh", "5")
            made.start("coredns", COREDNS, "-conf", "/etc/okd-baremetal/Corefile")
            unit = next(file.text for file in files if file.name == "okd-coredns.service")
            made.run(*re.findall(r"^ExecStartPost=(.*)$", unit, re.M)[0].split())
            until("CoreDNS up", lambda: "CoreDNS-" in made.log("coredns"))
            try:
                yield made
            finally:
                server.kill()


def asked(address: str, name: str, kind: str) -> tuple[str, set[str]]:
    """Query for a name, and return the code and addresses of the answer."""
    answer = dns.query.udp(dns.message.make_query(name, kind), address, timeout=10)
    found = {str(each) for rrset in answer.answer for each in rrset}
    return dns.rcode.to_text(answer.rcode()), found


@pytest.mark.parametrize(
    ("name", "families", "role"),
    [
        *(
            (name, families, role)
            for name, families in (("rehearsal", FOUR), ("ipv6", SIX), ("dual-stack", BOTH))
            for role in (BOOTSTRAP, Role.CONTROL_PLANE, Role.COMPUTE)
        ),
        ("arbiter", FOUR, Role.ARBITER),
    ],
)
def test_coredns_answers_the_clusters_names_and_forwards_the_rest(
    name: str, families: dict[str, str | None], role: MachineRole, tmp_path: Path
) -> None:
    plan = clusters.plan(name)
    lasts = {"api": 5, "api-int": 5, "console-openshift-console.apps": 4, "a.b.apps": 4, "okd-worker-1": 25}

    def scenario() -> None:
        with resolver(plan, role, tmp_path) as made:
            for own in made.addresses:
                for kind, prefix in families.items():
                    separator = "." if kind == "A" else ":"
                    for host, last in lasts.items():
                        wanted = {f"{prefix}{separator}{last}"} if prefix else set()
                        assert asked(str(own), f"{host}.okd.lab.test", kind) == ("NOERROR", wanted), (host, kind)
                assert asked(str(own), "okd-worker-1", "A" if families["A"] else "AAAA")[1]
                assert asked(str(own), "www.site.test", "A") == ("NOERROR", {"203.0.113.80"})
                assert asked(str(own), "no.such.test", "A")[0] == "NXDOMAIN"
            first = made.run("getent", "ahosts", "api-int").split()[0]
            assert first in {str(vip) for vip in plan.api.addresses}
            assert "www.site.test" in made.run("getent", "ahosts", "www")

    in_own_network(scenario)


@pytest.mark.parametrize("role", [BOOTSTRAP, Role.CONTROL_PLANE, Role.COMPUTE])
def test_coredns_answers_the_address_of_a_balancer_of_the_site(role: MachineRole, tmp_path: Path) -> None:
    plan = clusters.plan("balancer")

    def scenario() -> None:
        with resolver(plan, role, tmp_path) as made:
            for host in ("api", "api-int", "console-openshift-console.apps"):
                assert asked(str(made.addresses[0]), f"{host}.okd.lab.test", "A") == ("NOERROR", {"10.20.0.100"})
            assert made.run("getent", "ahosts", "api-int").split()[0] == "10.20.0.100"
            assert "www.site.test" in made.run("getent", "ahosts", "www")

    in_own_network(scenario)
