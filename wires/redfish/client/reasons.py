"""Why a BMC refuses a request, by its MessageId or words, and the fix that fits the reason."""

import re
from dataclasses import dataclass
from http import HTTPStatus

from wires.bmc.access import ANY_LOGIN

LOGIN = "<login>"
"""In a fix: where the login is written."""
ROLE = "give its account the role Administrator on the BMC's own pages"


@dataclass(frozen=True)
class Reason:
    """A reason.

    Args:
        what: The reason in words.
        fix: What the operator can do; `LOGIN` stands for the place of the login.
        source: Where this was read; empty if the standard has it.
        words: Pattern that what the BMC says must contain, in upper or lower case.
        ends_login: Whether no request with this login can succeed.
    """

    what: str
    fix: str
    source: str = ""
    words: str = ""
    ends_login: bool = False

    def fix_at(self, login: str) -> str:
        """Return the fix, with the place where the login is written; if that is empty, with all that there are."""
        return self.fix.replace(LOGIN, login or ANY_LOGIN)


REFUSED_LOGIN = Reason(
    "the BMC refuses the credentials",
    f"correct them ({LOGIN}), or set bmc_credentials.<host>.session if the BMC takes only sessions, then run the "
    "command again; this login was tried once, because accounts lock",
    ends_login=True,
)
REFUSED_STATE_LOGIN = Reason(
    "the login in the state was refused",
    "if it was changed since the last `up`, run `pulumi up` first, without --refresh and with this host in "
    "install-config.yaml; this login was tried once, because accounts lock",
    ends_login=True,
)
NO_BASIC = Reason(
    "the BMC takes no Basic login",
    "run `pulumi config set --path 'bmc_credentials.<host>.session' true`, then run the command again",
    ends_login=True,
)
"""A 401 whose WWW-Authenticate names other schemes, as Digest."""
FORBIDDEN = Reason("the BMC forbids it", f"{ROLE}, or use another one ({LOGIN})", ends_login=True)
"""A 403 without a reason that is known."""
UNSUPPORTED = Reason("the BMC does not do what it offers", "update the BMC's firmware")
REASONS = (
    Reason(
        "the account must set a new password first",
        f"set one on the BMC's own pages, then write it where the login comes from ({LOGIN})",
        "DSP0266; DMTF/Redfishtool issue 107, xcat2/xcat-core issue 6511: 403 to all but the account itself",
        words="PasswordChangeRequired|password .{0,100}must be changed",
        ends_login=True,
    ),
    Reason(
        "the server is locked down",
        "switch the lockdown mode off on the BMC's own pages, until the server is installed or released",
        "dell/iDRAC-Redfish-Scripting issue 319: iDRAC's System Lockdown Mode, by several MessageIds",
        words="lock-?down",
    ),
    Reason(
        "the BMC lacks a licence",
        "add the licence to the BMC",
        "Supermicro's OemLicenseNotPassed, iLO's LicenseKeyRequired; bb-Ricardo/check_redfish issue 151: iDRAC",
        words="licen[sc]e",
    ),
    Reason(
        "the account lacks a privilege",
        f"{ROLE}, or use another one ({LOGIN})",
        words="insufficient ?privilege",
    ),
    Reason(
        "virtual media is detached, or in use",
        "attach it on the BMC's own pages (iDRAC: Attach Mode Attached or Auto-Attach), and end there what uses it",
        "microsoft/lisa pull request 4168",
        words="VRM0021|virtual media is detached",
    ),
)


def reason_of(status: int, said: str, refused_login: Reason = REFUSED_LOGIN) -> Reason | None:
    """Return the reason of a refusal; None if it is unknown.

    Args:
        status: HTTP status of the answer.
        said: What the BMC says: MessageIds and words.
        refused_login: The reason of a 401 without a reason of its own.
    """
    by_status: dict[int, Reason] = {
        HTTPStatus.UNAUTHORIZED: refused_login,
        HTTPStatus.FORBIDDEN: FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED: UNSUPPORTED,
        HTTPStatus.NOT_IMPLEMENTED: UNSUPPORTED,
    }
    by_words = (reason for reason in REASONS if re.search(reason.words, said, re.IGNORECASE))
    return next(by_words, by_status.get(status))
