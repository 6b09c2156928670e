"""The installer's kubeconfig, beside a stack's payload."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.ignition import Config, Resource
from base.errors import PayloadError
from payload.kubeconfig import add_authority, api_ca, check_kubeconfig, kubeconfig_path, read_kubeconfig
from testing.certificates import authority
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from wires.api.kubernetes import KubeApi

DOMAIN = "okd.lab.test"


def test_a_missing_kubeconfig_is_none(payload: Path) -> None:
    assert read_kubeconfig("prod") is None
    payload.mkdir(parents=True)
    assert read_kubeconfig("prod") is None


def test_the_routers_ca_comes_before_the_cluster_s_and_only_once(payload: Path) -> None:
    write_kubeconfig(payload)
    before, routers = read_kubeconfig("prod"), authority("routers").pem
    assert before is not None
    assert add_authority("prod", routers)
    assert add_authority("prod", routers)
    after = read_kubeconfig("prod")
    assert after is not None
    assert (after.ca_pem, after.client_pem) == (routers + before.ca_pem, before.client_pem)
    assert kubeconfig_path("prod").stat().st_mode & 0o777 == 0o600


def test_what_is_no_certificate_leaves_the_kubeconfig_as_it_is(payload: Path) -> None:
    write_kubeconfig(payload)
    before = kubeconfig_path("prod").read_bytes()
    assert not add_authority("prod", "no certificate")
    assert kubeconfig_path("prod").read_bytes() == before


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


@pytest.mark.parametrize("spoil", [no_user, two_users, no_key, key_of_another, no_base64])
def test_an_unusable_kubeconfig_is_refused_without_its_content(
    spoil: Callable[[dict[str, Any]], None], payload: Path
) -> None:
    content = kubeconfig(authority("test-ca"))
    spoil(content)
    write_kubeconfig(payload, content)
    with pytest.raises(PayloadError, match="auth/kubeconfig: not one cluster with one user's") as caught:
        read_kubeconfig("prod")
    assert caught.value.__suppress_context__
    assert "hunter2" not in str(caught.value)


def test_a_ca_that_is_not_pem_is_refused_without_its_content(payload: Path) -> None:
    content = kubeconfig(authority("test-ca"))
    no_authority(content)
    write_kubeconfig(payload, content)
    with pytest.raises(PayloadError, match="its `certificate-authority-data` is not PEM") as caught:
        read_kubeconfig("prod")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "- a", "a: b: c", "\x00"], ids=["empty", "list", "no-yaml", "binary"])
def test_a_file_that_is_no_kubeconfig_is_refused(content: str, payload: Path) -> None:
    write_kubeconfig(payload).write_text(content)
    with pytest.raises(PayloadError, match="take the file that openshift-install wrote, or remove it"):
        read_kubeconfig("prod")


def ca_of(content: dict[str, Any], **keys: object) -> None:
    """Take the CA out of a kubeconfig, as OpenShift's documentation has it for a certificate of the API's own."""
    cluster = content["clusters"][0]["cluster"]
    del cluster["certificate-authority-data"]
    cluster.update(keys)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_without_a_ca_the_machines_cas_are_trusted(
    variable: str, payload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case CERT1: the CA is taken out of the kubeconfig, as is documented for a certificate of the API's own."""
    corporate = authority("corporate-ca").pem
    trusted = tmp_path / "trusted" / "0a1b2c3d.0"
    trusted.parent.mkdir()
    trusted.write_text(f"# Zertifikat der Muster GmbH \u2122\n{corporate}", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    monkeypatch.setenv(variable, str(trusted if variable == "SSL_CERT_FILE" else trusted.parent))
    content = kubeconfig(authority("test-ca"))
    ca_of(content)
    write_kubeconfig(payload, content)
    found = read_kubeconfig("prod")
    assert found
    assert found.ca_pem == corporate
    pointer = Config(certificate_authorities=(Resource.inline(authority("test-ca").pem),)).to_json().encode()
    assert api_ca(pointer, found) == authority("test-ca").pem + corporate
    check_kubeconfig("prod", None, DOMAIN, found)


def test_a_bundle_with_comments_is_trusted(payload: Path) -> None:
    """Case CERT1: the CA of the API's own certificate beside that of the payload."""
    both = f"# Würzburg\n{authority('test-ca').pem}# b\n{authority('corporate-ca').pem}"
    content = kubeconfig(authority("test-ca"))
    ca_of(content, **{"certificate-authority-data": base64.b64encode(both.encode()).decode()})
    write_kubeconfig(payload, content)
    found = read_kubeconfig("prod")
    assert found
    assert found.ca_pem == authority("test-ca").pem + authority("corporate-ca").pem
    assert len(KubeApi.by(found, f"api.{DOMAIN}").tls.get_ca_certs()) == 2


@pytest.mark.parametrize(
    ("key", "value"), [("insecure-skip-tls-verify", True), ("certificate-authority", "/etc/pki/ca.crt")]
)
def test_a_kubeconfig_that_hides_its_ca_is_refused_with_the_key(key: str, value: object, payload: Path) -> None:
    content = kubeconfig(authority("test-ca"))
    ca_of(content, **{key: value})
    write_kubeconfig(payload, content)
    with pytest.raises(PayloadError, match=rf"it has `{key}`, .*Fix: put the PEM of the API's CA"):
        read_kubeconfig("prod")


def test_no_ca_at_all_is_refused(payload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    content = kubeconfig(authority("test-ca"))
    ca_of(content)
    write_kubeconfig(payload, content)
    with pytest.raises(PayloadError, match=r"this machine trusts no CA\. Fix: install ca-certificates"):
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


def test_a_key_of_an_unknown_kind_is_refused_in_a_line(payload: Path) -> None:
    """S17 of issue 43: a PKCS #8 key of an algorithm that cryptography does not know."""
    odd = kubeconfig(authority("test-ca"))
    user = odd["users"][0]["user"]
    lines = base64.b64decode(user["client-key-data"]).decode().splitlines()
    der = base64.b64decode("".join(lines[1:-1])).replace(
        bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2a8648ce3d027f")
    )
    pem = "\n".join([lines[0], base64.b64encode(der).decode(), lines[-1]])
    user["client-key-data"] = base64.b64encode(pem.encode()).decode()
    write_kubeconfig(payload, odd)
    with pytest.raises(PayloadError, match="not one cluster with one user's client certificate and key"):
        read_kubeconfig("prod")


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "a: " + "{b: " * 20_000, "- " * 60_000], ids=["lists", "maps", "block"]
)
def test_deep_nesting_is_refused_in_a_line(payload: Path, text: str) -> None:
    """S17 of issue 43."""
    write_kubeconfig(payload).write_text(text)
    with pytest.raises(PayloadError, match="not one cluster"):
        read_kubeconfig("prod")
