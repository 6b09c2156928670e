"""The rules by which a certificate request is approved, each against the attack that it stops."""

import base64
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from providers.joining.certificates import Request, UnreadableError, content_of, refusal
from testing.certificate_requests import (
    ACCOUNTS,
    BOOTSTRAPPER,
    CLIENT,
    SERVING,
    Attribute,
    client_pem,
    client_request,
    pem,
    rsa_key,
    serving_pem,
    serving_request,
    subject_of,
)

HOST, OWN, OTHER = "worker-0", "192.0.2.31", "192.0.2.32"
NAME, ADDRESS = x509.DNSName(HOST), x509.IPAddress(ip_address(OWN))
NODES, JOINER = (NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{HOST}")
IN_ANOTHER_UNIT = (NameOID.ORGANIZATIONAL_UNIT_NAME, "x")


def refusal_of(shown: dict[str, Any], addresses: Sequence[str] = (OWN,), *, joined: bool | None = None) -> str | None:
    """Judge a request of `HOST`: it has joined when it asks for its serving certificate."""
    request = Request.model_validate(shown)
    known = request.spec.signer == SERVING if joined is None else joined
    return refusal(request, content_of(request), HOST, addresses, joined=known)


def with_pem(content: bytes) -> Request:
    return Request.model_validate(client_request(HOST, content=content))


class TestWhatAKubeletSends:
    """It is approved."""

    @pytest.mark.parametrize(
        ("request_", "addresses"),
        [
            pytest.param(client_request(HOST), [OWN], id="client"),
            pytest.param(serving_request(HOST, OWN), [OWN], id="serving"),
            pytest.param(serving_request(HOST, OWN), [OTHER, OWN], id="one-of-its-addresses"),
            pytest.param(serving_request(HOST, OWN, "2001:db8::31"), [OWN, "2001:db8::31"], id="both-families"),
            pytest.param(
                client_request(
                    HOST,
                    content=pem(subject_of(HOST), signed_with=rsa_key()),
                    usages=["key encipherment", "digital signature", "client auth"],
                ),
                [OWN],
                id="with-an-rsa-key",
            ),
            pytest.param(
                serving_request(
                    HOST,
                    content=pem(subject_of(HOST), [NAME, ADDRESS], signed_with=rsa_key()),
                    usages=["key encipherment", "digital signature", "server auth"],
                ),
                [OWN],
                id="serving-with-an-rsa-key",
            ),
        ],
    )
    def test_a_request_as_a_kubelet_sends_it_is_approved(
        self, request_: dict[str, Any], addresses: list[str]
    ) -> None:
        assert refusal_of(request_, addresses) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"username": "system:admin"}, f"requestor: system:admin, wanted {BOOTSTRAPPER}", id="requestor"),
        pytest.param({"username": f"system:node:{HOST}"}, "requestor: system:node:worker-0, wanted", id="itself"),
        pytest.param({"username": f"{BOOTSTRAPPER}\n"}, "requestor: ", id="almost"),
        pytest.param(
            {"groups": [*ACCOUNTS, "system:authenticated", "system:masters"]},
            "groups: system:authenticated and system:masters and system:serviceaccounts",
            id="one-more-group",
        ),
        pytest.param({"groups": [*ACCOUNTS]}, "groups: system:serviceaccounts and", id="a-group-less"),
        pytest.param({"groups": []}, "groups: none, wanted system:authenticated and", id="no-groups"),
        pytest.param(
            {"usages": ["digital signature", "client auth", "server auth"]},
            "usages: client auth and digital signature and server auth, wanted client auth and digital signature",
            id="one-more-usage",
        ),
        pytest.param({"usages": ["digital signature"]}, "usages: digital signature, wanted", id="a-usage-less"),
        pytest.param({"usages": ["digital signature", "cert sign"]}, "usages: cert sign and", id="as-a-ca"),
    ],
)
def test_a_client_request_of_someone_or_for_something_else_is_refused(changes: dict[str, Any], why: str) -> None:
    assert str(refusal_of(client_request(HOST, **changes))).startswith(why)


@pytest.mark.parametrize(
    ("subject", "actual"),
    [
        pytest.param(subject_of("worker-1"), "CN=system:node:worker-1 and O=system:nodes", id="another-node"),
        pytest.param([NODES, (NameOID.COMMON_NAME, HOST)], "CN=worker-0 and O=system:nodes", id="no-node"),
        pytest.param(
            [NODES, (NameOID.COMMON_NAME, "system:admin")], "CN=system:admin and O=system:nodes", id="admin"
        ),
        pytest.param([NODES], "O=system:nodes", id="nobody"),
        pytest.param([JOINER], "CN=system:node:worker-0", id="no-organization"),
        pytest.param(
            [(NameOID.ORGANIZATION_NAME, "system:masters"), JOINER],
            "CN=system:node:worker-0 and O=system:masters",
            id="another-organization",
        ),
        pytest.param(
            [NODES, (NameOID.ORGANIZATION_NAME, "system:masters"), JOINER],
            "CN=system:node:worker-0 and O=system:masters and O=system:nodes",
            id="one-more-organization",
        ),
        pytest.param(
            [NODES, JOINER, (NameOID.COMMON_NAME, "system:admin")],
            "CN=system:admin and CN=system:node:worker-0 and O=system:nodes",
            id="two-names",
        ),
        pytest.param(
            [NODES, JOINER, IN_ANOTHER_UNIT], "CN=system:node:worker-0 and O=system:nodes and OU=x", id="one-more"
        ),
    ],
)
def test_another_subject_is_refused(subject: list[Attribute], actual: str) -> None:
    wanted = "wanted CN=system:node:worker-0 and O=system:nodes"
    assert refusal_of(client_request(HOST, content=pem(subject))) == f"subject: {actual}, {wanted}"
    serving = serving_request(HOST, content=pem(subject, [NAME, ADDRESS]))
    assert refusal_of(serving) == f"subject: {actual}, {wanted}"


@pytest.mark.parametrize(
    "names",
    [[NAME], [ADDRESS], [x509.UniformResourceIdentifier("https://x")], [x509.RFC822Name("root@x")]],
    ids=["dns", "address", "uri", "e-mail"],
)
def test_a_client_request_with_an_alternative_name_is_refused(names: list[x509.GeneralName]) -> None:
    why = refusal_of(client_request(HOST, content=pem(subject_of(HOST), names)))
    assert why == "attributes: 1.2.840.113549.1.9.14, wanted none"


def test_a_client_request_that_wants_to_be_a_ca_is_refused() -> None:
    content = pem(subject_of(HOST), extensions=[x509.BasicConstraints(ca=True, path_length=None)])
    assert str(refusal_of(client_request(HOST, content=content))).startswith("attributes: ")


def test_a_second_client_request_for_a_node_that_has_joined_is_refused() -> None:
    assert str(refusal_of(client_request(HOST), joined=True)).startswith(
        "node worker-0 has joined already; delete that"
    )


def test_a_serving_request_before_the_node_has_joined_is_refused() -> None:
    assert refusal_of(serving_request(HOST, OWN), joined=False) == "there is no node worker-0 yet"


@pytest.mark.parametrize(
    ("names", "why"),
    [
        pytest.param([ADDRESS], "names: none, wanted worker-0", id="no-name"),
        pytest.param(
            [NAME, x509.DNSName("api.okd.lab.test"), ADDRESS],
            "names: api.okd.lab.test and worker-0, wanted worker-0",
            id="one-more-name",
        ),
        pytest.param([x509.DNSName("worker-1"), ADDRESS], "names: worker-1, wanted worker-0", id="another-name"),
        pytest.param([x509.DNSName("*"), NAME, ADDRESS], "names: * and worker-0, wanted worker-0", id="wildcard"),
        pytest.param([NAME, NAME, ADDRESS], "names: worker-0 and worker-0, wanted worker-0", id="twice"),
        pytest.param([NAME], "addresses: none, wanted 192.0.2.31", id="no-address"),
        pytest.param(
            [NAME, ADDRESS, x509.IPAddress(ip_address(OTHER))],
            "addresses: 192.0.2.31 and 192.0.2.32, wanted 192.0.2.31",
            id="one-more-address",
        ),
        pytest.param(
            [NAME, x509.IPAddress(ip_address(OTHER))],
            "addresses: 192.0.2.32, wanted 192.0.2.31",
            id="another-address",
        ),
        pytest.param(
            [NAME, x509.IPAddress(ip_network("192.0.2.31/32"))],
            "addresses: 192.0.2.31/32, wanted 192.0.2.31",
            id="a-network",
        ),
        pytest.param(
            [NAME, x509.IPAddress(ip_address("::ffff:192.0.2.31"))],
            "addresses: ::ffff:",
            id="an-address-in-disguise",
        ),
        pytest.param(
            [NAME, ADDRESS, x509.UniformResourceIdentifier("https://x")],
            "names: UniformResourceIdentifier https://x and worker-0, wanted worker-0",
            id="uri",
        ),
        pytest.param(
            [NAME, ADDRESS, x509.RFC822Name("root@x")], "names: RFC822Name root@x and worker-0, wanted", id="e-mail"
        ),
        pytest.param(
            [NAME, ADDRESS, x509.RegisteredID(x509.ObjectIdentifier("1.2.3"))],
            "names: RegisteredID <ObjectIdentifier(oid=1.2.3",
            id="anything-else",
        ),
    ],
)
def test_a_serving_request_for_other_names_than_the_host_s_is_refused(
    names: list[x509.GeneralName], why: str
) -> None:
    assert str(refusal_of(serving_request(HOST, content=pem(subject_of(HOST), names)))).startswith(why)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param(
            {"username": BOOTSTRAPPER}, f"requestor: {BOOTSTRAPPER}, wanted system:node:worker-0", id="early"
        ),
        pytest.param(
            {"username": "system:node:worker-1"}, "requestor: system:node:worker-1, wanted", id="other-node"
        ),
        pytest.param({"groups": ["system:authenticated"]}, "groups: system:authenticated, wanted", id="no-node"),
        pytest.param(
            {"groups": ["system:nodes", "system:authenticated", "system:masters"]}, "groups: ", id="one-more-group"
        ),
        pytest.param(
            {"usages": ["digital signature", "server auth", "client auth"]},
            "usages: client auth and digital signature and server auth, wanted digital signature and server auth",
            id="one-more-usage",
        ),
    ],
)
def test_a_serving_request_of_someone_or_for_something_else_is_refused(changes: dict[str, Any], why: str) -> None:
    assert str(refusal_of(serving_request(HOST, OWN, **changes))).startswith(why)


def test_a_serving_request_with_an_extension_beside_its_names_is_refused() -> None:
    content = pem(subject_of(HOST), [NAME, ADDRESS], [x509.BasicConstraints(ca=True, path_length=None)])
    why = refusal_of(serving_request(HOST, content=content))
    assert why == "extensions: 2.5.29.17 and 2.5.29.19, wanted 2.5.29.17"


def test_each_kind_is_checked_by_its_own_rules() -> None:
    as_client = serving_request(HOST, OWN, signerName=CLIENT)
    as_server = client_request(HOST, signerName=SERVING)
    assert str(refusal_of(as_client)).startswith("requestor: system:node:worker-0, wanted ")
    assert str(refusal_of(as_server)).startswith(f"requestor: {BOOTSTRAPPER}, wanted ")


def der(tag: int, *parts: bytes) -> bytes:
    """Encode a value of up to 64 KiB, its length in as few bytes as possible."""
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 0x80 else b"\x81" + bytes([size]) if size < 0x100 else b"\x82" + size.to_bytes(2)
    return bytes([tag]) + length + content


def as_pem(content: bytes) -> bytes:
    lines = base64.encodebytes(content).replace(b"\n", b"")
    split = b"\n".join(lines[at : at + 64] for at in range(0, len(lines), 64))
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + split + b"\n-----END CERTIFICATE REQUEST-----\n"


def with_two_attributes() -> bytes:
    """Return a request whose second attribute has one more name, which Go reads, and this library does not."""
    read = x509.load_pem_x509_csr(serving_pem(HOST, OWN))
    whole = read.tbs_certrequest_bytes
    hidden = x509.SubjectAlternativeName([x509.DNSName("api.okd.lab.test")]).public_bytes()
    extension = der(0x30, bytes.fromhex("0603551d11"), der(0x04, hidden))
    attribute = der(0x30, bytes.fromhex("06092a864886f70d01090e"), der(0x31, der(0x30, extension)))
    first = whole.rindex(bytes.fromhex("06092a864886f70d01090e")) - 2
    head = whole[4 if whole[1] == 0x82 else 3 if whole[1] == 0x81 else 2 : first - 2]
    tbs = der(0x30, head, der(0xA0, *sorted([whole[first:], attribute])))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")
    return as_pem(der(0x30, tbs, algorithm, der(0x03, b"\0" + read.signature)))


def test_a_name_hidden_in_a_second_attribute_is_refused() -> None:
    why = refusal_of(serving_request(HOST, content=with_two_attributes()))
    oid = "1.2.840.113549.1.9.14"
    assert why == f"attributes: {oid} and {oid}, wanted {oid}"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"hello", id="text"),
        pytest.param(client_pem(HOST)[:-40], id="torn"),
        pytest.param(client_pem(HOST).replace(b"CERTIFICATE REQUEST", b"CERTIFICATE"), id="not-a-request"),
        pytest.param(client_pem(HOST).replace(b"BEGIN CERT", b"BEGIN NEW CERT"), id="two-labels"),
        pytest.param(client_pem(HOST) + client_pem("worker-1"), id="two-requests"),
        pytest.param(
            client_pem("worker-1").replace(b"-----\n", b"-----\nA: b\n\n", 1) + client_pem(HOST), id="hidden"
        ),
        pytest.param(b"for worker-1\n" + client_pem(HOST), id="text-before-it"),
        pytest.param(client_pem(HOST).replace(b"\n", b"\r\n"), id="other-line-ends"),
        pytest.param(as_pem(b"\x30\x03\x02\x01\x05"), id="no-request-inside"),
    ],
)
def test_what_is_not_one_request_as_a_kubelet_writes_it_is_unreadable(content: bytes) -> None:
    with pytest.raises(UnreadableError):
        content_of(with_pem(content or b" "))


def test_a_request_that_is_not_base64_is_unreadable() -> None:
    with pytest.raises(UnreadableError, match="not a certificate request in PEM"):
        content_of(Request.model_validate(client_request(HOST, request="%%%")))


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_is_unreadable_or_checked_and_never_another_error(at: int, bit: int) -> None:
    read = bytearray(x509.load_pem_x509_csr(serving_pem(HOST, OWN)).public_bytes(Encoding.DER))
    read[at % len(read)] ^= 1 << bit
    request = Request.model_validate(serving_request(HOST, content=as_pem(bytes(read))))
    try:
        content = content_of(request)
    except UnreadableError:
        return
    if (content.subject, content.names) != (
        (("CN", f"system:node:{HOST}"), ("O", "system:nodes")),
        (NAME.value, ip_address(OWN)),
    ):
        assert refusal(request, content, HOST, [OWN], joined=True) is not None


def test_a_message_has_one_line_whatever_the_request_contains() -> None:
    content = pem([NODES, (NameOID.COMMON_NAME, "system:node:worker-0\nmaster")])
    why = str(refusal_of(client_request(HOST, content=content)))
    assert "\n" not in why
    assert "worker-0\\nmaster" in why
