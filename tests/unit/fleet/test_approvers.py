"""Signatures of approvals: of all that they are about, and by the approvers of a site's plan only."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from base.errors import ConfigError
from fleet import approvers
from fleet.approvers import Subject, approver, signer, write_approver
from fleet.messages import Approval
from testing.approvers import JANE, approver_of, public_key

SUBJECT = Subject("north-a", "0" * 40, "an order")
APPROVAL = JANE.approval(SUBJECT, "bootstrap", "5eed" * 16, "jane@desk")
KNOWN = {"john": public_key(approver_of(2)), "jane": public_key(JANE)}


def test_the_signer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert signer(KNOWN, SUBJECT, APPROVAL) == "jane"
    key = write_approver(tmp_path / "key")
    monkeypatch.setenv(approvers.KEY_FILE, str(tmp_path / "key"))
    signed = approver().approval(SUBJECT, "bootstrap", "5eed", "a")
    assert signer({"new": key}, SUBJECT, signed) == "new"
    assert signer(KNOWN, SUBJECT, signed) is None


@pytest.mark.parametrize("name", [each.name for each in fields(Subject)])
def test_a_signature_is_of_one_subject(name: str) -> None:
    assert signer(KNOWN, replace(SUBJECT, **{name: "another"}), APPROVAL) is None


@pytest.mark.parametrize("name", [each.name for each in fields(Approval)])
def test_a_signature_is_of_one_approval(name: str) -> None:
    for value in ("another", "", f"{getattr(APPROVAL, name)} "):
        assert signer(KNOWN, SUBJECT, replace(APPROVAL, **{name: value})) is None


@pytest.mark.parametrize("spelling", [str.upper, lambda text: f" {text}", lambda text: f"{text[:8]} {text[8:]}"])
def test_a_signature_has_one_spelling(spelling: Callable[[str], str]) -> None:
    """Else one approval would count as many."""
    assert signer(KNOWN, SUBJECT, replace(APPROVAL, signature=spelling(APPROVAL.signature))) is None


def test_fields_cannot_be_shifted_into_each_other() -> None:
    """What one field has at its end does not count as the beginning of the next."""
    shifted = replace(SUBJECT, cluster=SUBJECT.cluster + SUBJECT.commit, commit="")
    assert signer(KNOWN, shifted, APPROVAL) is None


def test_a_plan_without_approvers_has_no_signer() -> None:
    assert signer({}, SUBJECT, APPROVAL) is None


def test_a_key_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.touch(0o600)
    key = generate_private_key(65537, 2048)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    monkeypatch.setenv(approvers.KEY_FILE, str(file))
    with pytest.raises(ConfigError, match="is not a file with the key of an approver"):
        approver()
