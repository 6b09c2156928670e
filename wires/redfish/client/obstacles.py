"""Why no answer of a BMC arrives: what is wrong with the connection or with its address, and what helps."""

import errno
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from requests import exceptions as requests_errors
from urllib3.exceptions import SSLError as TlsError

from wires.bmc.access import Limits
from wires.certificates import EARLY, EXPIRED
from wires.redfish.client.transport_errors import AnswerTooLongError, OutOfReadsError, OutOfTimeError, RedirectedError

UNREACHABLE = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
# X509_V_ERR_* of OpenSSL's x509_vfy.h; Python's ssl has no names
OTHER_NAME, OTHER_ADDRESS, TOO_WEAK = 62, 64, (66, 67, 68)
PIN = "pin it: bmc_trust.<host>.sha256, the fingerprint that the BMC's own pages show"
RENAME = f"have bmc.address name the server as its certificate does; or {PIN}"
FIXES = {
    EARLY: f"correct the clock of this machine; or {PIN}",
    EXPIRED: f"renew it, or correct the clock of this machine; or {PIN}",
    OTHER_NAME: RENAME,
    OTHER_ADDRESS: RENAME,
    **dict.fromkeys(TOO_WEAK, f"have it made again, with SHA-256 and keys of 2,048 bits; or {PIN}"),
}
"""The fix for a certificate that is not trusted, by OpenSSL's code."""
UNKNOWN_CA_FIX = f"set bmc_ca, or bmc_trust.<host>.ca, to the PEM of the CA that signed it; or {PIN}"
"""The fix for every other code: no trusted CA signed the certificate."""
OTHER_CERTIFICATE_FIX = (
    "if the certificate was renewed, correct bmc_trust.<host>.sha256; if not, find out what answers"
)
"""The fix for a certificate that is not the pinned one."""
TOO_LONG_FIX = "compare bmc.address with the BMC's: no Redfish service answers like that"
LEGACY_TLS = (
    "UNSUPPORTED_PROTOCOL",
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "SSLV3_ALERT_HANDSHAKE_FAILURE",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY",
)
"""OpenSSL's reasons for a handshake in which both sides have no version or cipher in common."""
LEGACY_TLS_FIX = (
    "update the BMC's firmware; or pin its certificate, bmc_trust.<host>.sha256, and allow old TLS beside it by "
    "legacy_tls: true"
)
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for a server that answers without TLS, as urllib3 knows them."""
NO_TLS_FIX = "correct the port in bmc.address, or switch HTTPS on on the BMC's own pages"


@dataclass(frozen=True)
class Obstacle:
    """What keeps each answer of a BMC away until the operator has corrected something.

    Args:
        passes: Whether it may pass by itself if the BMC has answered before: then it may be starting up.
    """

    what: str
    fix: str
    passes: bool = True


def obstacle(chain: Sequence[BaseException]) -> Obstacle | None:
    """Return the obstacle that an exception and its causes show. None: there is none, and a retry may help."""
    outermost = chain[0]
    if distrusted := _distrust(chain):
        reason, fix = distrusted
        return Obstacle(f"its certificate is not trusted ({reason})", fix, passes=False)
    if isinstance(outermost, AnswerTooLongError):
        return Obstacle(str(outermost), TOO_LONG_FIX, passes=False)
    if isinstance(outermost, OutOfReadsError):
        return Obstacle(str(outermost), "", passes=False)
    if isinstance(outermost, RedirectedError):
        return Obstacle(str(outermost), _fix_of_redirect(outermost.server))
    return _without_common_tls(chain)


def silence(chain: Sequence[BaseException], limits: Limits, allowed_s: float) -> str:
    """Return why there is no answer, where a retry may help. The request had `allowed_s` seconds for its answer."""
    outermost = chain[0]
    if isinstance(outermost, requests_errors.InvalidSchema):
        return "it points to another server"
    if isinstance(outermost, requests_errors.TooManyRedirects):
        return "it redirects in a circle"
    if is_late(chain):
        return _lateness(chain, limits, allowed_s)
    for cause in chain:
        if isinstance(cause, OSError) and (is_unreachable(cause) or cause.errno == errno.ECONNRESET):
            return (cause.strerror or "").lower()
    reason = _tls_reason(chain)
    return f"the connection broke ({_in_words(reason)})" if reason else "the connection broke"


def _lateness(chain: Sequence[BaseException], limits: Limits, allowed_s: float) -> str:
    if isinstance(chain[0], OutOfTimeError):
        return f"all its answers together took more than {limits.whole_s:g} s"
    if isinstance(chain[0], requests_errors.ConnectTimeout):
        return f"no connection within {limits.connect_s:g} s"
    if any("handshake" in str(cause) for cause in chain if isinstance(cause, TimeoutError)):
        return f"no TLS handshake within {limits.connect_s:g} s"
    return f"no complete answer within {allowed_s:.3g} s"


def is_late(chain: Sequence[BaseException]) -> bool:
    """Return whether time has run out."""
    late = requests_errors.Timeout, TimeoutError, OutOfTimeError
    return any(isinstance(cause, late) for cause in chain)


def is_unreachable(cause: BaseException) -> bool:
    """Return whether the request certainly did not reach the BMC."""
    return isinstance(cause, socket.gaierror) or (isinstance(cause, OSError) and cause.errno in UNREACHABLE)


def _distrust(chain: Sequence[BaseException]) -> tuple[str, str] | None:
    """Return why the certificate is not trusted, and the fix. None: the certificate is not the cause."""
    innermost = chain[-1]
    if isinstance(innermost, ssl.SSLCertVerificationError):
        return innermost.verify_message, FIXES.get(innermost.verify_code, UNKNOWN_CA_FIX)
    # Errors of OpenSSL are further in than urllib3's own, which is that of `assert_fingerprint`.
    return (str(innermost), OTHER_CERTIFICATE_FIX) if isinstance(innermost, TlsError) else None


def _fix_of_redirect(server: str) -> str:
    """Return the fix for a redirect to `https://host[:port]`; none leads the password away from TLS."""
    if server.startswith("https:"):
        return f"if that is the same BMC, write +{server} in bmc.address"
    return "compare bmc.address with the BMC's"


def _without_common_tls(chain: Sequence[BaseException]) -> Obstacle | None:
    reason = _tls_reason(chain)
    if reason in LEGACY_TLS:
        return Obstacle(f"no common version or cipher of TLS ({_in_words(reason)})", LEGACY_TLS_FIX)
    return Obstacle("it answers without TLS", NO_TLS_FIX) if reason in NO_TLS else None


def _tls_reason(chain: Sequence[BaseException]) -> str:
    return next((cause.reason or "" for cause in chain if isinstance(cause, ssl.SSLError)), "")


def _in_words(reason: str) -> str:
    return reason.replace("_", " ").lower()
