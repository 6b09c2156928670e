"""Certificates that servers show, and the time from which somebody has to see to their renewal."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from cryptography import x509

EARLY, EXPIRED = 9, 10
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL's x509_vfy.h, also of a CA above it."""
AHEAD = timedelta(days=30)
"""Before its end. What nothing renews by itself, a person renews, who may wait for a CA, or be on holiday."""
RENEWED_IN_TIME = 0.9
"""The part of a life in which programs renew a certificate; until then, a short life is no warning.

A kubelet asks for its next one after 70 to 90 % (client-go, util/certificate/certificate_manager.go,
jitteryDuration); OKD's operators renew after 80 % at the latest (openshift/library-go, pkg/operator/certrotation).
Both have lives of 30 days, so 30 days ahead would be always.
"""


@dataclass(frozen=True)
class Life:
    """The time for which a certificate is valid; both ends with their zone."""

    begins: datetime
    ends: datetime

    @classmethod
    def of(cls, certificate: "x509.Certificate") -> Self:
        """Return that of a certificate."""
        return cls(certificate.not_valid_before_utc, certificate.not_valid_after_utc)

    def is_over(self, now: datetime) -> bool:
        """Return whether the certificate has expired."""
        return self.ends <= now

    def warning(self, now: datetime) -> str | None:
        """Return the line on a certificate that has expired, or that nothing has renewed in time. None: neither."""
        if now < max(self.ends - AHEAD, self.begins + (self.ends - self.begins) * RENEWED_IN_TIME):
            return None
        if self.is_over(now):
            return f"expired on {self.ends:%Y-%m-%d %H:%M} UTC"
        days = (self.ends - now).days
        left = f"{days} days" if days > 1 else f"{(self.ends - now) // timedelta(hours=1)} h"
        return f"expires on {self.ends:%Y-%m-%d %H:%M} UTC, in {left}"


class CertificateTimeError(ConnectionError):
    """A server cannot be told from another one, since by this machine's clock its certificate is not valid now."""


@dataclass(frozen=True)
class Certificate:
    """The certificate that a server shows."""

    subject: str
    """Empty if the certificate cannot be parsed."""
    sha256: str
    """Of the whole certificate, 64 hex digits: what `bmc_trust.<host>.sha256` pins."""
    life: Life | None = None
    """None if the certificate cannot be parsed."""
