"""The rehearsal's proofs of a provisioning network: each server fetched its installer once, by its boot method."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from cluster.values.boot_method import BootMethod
from cluster.values.role import Role
from lab.inventory import Site, load_site
from lab.rehearsal import network_boot
from lab.rehearsal.network_boot import FETCHED, IN_MEMORY, READY, NetworkBootProofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Outcome, Stack

WORDS = {BootMethod.IPXE: [f"okd-lab{FETCHED}"], BootMethod.UEFI_HTTP: [f"okd-lab{IN_MEMORY}0"]}
PROXY = {Role.CONTROL_PLANE: "172.22.0.7", Role.COMPUTE: "172.22.0.8"}
"""stacks/managed: the bootstrap VM's address and the VIP, on the provisioning network."""
PROMPT = "Press Ctrl-B for the iPXE command line..." + "\b \b" * 41
"""As iPXE takes it back: 41 characters of the line by three each, on the console's file."""
FOREIGN = "52:54:00:00:00:99"
Consoles = dict[str, list[str]]


@pytest.fixture(scope="module")
def site() -> Site:
    """A site whose servers boot by iPXE, from a virtual CD and by UEFI HTTP."""
    return load_site("managed")


def named(site: Site, method: BootMethod) -> str:
    return [server.name for server in site.plan.servers if server.boot_method is method][-1]


@pytest.fixture
def proofs(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NetworkBootProofs]:
    """Return a function that makes the proofs for consoles that a reboot makes longer by some lines."""

    def make(consoles: Consoles, after_reboot: tuple[str, ...] = (), outcome: Any = None) -> NetworkBootProofs:
        provisioner, stack = create_autospec(Provisioner, instance=True), create_autospec(Stack, instance=True)
        provisioner.console.side_effect = lambda name: list(consoles[name])
        provisioner.boot_from_network.side_effect = lambda server: consoles[server.name].extend(after_reboot)
        stack.try_run.return_value = outcome

        @contextmanager
        def foreign_dhcp(_: Site) -> Iterator[str]:
            yield FOREIGN

        monkeypatch.setattr(network_boot, "foreign_dhcp", foreign_dhcp)
        monkeypatch.setattr(network_boot, "settle", lambda measure, _is_wanted, _deadline_s: measure())
        return NetworkBootProofs(provisioner, stack, Report("managed", folder=tmp_path), site)

    return make


def good(site: Site) -> Consoles:
    return {
        server.name: [
            f"okd-lab: initrd 6.27 s: fetches http://{PROXY[server.role]}:6180/a1/{server.name}/rootfs.img, has none",
            *WORDS.get(server.boot_method, []),
            f"{READY}1",
        ]
        for server in site.plan.servers
    }


def test_servers_that_fetched_once_are_proven(site: Site, proofs: Callable[..., NetworkBootProofs]) -> None:
    found = proofs(good(site))
    found.fetched_once()
    assert [proof.name for proof in found.report.proofs] == [
        "live systems fetched over the network",
        "live systems fetched by UEFI HTTP",
        "live systems were fetched from",
    ]


def test_a_server_that_fetched_from_another_one_fails(site: Site, proofs: Callable[..., NetworkBootProofs]) -> None:
    consoles, name = good(site), named(site, BootMethod.IPXE)
    consoles[name] = [line.replace(PROXY[Role.COMPUTE], "10.50.0.2") for line in consoles[name]]
    with pytest.raises(RehearsalError, match=f"fetched from.*{name} http://10.50.0.2:6180"):
        proofs(consoles).fetched_once()


@pytest.mark.parametrize("method", WORDS)
@pytest.mark.parametrize("times", [0, 2])
def test_a_server_that_fetched_never_or_twice_fails(
    method: BootMethod, times: int, site: Site, proofs: Callable[..., NetworkBootProofs]
) -> None:
    consoles = good(site)
    consoles[named(site, method)] = WORDS[method] * times
    with pytest.raises(RehearsalError, match=f"{named(site, method)} {times}"):
        proofs(consoles).fetched_once()


@pytest.mark.parametrize("method", WORDS)
def test_a_server_with_a_virtual_cd_that_fetched_fails(
    method: BootMethod, site: Site, proofs: Callable[..., NetworkBootProofs]
) -> None:
    consoles = good(site)
    consoles[named(site, BootMethod.VIRTUAL_CD)] += WORDS[method]
    with pytest.raises(RehearsalError, match="live systems fetched"):
        proofs(consoles).fetched_once()


@pytest.mark.parametrize(
    ("lines", "fails"),
    [((f"{READY}2",), ""), ((), "boots from its disk"), ((WORDS[BootMethod.IPXE][0], f"{READY}2"), "fetched in all")],
    ids=["from-its-disk", "not-at-all", "installs-again"],
)
def test_an_installed_server_boots_its_disk(
    lines: tuple[str, ...], fails: str, site: Site, proofs: Callable[..., NetworkBootProofs]
) -> None:
    found = proofs(good(site), lines)
    if fails:
        with pytest.raises(RehearsalError, match=fails):
            found.reboots_from_disk()
    else:
        found.reboots_from_disk()
        assert len(found.report.proofs) == 2


@pytest.mark.parametrize("stack", ["balancer", "unmanaged"])
@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (f'{PROMPT}BdsDxe: failed to start Boot0005 "UEFI PXEv4 (MAC:52540051000D) 2" from PciRoot(0x0)', True),
        (f'{PROMPT}BdsDxe: failed to load Boot0008 "UEFI PXEv4 (MAC:525400E3B7DF)" from PciRoot(0x0)', True),
        (f"{PROMPT}net0: 52:54:00:51:00:0d using SNP on SNP-0000:01:00.0 (open)", False),
        (f"{READY}2", False),
    ],
    ids=["iPXE-failed", "next-has-nothing", "iPXE-goes-on", "boots-its-disk"],
)
def test_a_uefi_goes_on(stack: str, line: str, holds: bool, proofs: Callable[..., NetworkBootProofs]) -> None:
    """A disk that its firmware came to without iPXE would prove nothing. The lines are copied from consoles."""
    site = load_site(stack)
    found = replace(proofs(good(site), (line,)), site=site)
    with nullcontext() if holds else pytest.raises(RehearsalError, match="goes on"):
        found.reboots_from_disk()


@pytest.mark.parametrize(("mac", "holds"), [(FOREIGN, True), ("52:54:00:00:00:98", False)])
def test_the_refusal_names_the_card_of_the_other_dhcp_server(
    mac: str, holds: bool, proofs: Callable[..., NetworkBootProofs]
) -> None:
    found = proofs({}, outcome=Outcome(255, f"Diagnostics:\n    error: {mac} offers addresses\n"))
    if holds:
        found.refuses_foreign_dhcp()
        assert found.report.proofs
    else:
        with pytest.raises(RehearsalError):
            found.refuses_foreign_dhcp()
