"""Conversion of the exceptions of sushy and requests: what each means, whether a retry may help, and no secrets."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import sushy
from requests import exceptions as requests_errors

from base.errors import BmcAuthError, BmcError, BmcTransientError
from wires.redfish.client.access import Limits
from wires.redfish.client.connector import AnswerTooLongError, BmcAdapter

NOT_NOW = frozenset({408, 409, 412, 423, 425, 428, 429, 503})
"""Statuses with which a BMC refuses a request that it may accept later."""
NOT_NOW_WORDS = (
    "InvalidOperationForSystemState",  # iLO, shortly after another power action
    "UnableToModifyDuringSystemPOST",  # iLO
    "SYS518",  # iDRAC, up to 20 s after an operation
    "SessionLimitExceeded",
)
UNCONNECTED = ("Connection refused", "No route to host", "Network is unreachable", "Name or service not known")
BROKEN = "Connection reset"
LICENCE = re.compile("licen[sc]e", re.IGNORECASE)
"""In Supermicro's OemLicenseNotPassed, iLO's LicenseKeyRequired, and what other BMCs say of a missing licence."""
FIXES = {
    "expired": "renew it; or pin it: bmc_trust.<host>.sha256, the fingerprint that the BMC's own pages show",
    "mismatch": "have bmc.address name the server as its certificate does; or pin it with bmc_trust.<host>.sha256",
    "ingerprint": "if the certificate was renewed, correct bmc_trust.<host>.sha256; if not, find out what answers",
    "": "set bmc_ca, or bmc_trust.<host>.ca, to the PEM of the CA that signed it; or pin bmc_trust.<host>.sha256",
}
"""The fix for a certificate that is not trusted, by a word of the reason."""


@dataclass(frozen=True)
class Refusals:
    """The errors of one BMC."""

    where: str
    """URL of the system."""
    limits: Limits
    wire: BmcAdapter
    """Holds the kind of the last request, and the secrets to mask."""

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
            return self._unanswered(error.__context__, f"cannot {attempt}")
        if isinstance(error, sushy.exceptions.MissingActionError):
            fix = "do it on the BMC's own pages, or update its firmware"
            return BmcError(f"cannot {attempt}: {self._clean(error)}", where=self.where, fix=fix)
        # sushy does not validate answers, and a BMC that is starting up may answer anything.
        what = f"cannot {attempt}: the answer is not usable ({self._clean(error)})"
        return BmcTransientError(what, where=self.where, undone=self.wire.only_read)

    def _answered(self, error: sushy.exceptions.HTTPError, what: str, *, known: bool) -> BmcError:
        status, text = error.status_code, self._clean(_words(error))
        told = f" ({text})" if text else ""
        if status == HTTPStatus.FORBIDDEN and LICENCE.search(text):
            fix = "add the licence to the BMC"
            return BmcError(f"{what}, the BMC lacks a licence{told}", where=self.where, fix=fix)
        if isinstance(error, sushy.exceptions.AccessError):
            fix = "correct bmc.username and bmc.password in install-config.yaml; nothing is retried, accounts lock"
            return BmcAuthError(f"{what}, the BMC refuses the credentials{told}", where=self.where, fix=fix)
        what += told
        if status == HTTPStatus.NOT_FOUND and not known:
            fix = "compare bmc.address with what the BMC lists at /redfish/v1/Systems"
            return BmcError(what, where=self.where, fix=fix)
        undone = self.wire.only_read or status in NOT_NOW or any(word in str(error) for word in NOT_NOW_WORDS)
        passing = status in (*NOT_NOW, HTTPStatus.NOT_FOUND) or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if passing or any(word in str(error) for word in NOT_NOW_WORDS):
            after_s = self.wire.retry_after_s
            return BmcTransientError(what, where=self.where, undone=undone, refused=True, retry_after_s=after_s)
        return BmcError(what, where=self.where)

    def _unanswered(self, cause: BaseException | None, what: str) -> BmcError:
        if isinstance(cause, requests_errors.SSLError) and (reason := _distrust(cause)):
            fix = next(fix for word, fix in FIXES.items() if word in reason)
            what = f"{what}: its certificate is not trusted ({reason})"
            return BmcError(what, where=self.where, fix=fix)
        if isinstance(cause, AnswerTooLongError):
            fix = "compare bmc.address with the BMC's: no Redfish service answers like that"
            return BmcError(f"{what}: {cause}", where=self.where, fix=fix)
        timed_out = isinstance(cause, requests_errors.ConnectTimeout)
        unconnected = timed_out or any(words in str(cause) for words in UNCONNECTED)
        undone = self.wire.only_read or unconnected
        return BmcTransientError(f"{what}: {self._reason(cause)}", where=self.where, undone=undone)

    def _reason(self, cause: BaseException | None) -> str:
        text = str(cause)
        if isinstance(cause, requests_errors.ConnectTimeout):
            return f"no connection within {self.limits.connect_s:g} s"
        if isinstance(cause, requests_errors.Timeout) or "timed out" in text.lower():
            return f"no complete answer within {self.limits.answer_s:g} s"
        if isinstance(cause, requests_errors.InvalidSchema):
            return "it points to another server"
        return next((words.lower() for words in (*UNCONNECTED, BROKEN) if words in text), "the connection broke")

    def _clean(self, text: object) -> str:
        """Return the text as one short line, with any secret that the BMC repeats masked."""
        return self.wire.mask.text(" ".join(str(text).split()))[:200]


def _words(error: sushy.exceptions.HTTPError) -> str:
    """Return what the BMC says: each MessageId with its words and arguments, else the error's own message."""
    details = error.extended_info if isinstance(error.extended_info, list) else []
    told = map(_detail, details)
    return "; ".join(filter(None, told)) or str(error.detail or error.code or "")


def _detail(detail: dict[str, Any]) -> str:
    """Return one message of the BMC. sushy reads only those with a Severity, and iLO's have none and no words."""
    words, given = str(detail.get("Message") or ""), detail.get("MessageArgs")
    arguments = [str(each) for each in given if str(each) not in words] if isinstance(given, list) else []
    said = " ".join(filter(None, (words, ", ".join(arguments))))
    return ": ".join(filter(None, (str(detail.get("MessageId") or ""), said)))


def _distrust(cause: BaseException) -> str:
    """Return what OpenSSL or urllib3 reports about the certificate. Empty if the certificate is not the cause."""
    text = str(cause)
    if "Fingerprints did not match" in text:
        return text[text.index("Fingerprints") :].strip("')\"")
    return text.partition("certificate verify failed: ")[2].partition(" (_ssl")[0]
