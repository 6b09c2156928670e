"""The rules by which a certificate request of a kubelet is approved.

A server asks twice: for the client certificate that makes it a node, and, as that node, for its serving certificate.
The rules list everything that a request may contain; one that contains anything else is not approved.
"""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from base.shown import short
from base.spec import Model

if TYPE_CHECKING:
    from cryptography import x509

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVAL = REQUESTS + "/{}/approval"
CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
"""The account whose token machine-config-operator gives to servers that are to become nodes."""
NODE, NODES = "system:node:", "system:nodes"
ANYBODY = "system:authenticated"
GROUPS = {
    CLIENT: {"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", ANYBODY},
    SERVING: {NODES, ANYBODY},
}
USAGES = {CLIENT: {"digital signature", "client auth"}, SERVING: {"digital signature", "server auth"}}
RSA_USAGE = "key encipherment"
"""The usage that a kubelet adds if its key is an RSA key."""
Comparisons = Mapping[str, tuple[Collection[object], Collection[object]]]
"""By the name of each part of a request: what it contains, and what is wanted."""
APPROVED_HERE = "ApprovedByOkdBaremetal"
"""Reason of this program's approvals, by which the next `up` finds those of one that was interrupted."""


class Approval(Model):
    """An approved certificate request of a host."""

    request: str
    """Its name in the cluster."""
    signer: str
    at: str
    """Time of the approval, in UTC."""


class Condition(Model):
    """A condition of a request."""

    type: str
    reason: str = ""
    at: str = Field("", alias="lastUpdateTime")


class _Metadata(Model):
    name: str
    uid: str = ""
    version: str = Field("", alias="resourceVersion")
    created: str = Field("", alias="creationTimestamp")


class _RequestSpec(Model):
    request: str
    signer: str = Field(alias="signerName")
    username: str = ""
    groups: tuple[str, ...] = ()
    usages: tuple[str, ...] = ()


class _Status(Model):
    conditions: tuple[Condition, ...] = ()


class Request(Model):
    """A CertificateSigningRequest. The API itself has filled in who sent it: `username` and `groups`."""

    metadata: _Metadata
    spec: _RequestSpec
    status: _Status = _Status()

    @property
    def is_pending(self) -> bool:
        """Whether nobody has approved or denied it, and no signer has failed on it."""
        return not self.status.conditions

    @property
    def approved_here(self) -> Condition | None:
        """This program's approval, if it has one."""
        return next((condition for condition in self.status.conditions if condition.reason == APPROVED_HERE), None)


class Requests(Model):
    """All certificate requests."""

    items: tuple[Request, ...] = ()


class UnreadableError(Exception):
    """Not one certificate request in PEM, or one that other programs may read otherwise."""


@dataclass(frozen=True)
class Content:
    """The content of a certificate request."""

    subject: tuple[tuple[str, str], ...]
    """Each attribute's name and value, sorted."""
    attributes: tuple[str, ...]
    """Object ids."""
    extensions: tuple[str, ...]
    """Object ids."""
    names: tuple[Any, ...]
    """The subject's alternative names; addresses are `IPv4Address` or `IPv6Address`."""

    @property
    def host(self) -> str:
        """The node that its common name names; empty if it names none."""
        names = [value for name, value in self.subject if name == "CN" and value.startswith(NODE)]
        return names[0].removeprefix(NODE) if len(names) == 1 else ""


def content_of(request: Request) -> Content:
    """Return the content of a request.

    Raises:
        UnreadableError: See there.
    """
    from cryptography import x509  # noqa: PLC0415
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    # Raised for what DER cannot be, and for what it can be and this library does not know.
    unknown = (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, UnsupportedAlgorithm)
    try:
        pem = base64.b64decode(request.spec.request, validate=True)
        csr = x509.load_pem_x509_csr(pem)
        # The signer parses it again, in Go: a second block, or another encoding, could be another request there.
        if csr.public_bytes(Encoding.PEM) != pem:
            raise UnreadableError("more than one request in PEM as a kubelet writes it")
        return _content(csr)
    except (*unknown, x509.InvalidVersion) as error:
        raise UnreadableError(f"not a certificate request in PEM ({type(error).__name__})") from None


def _content(csr: "x509.CertificateSigningRequest") -> Content:
    from cryptography import x509  # noqa: PLC0415

    alternative = [
        extension.value for extension in csr.extensions if isinstance(extension.value, x509.SubjectAlternativeName)
    ]
    return Content(
        subject=tuple(sorted((part.rfc4514_attribute_name, str(part.value)) for part in csr.subject)),
        attributes=tuple(attribute.oid.dotted_string for attribute in csr.attributes),
        extensions=tuple(extension.oid.dotted_string for extension in csr.extensions),
        names=tuple(
            name.value if isinstance(name, x509.DNSName | x509.IPAddress) else f"{type(name).__name__} {name.value}"
            for names in alternative
            for name in names
        ),
    )


def refusal(request: Request, content: Content, host: str, addresses: Collection[str], *, joined: bool) -> str | None:
    """Return why the request is not approved. None: it is exactly the request that this host has to send.

    Args:
        request: A request for one of the two kinds of certificates.
        content: Its content.
        host: The host that is being installed; its node has the same name.
        addresses: All addresses of that host.
        joined: Whether the cluster has a node of that name.
    """
    signer = request.spec.signer
    if signer == CLIENT and joined:
        return f"node {host} has joined already; delete that node first, if the server was installed again"
    if signer == SERVING and not joined:
        return f"there is no node {host} yet"
    wanted: Comparisons = {
        "requestor": ((request.spec.username,), (BOOTSTRAPPER if signer == CLIENT else NODE + host,)),
        "groups": ({*request.spec.groups}, GROUPS[signer]),
        "usages": ({*request.spec.usages} - {RSA_USAGE}, USAGES[signer]),
        "subject": (content.subject, (("CN", NODE + host), ("O", NODES))),
        **(_no_names(content) if signer == CLIENT else _own_names(content, host, addresses)),
    }
    differing = ((what, actual, right) for what, (actual, right) in wanted.items() if actual != right)
    return next((f"{what}: {_shown(actual)}, wanted {_shown(right)}" for what, actual, right in differing), None)


def _no_names(content: Content) -> Comparisons:
    return {"attributes": (content.attributes, ())}


def _own_names(content: Content, host: str, addresses: Collection[str]) -> Comparisons:
    """Compare the alternative names: the host's name, and at least one address, all of them the host's own.

    Go reads every attribute with extensions, this library only the first, so there must be no second one.
    """
    names = tuple(name for name in content.names if isinstance(name, str))
    listed = {str(name) for name in content.names if not isinstance(name, str)}
    own = {*addresses}
    return {
        "attributes": (content.attributes, ("1.2.840.113549.1.9.14",)),
        "extensions": (content.extensions, ("2.5.29.17",)),
        "names": (names, (host,)),
        "addresses": (listed, listed & own or own),
    }


def _shown(value: Collection[object]) -> str:
    parts = ["=".join(part) if isinstance(part, tuple) else str(part) for part in value]
    return short(" and ".join(sorted(parts))) or "none"
