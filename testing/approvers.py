"""An approver whose key is public, so that every developer can sign as he does."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fleet.approvers import Approver


def approver_of(number: int) -> Approver:
    """Return one of many approvers."""
    return Approver(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


def public_key(approver: Approver) -> str:
    """Return an approver's public key, as it stands in `fleet.yaml`."""
    return approver.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


JANE = approver_of(1)
