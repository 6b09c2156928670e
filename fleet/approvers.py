"""Approvals are signed with the key of a person or of CI (Ed25519), which no worker and no server has."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from base.errors import ConfigError, Fault
from fleet.keys import key_of, write_new
from fleet.messages import Approval

KEY_FILE = "FLEET_APPROVER_KEY_FILE"
PURPOSE = "okd-baremetal: approval of a fleet, 1"
"""Part of each signed text, so that no signature of another purpose or format counts."""


@dataclass(frozen=True)
class Subject:
    """What an approval is about, besides the preview.

    Args:
        order: The id of the cluster's order in its rollout.
    """

    cluster: str
    commit: str
    order: str


@dataclass(frozen=True)
class Approver:
    """A person, or CI, who approves."""

    key: Ed25519PrivateKey

    def approval(self, subject: Subject, phase: str, digest: str, by: str) -> Approval:
        """Return a signed approval of a preview."""
        given = Approval(phase, digest, by, datetime.now(UTC).isoformat(timespec="seconds"))
        return replace(given, signature=self.key.sign(_signed_text(subject, given)).hex())


def write_approver(path: Path) -> str:
    """Write the key of a new approver into a new file, and return the public key as it stands in `fleet.yaml`.

    Raises:
        ConfigError: The file cannot be made.
    """
    key = Ed25519PrivateKey.generate()
    write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii"))
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def approver() -> Approver:
    """Return who approves here.

    Raises:
        ConfigError: `FLEET_APPROVER_KEY_FILE` names no file with an approver's key.
    """
    fix = f"make a key with `okd-baremetal fleet approver NAME FILE`, and export {KEY_FILE}=FILE"
    name, content = key_of(KEY_FILE, fix)
    try:
        key = load_pem_private_key(content.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(Fault(KEY_FILE, f"{name} is not a file with the key of an approver", fix))
    return Approver(key)


def signer(approvers: Mapping[str, str], subject: Subject, approval: Approval) -> str | None:
    """Return the name of the approver who signed; None if none of them did.

    Args:
        approvers: Public keys in hexadecimal, by name.
        subject: What must have been approved.
        approval: Phase and digest are those that must have been approved.
    """
    text = _signed_text(subject, approval)
    return next((name for name, key in approvers.items() if _has_signed(key, approval.signature, text)), None)


def _has_signed(public_key: str, signature: str, text: bytes) -> bool:
    try:
        signed = bytes.fromhex(signature)
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(signed, text)
    except (InvalidSignature, ValueError):
        return False
    # `fromhex` skips blanks: in another spelling, the record of updates would take it for another approval.
    return signed.hex() == signature


def _signed_text(subject: Subject, approval: Approval) -> bytes:
    fields = asdict(subject) | asdict(approval) | {"purpose": PURPOSE, "signature": ""}
    return json.dumps(fields, sort_keys=True).encode()
