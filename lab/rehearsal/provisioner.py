"""Access to the lab for the rehearsal's steps: consoles, BMCs, libvirt."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from cluster.plan import ClusterPlan, Intent, Server
from cluster.plan.model import PlannedHost
from lab import site
from lab.images import Images
from lab.inventory import Bmc, Site
from lab.paths import NAMESPACE, POOL_NAME, PROJECT
from lab.rehearsal.report import say
from lab.replaced import with_another_bmc, with_another_board
from lab.site import libvirtd
from lab.site.bmc import fingerprint
from lab.site.console import console_log
from lab.site.systems import RESET, ask

CLONE_NEWNET = 0x40000000
Settings = tuple[str, str, bool, str | None]
"""Boot override target, boot mode, Secure Boot, and the image in the virtual CD drive."""

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


@contextmanager
def inside_the_site() -> Iterator[None]:
    """Move this thread to the site's network namespace, and back."""
    with Path("/proc/self/ns/net").open() as outside, Path("/run/netns", NAMESPACE).open() as inside:
        _enter(inside)
        try:
            yield
        finally:
            _enter(outside)


@contextmanager
def without_weighed_sessions() -> Iterator[None]:
    """Have Linux weigh each thread by its niceness alone.

    Each QEMU is a session. While Linux weighs sessions against each other (sched(7), "The autogroup feature"), one
    has a share on each processor, and the thread of a QEMU that moves packets waited 26 and 44 ms where its session
    had a small one (perf sched, 2026-11-29).
    """
    before = _weigh_sessions("0")
    try:
        yield
    finally:
        _weigh_sessions(before)


def _weigh_sessions(switch: str) -> str:
    """Set whether Linux weighs sessions against each other, and return what was set."""
    with suppress(OSError):  # the kernel lacks the feature, or the container may not write it
        before = AUTOGROUP.read_text()
        AUTOGROUP.write_text(switch)
        return before
    return switch


def _enter(namespace: IO[str]) -> None:
    """Enter a network namespace. Python has os.setns only from 3.12 on."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace.name}")


class Provisioner:
    """The machine from which the servers are installed: consoles, BMCs, libvirt."""

    def __init__(self, plan: ClusterPlan, wanted: Site, images: Images) -> None:
        self._plan, self._site, self._images = plan, wanted, images

    def console(self, machine: str) -> list[str]:
        """Return all console lines of a machine."""
        try:
            return console_log(machine).read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def bmc_settings(self) -> dict[str, Settings]:
        """Return the settings of each host by name, spares too, read without the program's Redfish client."""
        return {host.name: self._settings(host) for host in self._plan.hosts}

    def domains(self) -> set[str]:
        """Return the names of all libvirt domains."""
        return set(libvirtd.power_states())

    def running(self) -> set[str]:
        """Return the names of the running domains."""
        return {name for name, power in libvirtd.power_states().items() if power == "On"}

    def volumes(self) -> set[str]:
        """Return the names of the volumes in the pool."""
        with libvirtd.connection() as connection:
            pool = connection.storagePoolLookupByName(POOL_NAME)
            pool.refresh()
            return set(pool.listVolumes())

    def suspend(self, machine: str) -> None:
        """Freeze a machine."""
        with libvirtd.connection() as connection:
            connection.lookupByName(machine).suspend()

    def lose(self, machine: str) -> None:
        """Have a server and what is on its disks be gone: it is off, and its disks are empty."""
        libvirtd.lose(self._site, machine)

    def cut_off(self, machine: str) -> None:
        """Have a server that runs on be reached by nobody, and reach nobody, until it has been off."""
        libvirtd.cut_off(machine)

    def replace_board(self, machine: str) -> None:
        """Have a server be off, with another board: another UUID and other MACs, and the same disks and BMC."""
        self._site = with_another_board(self._site, machine)
        site.replace_board(self._site, machine)

    def replace_bmc(self, machine: str) -> None:
        """Have a server's BMC be another one: at another address, with a login and a certificate of its own."""
        self._site = with_another_bmc(self._site, machine)
        site.replace_bmcs(self._site)

    def boot_mac(self, server: Server) -> str:
        """Return the MAC of the card that boots, as it is printed on the machine."""
        return next(host.boot_mac for host in self._site.plan.hosts if host.name == server.name)

    def bmc(self, server: Server) -> Bmc:
        """Return where the machine's BMC answers."""
        return self._site.bmcs[server.name]

    def fingerprint(self, server: Server) -> str:
        """Return the SHA-256 of the certificate of the machine's BMC, which that shows on its own pages."""
        return fingerprint(self._site, server.name)

    def uuid(self, server: Server) -> str:
        """Return the UUID by which consent and `reinstall` name the machine."""
        return self._site.uuids[server.name]

    def resume(self, machine: str) -> None:
        """Thaw a machine."""
        with libvirtd.connection() as connection:
            connection.lookupByName(machine).resume()

    def boot_from_network(self, server: Server) -> None:
        """Cut a server's power, and switch it on with its boot overridden to the network, once.

        The emulator keeps an override for good, which a BMC that speaks IPMI does not show: it is set back here.
        """
        uuid = self._site.uuids[server.name]
        found = ask("GET", uuid)["Boot"]["BootSourceOverrideTarget"]
        ask("POST", uuid, RESET, {"ResetType": "ForceOff"})
        self._boot_next(uuid, "Pxe")
        ask("POST", uuid, RESET, {"ResetType": "On"})
        self._boot_next(uuid, found)

    def _boot_next(self, uuid: str, target: str) -> None:
        boot = {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}
        ask("PATCH", uuid, body={"Boot": boot})

    def switch_on(self, server: Server) -> None:
        """Switch a server on."""
        ask("POST", self._site.uuids[server.name], RESET, {"ResetType": "On"})

    def memory_mib(self) -> int:
        """Return the resident memory of all virtual machines."""
        total_kib = 0
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            except OSError:
                continue
            if fields["Name"].strip().startswith("qemu-system"):
                total_kib += int(fields.get("VmRSS", "0 kB").split()[0])
        return total_kib // 1024

    def start_services(self) -> None:
        """Start what `stop_provisioner_services` stopped."""
        site.up(self._site, self._images, say)

    def _settings(self, host: PlannedHost) -> Settings:
        uuid = self._site.uuids[host.name]
        boot, media = ask("GET", uuid)["Boot"], ask("GET", uuid, "/VirtualMedia/Cd")
        target, mode = (boot[f"BootSourceOverride{word}"] for word in ("Target", "Mode"))
        # The emulator answers 501 to a question about Secure Boot in another mode (sushy-tools 2.2.0).
        secure = mode == "UEFI" and ask("GET", uuid, "/SecureBoot")["SecureBootEnable"]
        return target, mode, secure, media["Image"] or None


def note_on_kept_lab(plan: Intent, *, failed: bool) -> str:
    """Return a note on how to inspect and stop what was left running: the cluster, or what a failure left of it."""
    run = f"{sys.executable} -m lab"
    what = "The lab is as the failure left it." if failed else "The cluster is up."
    return (
        f"{what}\n"
        f"Inspect it:  {run} status\n"
        f"             {run} exec -- curl -k https://api.{plan.domain}:6443/readyz\n"
        f"Change it:   {run} exec -- pulumi --cwd {PROJECT} preview\n"
        f"Stop it:     {run} down"
    )
