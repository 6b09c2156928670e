"""Start and stop the site of a twin: network, libvirt, BMCs and powered-off servers."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from base.clock import SYSTEM_CLOCK, Wait
from base.lock import locked
from boot_media.base_image import base_path
from lab.inventory import Site
from lab.paths import (
    BMC_POOL,
    CONSOLE,
    DISKS,
    DNS,
    FILES,
    KEPT,
    LIBVIRT_URI,
    LOCK,
    LOG,
    MARKS,
    NAMESPACE,
    PID,
    POOL,
    RESERVED,
    ROOT,
    STACK_UP,
)
from lab.shell import LabError, run
from lab.site import balancer, bmc, bmc_traffic, chronyd, libvirtd, network, provisioning
from lab.site.console import console_tail
from lab.site.processes import environment
from lab.twin import PASSWORD
from providers.mark_file import marks_folder

__all__ = [
    "SiteStatus",
    "bmc_ca",
    "bmc_writes",
    "change_bmcs",
    "console_tail",
    "down",
    "exec_command",
    "foreign_bmc_packets",
    "keep",
    "refuse_another",
    "replace_bmcs",
    "replace_board",
    "reserved",
    "stack_up",
    "stop_provisioner_services",
    "up",
]

Report = Callable[[str], None]
# In the order in which to stop them.
_DAEMONS = (
    bmc.over_ipmi,
    bmc.front,
    bmc.daemon,
    libvirtd.daemon,
    balancer.daemon,
    chronyd.daemon,
    provisioning.daemon,
    network.dnsmasq,
)
# Only some stacks have these daemons; their config exists then.
_CONFIGS = {
    balancer.daemon: balancer.CONFIG,
    provisioning.daemon: provisioning.CONFIG,
    **bmc.CONFIGS,
}


class SiteImages(Protocol):
    """The attributes of `lab.images.Images` that the site uses."""

    @property
    def iso(self) -> Path:
        """The live ISO."""

    @property
    def iso_sha256(self) -> str:
        """SHA-256 of the live ISO."""

    @property
    def base_volume(self) -> Path:
        """The bootstrap VM's disk."""

    @property
    def chronyd(self) -> Path:
        """The guests' chronyd."""


@dataclass(frozen=True)
class SiteStatus:
    """The parts of the site, present or missing."""

    namespace: bool
    daemons: dict[str, int | None]
    """Process id by name; None if not running."""
    power: dict[str, str] = field(default_factory=dict)
    """On or Off by machine."""

    @property
    def is_up(self) -> bool:
        """Whether all parts run."""
        return self.namespace and all(self.daemons.values())


def up(site: Site, images: SiteImages, report: Report) -> None:
    """Start all missing parts of a site; safe to repeat, also after a crash. What is left of another one goes.

    Raises:
        LabError: A part did not start; the others remain, for inspection or for `down`.
    """
    start, stack = time.monotonic(), site.twin.stack
    with _site_locked():
        refuse_another(stack)
        if network.namespace_exists() and stack_up() != stack:
            _take_down()
        if not network.namespace_exists():
            # On the first run, or after a reboot: the folders belong to servers that no longer exist.
            _stop_daemons()
            _remove_state()
            shutil.rmtree(LOG, ignore_errors=True)
        for folder in (POOL, BMC_POOL, DISKS, CONSOLE, DNS, PID, LOG):
            folder.mkdir(parents=True, exist_ok=True)
        STACK_UP.write_text(stack)
        _offer_iso(images)
        network.ensure_network(site)
        bmc_traffic.ensure_counted(site)
        network.ensure_dnsmasq(site)
        provisioning.ensure_provisioning(site)
        chronyd.ensure_chronyd(images.chronyd)
        balancer.ensure_balancer(site)
        started = libvirtd.ensure_libvirtd()
        libvirtd.ensure_base_volume(images.base_volume)
        libvirtd.ensure_servers(site)
        bmc.ensure_bmcs(site, restart=started)
    bmcs, spent = len({(it.address, it.port) for it in site.bmcs.values()}), time.monotonic() - start
    report(f"lab: {len(site.uuids)} servers, {bmcs} listening BMC{'s' * (bmcs > 1)}, {spent:.1f} s spent")


def down(report: Report) -> None:
    """Stop every machine and process of the site, and remove its files except logs; safe to repeat."""
    start = time.monotonic()
    with _site_locked():
        _take_down()
    report(f"lab: down after {time.monotonic() - start:.1f} s; logs are in {LOG}")


def refuse_another(stack: str) -> None:
    """Refuse a stack while the twin of another one is kept. What a killed rehearsal has left is nobody's.

    Raises:
        LabError: It is.
    """
    if network.namespace_exists() and KEPT.exists() and (other := stack_up()) != stack:
        fix = f"run `{sys.executable} -m lab down`, which removes its machines, then run this again"
        raise LabError(f"the lab has the twin of {other}. Fix: when nobody needs it, {fix}")


def keep() -> None:
    """Have the site stay up until somebody takes it down."""
    KEPT.touch()


@contextmanager
def reserved() -> Iterator[None]:
    """Reserve the lab for this process, so that no other rehearsal, `up` or `down` touches its machines meanwhile.

    Raises:
        LabError: This process is not root, or another one has reserved it.
    """
    with _locked(RESERVED, "another rehearsal, or `python -m lab`, has the lab"):
        yield


def status() -> SiteStatus:
    """Return the present state of the site."""
    expected = [daemon for daemon in _DAEMONS if daemon not in _CONFIGS or _CONFIGS[daemon].exists()]
    daemons = {daemon.name: daemon.pid for daemon in expected}
    power = libvirtd.power_states() if libvirtd.daemon.pid else {}
    return SiteStatus(network.namespace_exists(), daemons, power)


def exec_command(command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command line and environment that run `command` inside the site, as on its provisioner.

    The twin has the addresses of its stack, of which this machine may be the provisioner: each has marks of its own.

    Raises:
        LabError: The site is not up.
    """
    if not network.namespace_exists():
        raise LabError("the lab is not up. Fix: run `python -m lab up` first")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    env = {**environment(), "LIBVIRT_DEFAULT_URI": LIBVIRT_URI, "PATH": path}
    inside = ["ip", "netns", "exec", NAMESPACE, str(FILES / "bound.sh"), str(MARKS), str(marks_folder())]
    return [*inside, *command], env


def stop_provisioner_services() -> None:
    """Stop the BMCs and libvirtd, as if the provisioner were off; machines keep running. `up` starts both."""
    with _site_locked():
        for daemon in (bmc.over_ipmi, bmc.front, bmc.daemon, libvirtd.daemon):
            daemon.stop()


def change_bmcs(site: Site, *, password: str = PASSWORD, dead: Container[str] = ()) -> None:
    """Give all BMCs a password, and have those of the servers `dead` not answer."""
    with _site_locked():
        bmc.change(site, password=password, dead=dead)


def replace_board(site: Site, name: str) -> None:
    """Have a server off, with the board that it has in this site; DHCP and its BMC know that."""
    with _site_locked():
        libvirtd.replace_board(site, name)
        network.forget_leases()
        network.ensure_dnsmasq(site)
        bmc.ensure_bmcs(site, restart=False)


def replace_bmcs(site: Site) -> None:
    """Have the BMCs that this site has; those in whose place they are answer no more."""
    with _site_locked():
        network.ensure_network(site)
        bmc_traffic.ensure_counted(site)
        bmc.ensure_bmcs(site, restart=False)


def bmc_writes() -> int:
    """Return the number of changing requests to the BMC since the lab came up."""
    return bmc.writes().total()


def foreign_bmc_packets() -> dict[str, int]:
    """Return the number of packets to a BMC since the lab came up, by the address of each machine that sent some."""
    return bmc_traffic.foreign_packets()


def bmc_ca() -> str:
    """Return the PEM of the CA that signed the BMCs' certificate, for the stack's config."""
    return bmc.CA.read_text()


def stack_up() -> str:
    """Return the name of the stack whose twin is up."""
    try:
        return STACK_UP.read_text()
    except FileNotFoundError:
        return "another stack"


def _offer_iso(images: SiteImages) -> None:
    """Put the ISO into the program's cache of base ISOs."""
    target = base_path(images.iso_sha256)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(images.iso)
    except OSError:  # another filesystem
        run("cp", "--reflink=auto", images.iso, target.with_suffix(".new"))
        target.with_suffix(".new").rename(target)


def _stop_daemons() -> None:
    for daemon in _DAEMONS:
        daemon.stop()


def _take_down() -> None:
    _stop_daemons()
    network.remove_network()
    _remove_state()


def _remove_state() -> None:
    if ROOT.is_dir():
        for entry in ROOT.iterdir():
            if entry != LOG:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@contextmanager
def _site_locked() -> Iterator[None]:
    """Lock the site for this process: concurrent changes would conflict.

    Raises:
        LabError: This process is not root, or another process has the lock.
    """
    with _locked(LOCK, "another `python -m lab` is changing the lab"):
        yield


@contextmanager
def _locked(lock: Path, taken: str) -> Iterator[None]:
    if os.geteuid() != 0:
        raise LabError("not root; the lab makes namespaces and virtual machines. Fix: run it as root")
    with locked(lock, Wait(SYSTEM_CLOCK, 0)) as is_locked:
        if not is_locked:
            raise LabError(f"{taken}. Fix: wait for it to end")
        yield
