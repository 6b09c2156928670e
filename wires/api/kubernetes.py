"""Reads and changes resources of a Kubernetes API with a client certificate."""

import json
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

from pydantic import ValidationError

from assets.contract import API_PORT
from base.memory import in_memory, path_of
from base.shown import short
from base.spec import Model
from base.write_guard import make
from payload.kubeconfig import Kubeconfig
from payload.pem import certificates_of
from wires.api.https import get, pool_at, send
from wires.api.resources import EVICTION, ChangedError, CredentialError, FailingError, HeldError, R, RefusedError
from wires.api.writes import release_of, to_api
from wires.certificates import Life

TIMEOUT_S = 3
"""Limit of connect and of the handshake."""
ANSWER_S = 10
"""Limit of an answer: the list of a thousand nodes takes seconds."""

HOW_TO = "see docs/how-to/what-changed.md"
JSON, MERGE = "application/json", "application/merge-patch+json"
REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})
"""An admission web hook answers 403, or a code of its own below 500; a schema or another object of the name, 422."""

FAILURE, BUDGET = "Failure", "DisruptionBudget"
"""Of a Status: that the request failed (metav1.StatusFailure), and for a budget (policyv1.DisruptionBudgetCause)."""


class _Cause(Model):
    reason: str = ""
    message: str = ""


class _Details(Model):
    causes: tuple[_Cause, ...] = ()


class _Status(Model):
    """The answer of an API that has no resource to show."""

    status: str = ""
    code: int = 0
    message: str = ""
    details: _Details = _Details()

    @property
    def why(self) -> str:
        """The budget that holds a pod, which the message does not name; else the message."""
        budgets = [cause.message for cause in self.details.causes if cause.reason == BUDGET]
        return short("; ".join(budgets) or self.message)


@dataclass(frozen=True)
class KubeApi:
    """A Kubernetes API, at any address. Its certificate must be for `server_name` and signed by a CA of `tls`."""

    server_name: str
    tls: ssl.SSLContext
    """The trusted CAs, and the client's certificate."""
    client: Life
    """Of the client's certificate: an API does not say whether it has expired, or is one that it does not know."""
    port: int = API_PORT

    @classmethod
    def by(cls, kubeconfig: Kubeconfig, server_name: str) -> Self:
        """Return the API with this name, with the kubeconfig's user as its client."""
        context = ssl.create_default_context(cadata=kubeconfig.ca_pem)
        with in_memory(kubeconfig.client_pem) as file:  # Python's ssl reads a key only from a file
            context.load_cert_chain(path_of(file))
        return cls(server_name, context, Life.of(certificates_of(kubeconfig.client_pem)[0]))

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """Read one resource, on a new connection. None: it does not exist.

        Raises:
            CredentialError: See there.
            FailingError: The API failed, or the answer does not fit `model`.
            OSError: The connection or TLS failed, or no answer came in time.
        """
        status, content = get(pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S), path, ANSWER_S)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise self._refusal(status, _status_in(content).why)
        try:
            return model.model_validate_json(content)
        except ValidationError:  # its text quotes the content
            raise FailingError("the answer is not the requested resource") from None

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into one resource, on a new connection. See `KubernetesWriter`.

        Raises:
            ChangedError: It has changed since it was read.
            OSError: The connection or TLS failed, no answer came in time, or the API refused.
        """
        make(to_api(self.server_name, path, release=release_of(change)))
        self._change(address, "PATCH", path, {HTTPStatus.OK}, json.dumps(change).encode(), MERGE)

    def create(self, address: str, path: str, content: dict[str, Any]) -> None:
        """Make one resource, on a new connection. See `KubernetesKeeper`."""
        make(to_api(self.server_name, path, "create"))
        collection = path.rpartition("/")[0]
        self._change(address, "POST", collection, {HTTPStatus.CREATED}, json.dumps(content).encode(), JSON)

    def delete(self, address: str, path: str) -> None:
        """Have one resource deleted, on a new connection. See `KubernetesKeeper`."""
        make(to_api(self.server_name, path, "delete"))
        self._change(address, "DELETE", path, {HTTPStatus.OK, HTTPStatus.ACCEPTED, HTTPStatus.NOT_FOUND})

    def evict(self, address: str, pod: str, uid: str) -> None:
        """Evict one pod, on a new connection. See `KubernetesDrainer`.

        A pod with several budgets stays, although the status is 201: only the content says so (Create in
        pkg/registry/core/pod/storage/eviction.go of kubernetes 01aa0f3f6).
        """
        path = f"{pod}{EVICTION}"
        make(to_api(self.server_name, path, "create"))
        _, _, _, _, namespace, _, name = pod.split("/")
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        good = {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NOT_FOUND}
        content = self._change(address, "POST", path, good, json.dumps(eviction).encode(), JSON)
        answer = _status_in(content)
        if answer.status == FAILURE and answer.code != HTTPStatus.NOT_FOUND:
            raise HeldError(answer.why)

    def _change(  # noqa: PLR0913, PLR0917  (the parts of a request)
        self, address: str, method: str, path: str, good: Collection[int], body: bytes = b"", kind: str = ""
    ) -> bytes:
        pool = pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S)
        status, content = send(pool, method, path, ANSWER_S, body, kind)
        if status == HTTPStatus.CONFLICT:
            raise ChangedError(f"status {status}")
        why = _status_in(content).why
        # Of an eviction, it is the error of a web hook about this one pod, if the API says why.
        is_hooked = status == HTTPStatus.INTERNAL_SERVER_ERROR and path.endswith(EVICTION) and bool(why)
        if status == HTTPStatus.TOO_MANY_REQUESTS or is_hooked:
            raise HeldError(why or f"status {status}")
        if status in REFUSED:
            raise RefusedError(_said(status, why))
        if status not in good:
            raise self._refusal(status, why)
        return content

    def _refusal(self, status: int, why: str) -> ConnectionError:
        if status == HTTPStatus.FORBIDDEN:
            return CredentialError(_said(status, why))
        if status != HTTPStatus.UNAUTHORIZED:
            return FailingError(_said(status, why))
        verb = "expired on" if self.client.is_over(datetime.now(UTC)) else "is unknown to it, and valid until"
        when = f"{self.client.ends:%Y-%m-%d %H:%M} UTC"
        return CredentialError(f"status 401: the certificate of auth/kubeconfig's client {verb} {when}: {HOW_TO}")


def _said(status: int, why: str) -> str:
    return ": ".join(filter(None, (f"status {status}", why)))


def _status_in(content: bytes) -> _Status:
    """Return what an answer says; no object of this program that it may quote holds a secret."""
    try:
        return _Status.model_validate_json(content)
    except ValidationError:  # a resource, whose status is an object
        return _Status()
