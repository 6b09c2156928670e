"""The journals of the bootstrap VM by ssh, as `openshift-install gather bootstrap` has them, and its console log."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from base.errors import ConfigError, Fault
from base.masking import mask_lines
from wires.api.https import connect_problem

CONSOLES = Path("/var/log/libvirt/qemu")
CONSOLE_BYTES = 4 * 2**20
"""The end of a console log that is gathered; a boot writes about 100 KiB."""
SSH_PORT = 22
DEADLINE_S = 90.0
"""For all journals together."""
DENIED = "Permission denied"
AGENT = "give your ssh agent the key that belongs to sshKey of install-config.yaml"
LINES = 20_000
"""The newest lines of each journal that are gathered."""
UNITS = ("release-image", "bootkube", "kubelet", "crio", "approve-csr", "okd-*")
"""Those that the installer gathers and OKD's bootstrap has on bare metal without Ironic, and this program's."""
COMMANDS = {
    "failed-units": "systemctl list-units --state=failed --no-pager --plain",
    **{
        unit.replace(
            "-*", ""
        ): f"sudo journalctl --boot --no-pager --output=short-iso --lines={LINES} --unit='{unit}'"
        for unit in UNITS
    },
}
# No key of the VM is known beforehand, since each installation makes a new one; nothing secret is sent.
SSH = (
    *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "StrictHostKeyChecking=no"),
    *("-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"),
)


def console_of(vm: str) -> str:
    """Return the end of the console log of a VM on this machine, secrets masked.

    Raises:
        ConfigError: libvirt on this machine has none, or only root can read it.
    """
    path = CONSOLES / f"{vm}-serial0.log"
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - CONSOLE_BYTES))
            return _masked(log.read())
    except OSError as error:
        raise ConfigError(Fault(str(path), f"cannot be read ({error.strerror})")) from None


def journals_of(addresses: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each journal of the VM at one of the addresses, secrets masked.

    Raises:
        ConfigError: The VM is not reachable, or refuses the login.
    """
    until = time.monotonic() + DEADLINE_S
    address = _reached(addresses)
    for name, command in COMMANDS.items():
        left = until - time.monotonic()
        try:
            done = subprocess.run(  # noqa: S603
                [*SSH, f"core@{address}", command], capture_output=True, timeout=max(1.0, left), check=False
            )
        except FileNotFoundError:
            raise _unreachable(address, "ssh is not installed", "install openssh-client") from None
        except subprocess.TimeoutExpired:
            what = f"`{command}` was not done in {DEADLINE_S:g} s, which all journals have"
            raise _unreachable(address, what, "log in by ssh, and see what holds the machine up") from None
        if done.returncode:
            why = " ".join(mask_lines(done.stderr.decode(errors="replace"))) or f"exit code {done.returncode}"
            raise _unreachable(address, f"`{command}` failed: {why}", AGENT if DENIED in why else "")
        yield name, _masked(done.stdout)


def _reached(addresses: tuple[str, ...]) -> str:
    """Return the first address that accepts a connection."""
    problems = {}
    for address in addresses:
        problem = connect_problem(address, SSH_PORT, timeout_s=3)
        if problem is None:
            return address
        problems[address] = problem
    what = "; ".join(f"{address} port {SSH_PORT}: {problem}" for address, problem in problems.items())
    raise ConfigError(Fault("bootstrap VM", what or "no address is known for it", ""))


def _masked(content: bytes) -> str:
    return "\n".join((*mask_lines(content.decode(errors="replace")), ""))


def _unreachable(address: str, what: str, fix: str) -> ConfigError:
    return ConfigError(Fault(f"bootstrap VM {address}", what, fix))
