"""What the rehearsal proves of a cluster of platform baremetal, and what makes each proof fail."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from lab import site as lab_site
from lab.inventory import Site, load_site
from lab.nics import machine_mac
from lab.payload.baremetal import OWNERS
from lab.rehearsal import platform, proofs
from lab.rehearsal.platform import PlatformProofs
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report

Consoles = dict[str, list[str]]
MASKED = [f"[   41.2] lab-masks.sh[310]: okd-lab: unit {name} is masked, inactive" for name in OWNERS]
PODS = ["okd-lab: static pod coredns starts", "okd-lab: static pod keepalived is left out: no file"]
NODE = ["okd-lab: services of okd-baremetal here: none"]


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site("platform")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "DEADLINE_S", 0)


def good(site: Site) -> Consoles:
    return {site.plan.bootstrap.name: [*MASKED, *PODS], **{server.name: NODE for server in site.plan.servers}}


@pytest.fixture
def proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Return a function that runs all proofs of a site with these consoles, and returns what they report."""

    def run(site: Site, consoles: Consoles, sent: dict[str, int] | None = None) -> Report:
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.console.side_effect = lambda name: consoles.get(name, [])
        monkeypatch.setattr(lab_site, "foreign_bmc_packets", lambda: sent or {})
        report = Report("platform", folder=tmp_path)
        checks = PlatformProofs(provisioner, report, site)
        checks.masks_the_payload()
        checks.has_no_second_owner()
        return report

    return run


def test_a_cluster_without_a_second_owner_is_proven(site: Site, proven: Callable[..., Report]) -> None:
    report = proven(site, good(site))
    assert [proof.name for proof in report.proofs] == [
        f"units of the payload that are not masked on the bootstrap, of {len(OWNERS)}",
        "static pods of the payload",
        "owners of servers that ran on the bootstrap",
        "services of this program on nodes",
        "packets to BMCs from other machines than the provisioner",
    ]


@pytest.mark.parametrize("unit", OWNERS)
def test_a_unit_that_is_not_masked_fails_the_proof(site: Site, proven: Callable[..., Report], unit: str) -> None:
    consoles = good(site)
    lines = [line.replace("masked, inactive", "loaded, inactive") if f" {unit} " in line else line for line in MASKED]
    consoles[site.plan.bootstrap.name] = [*lines, *PODS]
    with pytest.raises(RehearsalError, match=f"seen {unit} loaded, inactive, wanted none"):
        proven(site, consoles)


@pytest.mark.parametrize(
    ("machine", "line", "seen"),
    [
        pytest.param(
            "platform-bootstrap", "okd-lab: static pod keepalived starts", "'keepalived': 'starts'", id="pod"
        ),
        pytest.param(
            "platform-bootstrap", "okd-lab: keepalived owns the servers", "seen keepalived, wanted none", id="ran"
        ),
        pytest.param(
            "metal-b", f"{NODE[0][:-4]}/usr/local/bin/okd-check.sh", "metal-b /usr/local/bin/okd-", id="node"
        ),
    ],
)
def test_a_line_on_a_console_fails_the_proof(
    site: Site, proven: Callable[..., Report], machine: str, line: str, seen: str
) -> None:
    consoles = good(site)
    consoles[machine] = [*consoles[machine], line]
    with pytest.raises(RehearsalError, match=seen):
        proven(site, consoles)


@pytest.mark.parametrize("machine", ["platform-bootstrap", "metal-d"])
def test_a_machine_that_says_nothing_proves_nothing(site: Site, proven: Callable[..., Report], machine: str) -> None:
    with pytest.raises(RehearsalError, match="unknown"):
        proven(site, {**good(site), machine: []})


def test_one_packet_of_a_machine_to_a_bmc_fails_the_proof(site: Site, proven: Callable[..., Report]) -> None:
    with pytest.raises(RehearsalError, match=r"than the provisioner: seen 1 of 10\.70\.0\.21, wanted none"):
        proven(site, good(site), sent={"10.70.0.21": 1})


def test_on_platform_none_only_packets_to_bmcs_are_proven(proven: Callable[..., Report]) -> None:
    report = proven(load_site("compact"), {})
    assert [proof.name for proof in report.proofs] == ["packets to BMCs from other machines than the provisioner"]


@pytest.mark.parametrize(
    ("stack", "holder", "frozen"),
    [
        pytest.param("platform", "metal-a", "metal-c", id="metal-a-metal-c"),
        pytest.param("platform", "metal-c", "metal-b", id="metal-c-metal-b"),
        pytest.param("single", "only-a", "only-a", id="the-only-one"),
    ],
)
def test_the_node_that_is_frozen_does_not_hold_the_vip(
    stack: str, monkeypatch: pytest.MonkeyPatch, holder: str, frozen: str
) -> None:
    """On platform baremetal all nodes have one rank: any may hold it. A lone node is frozen all the same."""
    site = load_site(stack)
    (server,) = [server for server in site.plan.control_plane if server.name == holder]
    monkeypatch.setattr(proofs, "answering_macs", lambda _: frozenset({machine_mac(server, site.plan)}))
    assert Proofs(site.plan, "", Report("platform")).node_to_freeze().name == frozen
