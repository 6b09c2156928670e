"""The installer's kubeconfig, beside a stack's payload."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.ignition import Config, Resource
from base.errors import PayloadError
from payload.kubeconfig import api_ca, read_kubeconfig
from testing.certificates import authority
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from wires.api.kubernetes import KubeApi

DOMAIN = "okd.lab.test"


def test_a_missing_kubeconfig_is_none(payload: Path) -> None:
    assert read_kubeconfig("prod") is None
    payload.mkdir(parents=True)
    assert read_kubeconfig("prod") is None


def no_user(content: dict[str, Any]) -> None:
    content["users"] = []


def two_users(content: dict[str, Any]) -> None:
    content["users"] *= 2


def no_key(content: dict[str, Any]) -> None:
    del content["users"][0]["user"]["client-key-data"]


def key_of_another(content: dict[str, Any]) -> None:
    other = kubeconfig(authority("test-ca"))["users"][0]["user"]
    content["users"][0]["user"]["client-key-data"] = other["client-key-data"]


def no_base64(content: dict[str, Any]) -> None:
    content["users"][0]["user"]["client-key-data"] = "hunter2"


def no_authority(content: dict[str, Any]) -> None:
    content["clusters"][0]["cluster"]["certificate-authority-data"] = "aHVudGVyMg=="


@pytest.mark.parametrize("spoil", [no_user, two_users, no_key, key_of_another, no_base64, no_authority])
def test_an_unusable_kubeconfig_is_refused_without_its_content(
    spoil: Callable[[dict[str, Any]], None], payload: Path
) -> None:
    content = kubeconfig(authority("test-ca"))
    spoil(content)
    write_kubeconfig(payload, content)
    with pytest.raises(PayloadError, match="auth/kubeconfig: not one cluster's CA with one user's") as caught:
        read_kubeconfig("prod")
    assert caught.value.__suppress_context__
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "- a", "a: b: c", "\x00"], ids=["empty", "list", "no-yaml", "binary"])
def test_a_file_that_is_no_kubeconfig_is_refused(content: str, payload: Path) -> None:
    write_kubeconfig(payload).write_text(content)
    with pytest.raises(PayloadError, match="take the file that openshift-install wrote, or remove it"):
        read_kubeconfig("prod")


def test_an_unreadable_kubeconfig_is_refused(payload: Path) -> None:
    write_kubeconfig(payload).unlink()
    (payload / "auth" / "kubeconfig").mkdir()
    with pytest.raises(PayloadError, match="cannot be read"):
        read_kubeconfig("prod")


def test_the_key_is_in_no_repr(payload: Path) -> None:
    write_kubeconfig(payload)
    found = read_kubeconfig("prod")
    assert found
    assert b"PRIVATE" in found.client_pem
    assert "PRIVATE" not in repr((found, KubeApi.by(found, f"api.{DOMAIN}")))


def test_the_api_is_trusted_by_the_cas_of_payload_and_kubeconfig(payload: Path) -> None:
    of_payload, of_kubeconfig = authority("machine-config-server").pem, authority("test-ca").pem
    pointer = Config(certificate_authorities=(Resource.inline(of_payload),)).to_json().encode()
    write_kubeconfig(payload)
    assert api_ca(pointer, read_kubeconfig("prod")) == of_payload + of_kubeconfig
    assert api_ca(pointer, None) == of_payload
