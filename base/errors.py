"""The fault, which is the form of every message to the operator, and the errors that carry faults.

OkdBaremetalError              root: one fault or several
├── ConfigError                install-config, options or a command's input cannot be used; nothing was touched
├── PayloadError               a file of the payload must not reach a machine
├── AssetError                 a rendered file must not reach a machine
├── BootMediaError             a base image or tool is missing, or fails
├── PreflightError             the provisioner or its network lacks what `up` needs, one line per finding
├── SegmentError               this machine cannot probe the layer-2 segment; or, for one address:
│   └── OwnAddressError          the address is this machine's own
├── BmcError                   what one BMC makes impossible; always one of these:
│   ├── BmcRefusedError        the BMC refuses, or lacks what is needed; a retry does not help
│   ├── BmcAuthError           the BMC refused the login; never retried, because accounts lock
│   ├── BmcIdentityError       the BMC is that of a machine without consent; nothing was changed
│   ├── BmcTransientError      the request may succeed if it is retried within the deadline
│   └── BmcTimeoutError        the deadline has passed; the BMC may still do what was requested
├── HypervisorError            libvirt is unreachable, or refuses
├── ProvisioningError          at least one host of a role was not installed; the next `up` retries it
├── VipError                   the wrong machine holds a VIP, or none does
│   └── HandoffUnsafeError     the API VIP was not released, or was taken back; the bootstrap VM was kept
├── SnapshotError              etcd was not saved, so nothing that needs that was begun
├── IncompleteError            OKD does not report that its installation is complete
├── UpgradeError               a cluster was not upgraded, or not to the end; it keeps what it was told
├── BusyError                  another run works on the same thing
├── UnplannedWriteError        a write is not in the write plan that was approved; it was not made
├── SystemCallError            the system refuses a call where nothing expects that: a full disk, a lost folder
├── LockError                  the folder of the locks cannot be made, or is not private to this user
└── EngineGoneError            the Pulumi engine that started this work is gone; it stopped between two steps
"""

import errno
import math
import re
import shlex
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Fault:
    """An error in one thing. It never contains a secret.

    As text, it has no control character and no line break but those before its details: its parts may be a BMC's.
    """

    where: str
    """Host, URL, file or field, as `platform.baremetal.hosts[0].bmc.address`; empty if `what` names it."""
    what: str
    """What was seen against what was wanted."""
    fix: str = ""
    """What the operator can do; empty if `what` makes that plain."""
    machine: str = field(default="", kw_only=True)
    """The host that it is about, for the log, where one error is about several."""
    details: Sequence[str] = field(default=(), kw_only=True)
    """Lines below `what`."""

    def within(self, container: str) -> Self:
        """Return the same fault with `container`, the file or section that contains `where`, before it."""
        return replace(self, where=f"{container}: {self.where}" if self.where else container)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        text = "\n    ".join(map(one_line, (line, *self.details)))
        return f"{text}. Fix: {one_line(self.fix)}" if self.fix else text


class Stricter(Fault):
    """A fault of this program only: openshift-install accepts the same install-config."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ROOM = "make room on the disk of standard output and of $TMPDIR, or use another one"
ITS_ROOM = "make room on its disk"


def one_line(text: str) -> str:
    """Return the text as one line, with line breaks and terminal escapes spelled out."""
    if text.isprintable():  # most are, and to look at each character of a log takes longer than to mask it
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def word(value: object) -> str:
    """Return a value as one word of a shell, for a command that an operator is to paste."""
    return shlex.quote(str(value))


def quoted(path: str) -> str:
    """Return the path of an option as one word of a shell, always in quotes, as the documents write it."""
    return f"'{path}'" if "'" not in path else word(path)


MISSHAPEN = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What Python raises where a document that others wrote has another shape than its reader expects."""


_PLACES = re.compile(r"^\[Errno -?\d+\] |^\[SSL: \w+\] |^_ssl\.c:\d+: | \(_ssl\.c:\d+\)$")
"""What the system and OpenSSL put around their words: a number, and a place in C."""


def unexpected(error: Exception) -> str:
    """Return the kind of an error that no reader of this program expects, and the line that raised it.

    Neither its message nor its traceback is shown: both may quote an input.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"internal error: {type(error).__name__}: {Path(last.filename).name}:{last.lineno}"


def words_of(error: Exception) -> str:
    """Return what an error says: one of the system or of a connection its words alone, another its type as well."""
    words = _PLACES.sub("", str(error))
    return words if isinstance(error, OSError) and words else f"{type(error).__name__}: {words}".removesuffix(": ")


class OkdBaremetalError(Exception):
    """Root of the errors that an operator reads, without a traceback.

    Args:
        what: What was seen against what was wanted.
        where: Host, URL, file or field.
        fix: What the operator can do.
        details: Lines below `what`.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", details: Sequence[str] = ()) -> None:
        self.faults: tuple[Fault, ...] = (Fault(where, what, fix, details=tuple(details)),)
        super().__init__(str(self.fault))

    @property
    def fault(self) -> Fault:
        """The first fault."""
        return self.faults[0]


class ConfigError(OkdBaremetalError):
    """Install-config, options or a command's input cannot be used, one line per fault; nothing was touched."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        Exception.__init__(self, "\n".join(map(str, self.faults)))


class PayloadError(OkdBaremetalError):
    """A file of the payload must not reach a machine."""


class AssetError(OkdBaremetalError):
    """A rendered file must not reach a machine."""


class BootMediaError(OkdBaremetalError):
    """A base image or tool is missing, or fails."""


class PreflightError(OkdBaremetalError):
    """The provisioner or its network lacks what `up` needs, one line per finding; neither was changed."""


class SegmentError(OkdBaremetalError):
    """This machine cannot probe the layer-2 segment."""


class OwnAddressError(SegmentError):
    """The address that others are to be asked for is this machine's own."""


class BmcError(OkdBaremetalError):
    """What one BMC makes impossible. Raise a subclass: none of them contains another, so handlers have no order."""


class BmcRefusedError(BmcError):
    """The BMC refuses, or lacks what is needed; a retry does not help."""


class BmcAuthError(BmcError):
    """The BMC refused the login; never retried, because accounts lock."""


class BmcIdentityError(BmcError):
    """The BMC is that of a machine without consent; nothing was changed."""


class BmcTransientError(BmcError):
    """The request may succeed if it is retried within the deadline.

    Args:
        undone: True if the BMC certainly did not act; otherwise it may have acted, or may still act.
        refused: True if the BMC answered, with an error.

    Attributes:
        retry_after_s: Seconds that the BMC asks the client to wait.
        passes_s: Seconds after which this error is no longer believed to pass.
    """

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", undone: bool = False, refused: bool = False
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.undone, self.refused = undone, refused
        self.retry_after_s, self.passes_s = 0.0, math.inf


class BmcTimeoutError(BmcError):
    """The deadline has passed; the BMC may still do what was requested.

    Args:
        refused: True if the BMC answered the last request, with an error.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", refused: bool = False) -> None:
        super().__init__(what, where=where, fix=fix)
        self.refused = refused


class HypervisorError(OkdBaremetalError):
    """libvirt is unreachable, or refuses."""


class ProvisioningError(OkdBaremetalError):
    """At least one host of a role was not installed; the next `up` retries it."""


class PowerError(OkdBaremetalError):
    """A cluster was not put to sleep, or not woken, as a whole; the next `up` goes on."""


class VipError(OkdBaremetalError):
    """The wrong machine holds a VIP, or none does."""


class HandoffUnsafeError(VipError):
    """The API VIP was not released, or was taken back; the bootstrap VM was kept."""


class SnapshotError(OkdBaremetalError):
    """etcd was not saved, so nothing that needs that was begun; there is no new file."""


class IncompleteError(OkdBaremetalError):
    """OKD does not report that its installation is complete."""


class UpgradeError(OkdBaremetalError):
    """A cluster was not upgraded, or not to the end; it keeps what it was told."""


class BusyError(OkdBaremetalError):
    """Another run works on the same thing."""


class UnplannedWriteError(OkdBaremetalError):
    """A write is not in the write plan that was approved; it was not made."""


class SystemCallError(OkdBaremetalError):
    """The system refuses a call where nothing expects that: a full disk, a lost folder.

    Args:
        error: The refusal.
    """

    def __init__(self, error: OSError) -> None:
        # Python's tempfile tries several folders, and then says this without the reason of any.
        is_full = error.errno in NO_ROOM or (error.errno == errno.ENOENT and not error.filename)
        what = f"the system refuses: {error.strerror or type(error).__name__}"
        fix = (ITS_ROOM if error.filename else ROOM) if is_full else ""
        super().__init__(what, where=str(error.filename or ""), fix=fix)


class LockError(OkdBaremetalError):
    """The folder of the locks cannot be made, or is not private to this user."""


class EngineGoneError(OkdBaremetalError):
    """The Pulumi engine that started this work is gone; it stopped between two steps."""


def as_own(error: OkdBaremetalError | OSError) -> OkdBaremetalError:
    """Return an error of this program's: the same, or that of a call that the system refuses."""
    return error if isinstance(error, OkdBaremetalError) else SystemCallError(error)
