"""The rules by which a certificate request of a kubelet is approved.

A server asks twice: for the client certificate that makes it a node, and, as that node, for its serving certificate.
What a request may contain is written down whole, and compared: whatever else it contains, it is not approved.
"""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from base.errors import one_line
from base.spec import Model

if TYPE_CHECKING:
    from cryptography import x509

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
OF_RSA = "key encipherment"
"""The usage that a kubelet adds if its key is an RSA key."""
Facts = Mapping[str, tuple[Collection[object], Collection[object]]]
"""What a request shows, and what is wanted, by the words for it."""
APPROVED_HERE = "ApprovedByOkdBaremetal"
"""Reason of our approvals. An `up` that was interrupted finds its own by it."""


class Condition(Model):
    """A condition of a request."""

    type: str
    reason: str = ""
    at: str = Field("", alias="lastUpdateTime")


class _Metadata(Model):
    name: str
    uid: str = ""
    version: str = Field("", alias="resourceVersion")


class _Wanted(Model):
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
    spec: _Wanted
    status: _Status = _Status()

    @property
    def is_pending(self) -> bool:
        """Whether nobody has approved or denied it, and no signer has failed on it."""
        return not self.status.conditions

    @property
    def approved_here(self) -> Condition | None:
        """Our own approval, if it has one."""
        return next((each for each in self.status.conditions if each.reason == APPROVED_HERE), None)


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
        """The node that it is for, as its common name says; empty if it says none."""
        found = [value for name, value in self.subject if name == "CN" and value.startswith(NODE)]
        return found[0].removeprefix(NODE) if len(found) == 1 else ""


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

    alternative = [each.value for each in csr.extensions if isinstance(each.value, x509.SubjectAlternativeName)]
    return Content(
        subject=tuple(sorted((each.rfc4514_attribute_name, str(each.value)) for each in csr.subject)),
        attributes=tuple(each.oid.dotted_string for each in csr.attributes),
        extensions=tuple(each.oid.dotted_string for each in csr.extensions),
        names=tuple(
            each.value if isinstance(each, x509.DNSName | x509.IPAddress) else f"{type(each).__name__} {each.value}"
            for names in alternative
            for each in names
        ),
    )


def refusal(request: Request, content: Content, host: str, addresses: Collection[str], *, joined: bool) -> str | None:
    """Return why the request is not approved. None: it is the request of this host that the cluster waits for.

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
    wanted: Facts = {
        "requestor": ((request.spec.username,), (BOOTSTRAPPER if signer == CLIENT else NODE + host,)),
        "groups": ({*request.spec.groups}, GROUPS[signer]),
        "usages": ({*request.spec.usages} - {OF_RSA}, USAGES[signer]),
        "subject": (content.subject, (("CN", NODE + host), ("O", NODES))),
        **(_no_names(content) if signer == CLIENT else _own_names(content, host, addresses)),
    }
    differing = ((what, seen, right) for what, (seen, right) in wanted.items() if seen != right)
    return next((f"{what}: {_shown(seen)}, wanted {_shown(right)}" for what, seen, right in differing), None)


def _no_names(content: Content) -> Facts:
    return {"attributes": (content.attributes, ())}


def _own_names(content: Content, host: str, addresses: Collection[str]) -> Facts:
    """Compare the alternative names: the host's name, and at least one address, all of them the host's own.

    Go reads every attribute with extensions, this library only the first, so there must be no second one.
    """
    named = tuple(each for each in content.names if isinstance(each, str))
    numbers = {str(each) for each in content.names if not isinstance(each, str)}
    own = {*addresses}
    return {
        "attributes": (content.attributes, ("1.2.840.113549.1.9.14",)),
        "extensions": (content.extensions, ("2.5.29.17",)),
        "names": (named, (host,)),
        "addresses": (numbers, numbers & own or own),
    }


def _shown(value: Collection[object]) -> str:
    parts = ["=".join(each) if isinstance(each, tuple) else str(each) for each in value]
    return one_line(" and ".join(sorted(parts))) or "none"
