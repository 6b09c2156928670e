"""Every error an operator can see.

OkdBaremetalError              root: what was seen against what was wanted, where, and what to do
├── BmcError                   a BMC answered something unusable
│   ├── BmcAuthError           credentials refused; never tried again, accounts lock
│   ├── BmcIdentityError       another machine than the one consented to; nothing was changed
│   ├── BmcTransientError      worth another try within the deadline
│   └── BmcTimeoutError        deadline spent; what was asked may still happen
├── PreflightError             the provisioner or its network lacks what `up` needs, one line per finding
├── HypervisorError            libvirt is not reachable, or refuses
├── ProvisioningError          at least one host of a role was not installed; the next `up` tries those again
├── HandoffUnsafeError         the VIP was not let go, or was taken back; the bootstrap VM was kept
├── BusyError                  another run works on the same thing
└── EngineGoneError            the Pulumi engine that asked for this is gone; work stopped between two steps

Beside it stand cluster.errors.ConfigError and assets.errors.AssetError, of the layers below.
"""


class OkdBaremetalError(Exception):
    """Root: one clean line for the operator, never with a secret in it.

    Args:
        what: What was seen against what was wanted.
        where: Host, URL, file and key.
        hint: What to do.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text}. {hint}" if hint else text)


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
        self, what: str, *, where: str = "", hint: str = "", undone: bool = False, retry_after_s: float = 0
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.undone, self.retry_after_s = undone, retry_after_s


class BmcTimeoutError(BmcError):
    """Deadline spent; what was asked may still happen."""


class PreflightError(OkdBaremetalError):
    """The provisioner or its network lacks what `up` needs, one line per finding; what it says was left alone."""


class HypervisorError(OkdBaremetalError):
    """libvirt is not reachable, or refuses."""


class ProvisioningError(OkdBaremetalError):
    """At least one host of a role was not installed; the next `up` tries those again."""


class HandoffUnsafeError(OkdBaremetalError):
    """The VIP was not let go, or was taken back; the bootstrap VM was kept."""


class BusyError(OkdBaremetalError):
    """Another run works on the same thing."""


class EngineGoneError(OkdBaremetalError):
    """The Pulumi engine that asked for this is gone; work stopped between two steps."""
