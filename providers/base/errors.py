"""Every fault that an operator reads, and every error that carries one.

OkdBaremetalError              root: one fault or several
├── ConfigError                install-config, options or a command's input cannot be used; nothing was touched
├── PayloadError               a file of the payload must not reach a machine
├── AssetError                 a rendered file must not reach a machine
├── BootMediaError             no base image, no tool, or one of them refuses
├── PreflightError             the provisioner or its network lacks what `up` needs, one line per finding
├── SegmentError               the layer-2 segment cannot be asked from this machine
├── BmcError                   a BMC answered something unusable
│   ├── BmcAuthError           credentials refused; never tried again, accounts lock
│   ├── BmcIdentityError       another machine than the one consented to; nothing was changed
│   ├── BmcTransientError      worth another try within the deadline
│   └── BmcTimeoutError        deadline spent; what was asked may still happen
├── HypervisorError            libvirt is not reachable, or refuses
├── ProvisioningError          at least one host of a role was not installed; the next `up` tries those again
├── VipError                   the wrong machine holds a VIP, or none
│   └── HandoffUnsafeError     the API VIP was not let go, or was taken back; the bootstrap VM was kept
├── BusyError                  another run works on the same thing
└── EngineGoneError            the Pulumi engine that asked for this is gone; work stopped between two steps
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Fault:
    """What is wrong with one thing; never with a secret in it."""

    where: str
    """Host, URL, file or field: `platform.baremetal.hosts[0].bmc.address`; empty: `what` names it."""
    what: str
    """What was seen against what was wanted."""
    fix: str = ""
    """What to do about it; empty: `what` leaves no doubt."""

    def within(self, place: str) -> Self:
        """The same fault, seen from outside: `place` is the file or section that `where` is in."""
        return replace(self, where=f"{place}: {self.where}" if self.where else place)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}. Fix: {self.fix}" if self.fix else line


def one_line(text: str) -> str:
    """A text that may hold line breaks, or escapes for the terminal, as one line that holds neither."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class OkdBaremetalError(Exception):
    """Root: for the operator, without a traceback.

    Args:
        what: What was seen against what was wanted.
        where: Host, URL, file and field.
        fix: What to do.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.faults: tuple[Fault, ...] = (Fault(where, what, fix),)
        super().__init__(str(self.fault))

    @property
    def fault(self) -> Fault:
        """The first one."""
        return self.faults[0]


class ConfigError(OkdBaremetalError):
    """Raised before anything is touched; one line per fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        Exception.__init__(self, "\n".join(one_line(str(fault)) for fault in self.faults))


class PayloadError(OkdBaremetalError):
    """A file of the payload must not reach a machine."""


class AssetError(OkdBaremetalError):
    """A rendered file must not reach a machine."""


class BootMediaError(OkdBaremetalError):
    """No base image, no tool, or one of them refuses."""


class PreflightError(OkdBaremetalError):
    """The provisioner or its network lacks what `up` needs, one line per finding; what it names was left alone."""


class SegmentError(OkdBaremetalError):
    """The layer-2 segment cannot be asked from this machine."""


class BmcError(OkdBaremetalError):
    """A BMC answered something unusable."""


class BmcAuthError(BmcError):
    """Credentials refused; never tried again, accounts lock."""


class BmcIdentityError(BmcError):
    """Another machine than the one consented to; nothing was changed."""


class BmcTransientError(BmcError):
    """Worth another try within the deadline.

    Args:
        undone: What was asked for was certainly not done; else it may be done, or still happen.
        retry_after_s: How long the BMC asks to be left alone.
    """

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", undone: bool = False, retry_after_s: float = 0
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.undone, self.retry_after_s = undone, retry_after_s


class BmcTimeoutError(BmcError):
    """Deadline spent; what was asked may still happen."""


class HypervisorError(OkdBaremetalError):
    """libvirt is not reachable, or refuses."""


class ProvisioningError(OkdBaremetalError):
    """At least one host of a role was not installed; the next `up` tries those again."""


class VipError(OkdBaremetalError):
    """The wrong machine holds a VIP, or none."""


class HandoffUnsafeError(VipError):
    """The API VIP was not let go, or was taken back; the bootstrap VM was kept."""


class BusyError(OkdBaremetalError):
    """Another run works on the same thing."""


class EngineGoneError(OkdBaremetalError):
    """The Pulumi engine that asked for this is gone; work stopped between two steps."""
