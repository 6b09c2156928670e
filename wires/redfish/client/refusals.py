"""Conversion of the exceptions of sushy and requests: what each means, whether a retry may help, and no secrets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import sushy
from requests import exceptions as requests_errors

from base.errors import MISSHAPEN, BmcAuthError, BmcError, BmcRefusedError, BmcTimeoutError, BmcTransientError
from base.http_client import causes
from wires.bmc.access import Limits
from wires.bmc.client import STARTS_S
from wires.redfish.client.adapter import BmcAdapter
from wires.redfish.client.obstacles import is_late, is_unreachable, obstacle, silence
from wires.redfish.client.reasons import NO_BASIC, REFUSED_LOGIN, Reason, reason_of
from wires.redfish.client.tasks import TaskResult

NOT_NOW = frozenset({408, 409, 412, 423, 425, 428, 429, 503})
"""Statuses with which a BMC refuses a request that it may accept later."""
NOT_NOW_WORDS = (
    "InvalidOperationForSystemState",  # iLO, shortly after another power action
    "UnableToModifyDuringSystemPOST",  # iLO
    "SYS518",  # iDRAC, up to 20 s after an operation
    "SessionLimitExceeded",
)
UNUSABLE = (sushy.exceptions.SushyError, *MISSHAPEN)
"""What sushy raises, and lets through where an answer is not as the standard has it."""
SILENT_FIX = "see whether the BMC's own pages answer, and reset the BMC if they do not; then repeat the command"
MISSING_FIX = "wait until the BMC has started; if it has, restart it on its own pages, or update its firmware"
"""The fix for a 404 of what the BMC links."""


@dataclass(frozen=True)
class Refusals:
    """The errors of one BMC."""

    where: str
    """URL of the system."""
    limits: Limits
    wire: BmcAdapter
    """Holds the kind of the last request, and the secrets to mask."""
    refused_login: Reason = REFUSED_LOGIN
    """The reason of a refused login."""
    login: str = ""
    """Where the login is written; empty if that is not known."""

    def of(self, error: Exception, attempt: str, *, known: bool) -> BmcError:
        """Return the program's own error for `error`.

        Args:
            error: Raised by sushy, or while its answer was read.
            attempt: What was attempted, in words: `insert the boot ISO`.
            known: Whether the system has been read before. If so, a 404 is temporary.
        """
        if isinstance(error, sushy.exceptions.HTTPError):
            return self._answered(error, f"cannot {attempt}: HTTP {error.status_code}", known=known)
        if isinstance(error, sushy.exceptions.ConnectionError):
            return self._unanswered(list(causes(error.__context__ or error)), f"cannot {attempt}", known=known)
        if isinstance(error, sushy.exceptions.MissingActionError):
            fix = "do it on the BMC's own pages, or update its firmware"
            return BmcRefusedError(f"cannot {attempt}: {self._clean(error)}", where=self.where, fix=fix)
        # sushy does not validate answers, and a BMC that is starting up may answer anything.
        what = f"cannot {attempt}: the answer is not usable ({self._clean(error)})"
        return BmcTransientError(what, where=self.where, undone=self.wire.only_read)

    def of_task(self, task: TaskResult) -> BmcError:
        """Return the error of a request that the BMC accepted, and whose task has failed."""
        said = "; ".join(map(_detail, task.said))
        reason, words = reason_of(HTTPStatus.OK, said), self._clean(said)
        what = f"the BMC accepted the request, and its task ended as {task.failure}"
        what = f"{what} ({words})" if words else what
        return BmcRefusedError(what, where=self.where, fix=reason.fix_at(self.login) if reason else "")

    def _answered(self, error: sushy.exceptions.HTTPError, what: str, *, known: bool) -> BmcError:
        status, said = error.status_code, _words(error)
        refused_login = NO_BASIC if self.wire.lacks_basic else self.refused_login
        reason, text, fix = reason_of(status, said, refused_login), self._clean(said), ""
        if reason:
            what, fix = f"{what}, {reason.what}", reason.fix_at(self.login)
        what = f"{what} ({text})" if text else what
        if isinstance(error, sushy.exceptions.AccessError):
            kind = BmcAuthError if reason and reason.ends_login else BmcRefusedError
            return kind(what, where=self.where, fix=fix)
        if status == HTTPStatus.NOT_FOUND and not known:
            fix = "compare bmc.address with what the BMC lists at /redfish/v1/Systems"
            return BmcRefusedError(what, where=self.where, fix=fix)
        fix = fix or (MISSING_FIX if status == HTTPStatus.NOT_FOUND else "")
        undone = self.wire.only_read or status in NOT_NOW or any(word in str(error) for word in NOT_NOW_WORDS)
        is_broken = status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED
        passing = is_broken or status in (*NOT_NOW, HTTPStatus.NOT_FOUND)
        if passing or any(word in str(error) for word in NOT_NOW_WORDS):
            passing_error = BmcTransientError(what, where=self.where, fix=fix, undone=undone, refused=True)
            passing_error.retry_after_s = self.wire.retry_after_s
            return passing_error
        return BmcRefusedError(what, where=self.where, fix=fix)

    def _unanswered(self, chain: Sequence[BaseException], what: str, *, known: bool) -> BmcError:
        """Return the error for a request without an answer, whose exception and causes are `chain`."""
        if met := obstacle(chain):
            if not (known and met.passes):
                return BmcRefusedError(f"{what}: {met.what}", where=self.where, fix=met.fix)
            passing = BmcTransientError(f"{what}: {met.what}", where=self.where, fix=met.fix, undone=True)
            passing.passes_s = STARTS_S
            return passing
        what = f"{what}: {silence(chain, self.limits, self.wire.allowed_s)}"
        if self.limits.whole_s < math.inf and is_late(chain):
            return BmcTimeoutError(f"{what}; nothing more was asked", where=self.where, fix=SILENT_FIX)
        unconnected = isinstance(chain[0], requests_errors.ConnectTimeout) or any(map(is_unreachable, chain))
        return BmcTransientError(what, where=self.where, undone=self.wire.only_read or unconnected)

    def _clean(self, text: object) -> str:
        """Return the text as one short line, with any secret that the BMC repeats masked."""
        return self.wire.mask.text(" ".join(str(text).split()))[:200]


def _words(error: sushy.exceptions.HTTPError) -> str:
    """Return what the BMC says: each MessageId with its words and arguments, else the error's own message."""
    return "; ".join(filter(None, map(_detail, error.extended_info or ()))) or error.detail or ""


def _detail(detail: dict[str, Any]) -> str:
    """Return one message of the BMC. sushy reads only those with a Severity, and iLO's have none and no words."""
    words, values = str(detail.get("Message") or ""), detail.get("MessageArgs")
    arguments = [str(value) for value in values if str(value) not in words] if isinstance(values, list) else []
    said = " ".join(filter(None, (words, ", ".join(arguments))))
    return ": ".join(filter(None, (str(detail.get("MessageId") or ""), said)))
