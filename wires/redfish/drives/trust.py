"""Has a virtual drive verify the web server of its image, where the BMC can (DSP0268: VirtualMedia 1.4 and later).

Such a drive has `VerifyCertificate`, and links the `Certificates` that it then accepts. A BMC without them reads an
image over TLS from whoever answers (metal3-dev-env pull request 812).
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sushy
from sushy.resources.certificateservice.certificate import CertificateCollection

from wires.redfish.bmc import MEDIA_CERTIFICATE

NOT_TAKEN = frozenset({400, 404, 405, 409, 501})
"""The statuses of a BMC that takes no certificate, or no further one: sushy-tools has room for one."""


@dataclass
class MediaTrust:
    """This program's certificates on the drives of a BMC."""

    _verified: dict[str, bool] = field(default_factory=dict)
    """By path of each drive that was given one: whether it verified before."""

    def give(self, drive: Any, pem: str) -> None:
        """Have a drive verify by a certificate, unless it is empty. It replaces those of earlier runs."""
        if not pem or drive.verify_certificate is None or not drive._certificates_path:
            return
        with _refusals_ignored():
            self._remove(drive)
            certificate = {"CertificateString": pem, "CertificateType": sushy.CertificateType.PEM.value}
            drive._conn.post(drive._certificates_path, data=certificate)
            self._verified.setdefault(drive.path, drive.verify_certificate)
            if not drive.verify_certificate:
                drive.set_verify_certificate(True)

    def take_back(self, drive: Any) -> None:
        """Remove this program's certificates from a drive, and have it verify only if it did before.

        After a run that was killed, nobody knows that. The drive then verifies only if it has other certificates.
        """
        if not drive._certificates_path or not (drive.verify_certificate or drive.path in self._verified):
            return
        with _refusals_ignored():
            removed, others = self._remove(drive)
            if not self._verified.pop(drive.path, not removed or bool(others)):
                drive.set_verify_certificate(False)

    def _remove(self, drive: Any) -> tuple[int, int]:
        """Remove this program's certificates. Return how many they were, and how many others there are."""
        members = CertificateCollection(drive._conn, drive._certificates_path).get_members()
        own = [member for member in members if _is_own(member)]
        for member in own:
            member.delete()
        return len(own), len(members) - len(own)


def _is_own(certificate: Any) -> bool:
    """Whether it is this program's by the subject that the BMC reads or, if it reads none, by the text itself."""
    if certificate.subject and certificate.subject.common_name:
        return bool(certificate.subject.common_name == MEDIA_CERTIFICATE)
    try:
        return MEDIA_CERTIFICATE.encode() in ssl.PEM_cert_to_DER_cert(certificate.certificate_string or "")
    except ValueError:
        return False


@contextmanager
def _refusals_ignored() -> Iterator[None]:
    """Ignore that a BMC takes no certificate: whether it reads the image all the same, the insert shows."""
    try:
        yield
    except sushy.exceptions.HTTPError as error:
        if error.status_code not in NOT_TAKEN:
            raise
