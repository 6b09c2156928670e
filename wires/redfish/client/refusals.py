"""Conversion of the exceptions of sushy and requests: what each means, whether a retry may help, and no secrets."""

import errno
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import sushy
from requests import exceptions as requests_errors
from urllib3.exceptions import SSLError as TlsError

from base.errors import BmcAuthError, BmcError, BmcRefusedError, BmcTransientError
from base.http_client import causes
from wires.redfish.client.access import Limits
from wires.redfish.client.connector import AnswerTooLongError, BmcAdapter
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
UNREACHABLE = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
EXPIRED, OTHER_NAME, OTHER_ADDRESS = 10, 62, 64  # X509_V_ERR_* of OpenSSL's x509_vfy.h; Python's ssl has no names
PIN = "pin it: bmc_trust.<host>.sha256, the fingerprint that the BMC's own pages show"
RENAME = f"have bmc.address name the server as its certificate does; or {PIN}"
FIXES = {
    EXPIRED: f"renew it; or {PIN}",
    OTHER_NAME: RENAME,
    OTHER_ADDRESS: RENAME,
}
"""The fix for a certificate that is not trusted, by OpenSSL's code."""
UNKNOWN_CA_FIX = f"set bmc_ca, or bmc_trust.<host>.ca, to the PEM of the CA that signed it; or {PIN}"
"""The fix for every other code: no trusted CA signed the certificate."""
OTHER_CERTIFICATE_FIX = (
    "if the certificate was renewed, correct bmc_trust.<host>.sha256; if not, find out what answers"
)
"""The fix for a certificate that is not the pinned one."""


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
            return self._unanswered(list(causes(error.__context__ or error)), f"cannot {attempt}")
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
        undone = self.wire.only_read or status in NOT_NOW or any(word in str(error) for word in NOT_NOW_WORDS)
        passing = status in (*NOT_NOW, HTTPStatus.NOT_FOUND) or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if passing or any(word in str(error) for word in NOT_NOW_WORDS):
            passing_error = BmcTransientError(what, where=self.where, fix=fix, undone=undone, refused=True)
            passing_error.retry_after_s = self.wire.retry_after_s
            return passing_error
        return BmcRefusedError(what, where=self.where, fix=fix)

    def _unanswered(self, chain: Sequence[BaseException], what: str) -> BmcError:
        """Return the error for a request without an answer, whose exception and causes are `chain`."""
        outermost = chain[0]
        if distrust := _distrust(chain):
            reason, fix = distrust
            what = f"{what}: its certificate is not trusted ({reason})"
            return BmcRefusedError(what, where=self.where, fix=fix)
        if isinstance(outermost, AnswerTooLongError):
            fix = "compare bmc.address with the BMC's: no Redfish service answers like that"
            return BmcRefusedError(f"{what}: {outermost}", where=self.where, fix=fix)
        unconnected = isinstance(outermost, requests_errors.ConnectTimeout) or any(map(_is_unreachable, chain))
        undone = self.wire.only_read or unconnected
        return BmcTransientError(f"{what}: {self._reason(chain)}", where=self.where, undone=undone)

    def _reason(self, chain: Sequence[BaseException]) -> str:
        if isinstance(chain[0], requests_errors.ConnectTimeout):
            return f"no connection within {self.limits.connect_s:g} s"
        if any(isinstance(cause, (requests_errors.Timeout, TimeoutError)) for cause in chain):
            return f"no complete answer within {self.limits.answer_s:g} s"
        if isinstance(chain[0], requests_errors.InvalidSchema):
            return "it points to another server"
        for cause in chain:
            if isinstance(cause, OSError) and (_is_unreachable(cause) or cause.errno == errno.ECONNRESET):
                return (cause.strerror or "").lower()
        return "the connection broke"

    def _clean(self, text: object) -> str:
        """Return the text as one short line, with any secret that the BMC repeats masked."""
        return self.wire.mask.text(" ".join(str(text).split()))[:200]


def _words(error: sushy.exceptions.HTTPError) -> str:
    """Return what the BMC says: each MessageId with its words and arguments, else the error's own message."""
    details = error.extended_info if isinstance(error.extended_info, list) else []
    messages = map(_detail, details)
    return "; ".join(filter(None, messages)) or str(error.detail or error.code or "")


def _detail(detail: dict[str, Any]) -> str:
    """Return one message of the BMC. sushy reads only those with a Severity, and iLO's have none and no words."""
    words, values = str(detail.get("Message") or ""), detail.get("MessageArgs")
    arguments = [str(value) for value in values if str(value) not in words] if isinstance(values, list) else []
    said = " ".join(filter(None, (words, ", ".join(arguments))))
    return ": ".join(filter(None, (str(detail.get("MessageId") or ""), said)))


def _is_unreachable(cause: BaseException) -> bool:
    """Return whether the request certainly did not reach the BMC."""
    return isinstance(cause, socket.gaierror) or (isinstance(cause, OSError) and cause.errno in UNREACHABLE)


def _distrust(chain: Sequence[BaseException]) -> tuple[str, str] | None:
    """Return why the certificate is not trusted, and the fix. None: the certificate is not the cause."""
    innermost = chain[-1]
    if isinstance(innermost, ssl.SSLCertVerificationError):
        return innermost.verify_message, FIXES.get(innermost.verify_code, UNKNOWN_CA_FIX)
    # Errors of OpenSSL are further in than urllib3's own, which is that of `assert_fingerprint`.
    return (str(innermost), OTHER_CERTIFICATE_FIX) if isinstance(innermost, TlsError) else None
