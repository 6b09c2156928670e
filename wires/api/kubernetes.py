"""Reads resources of a Kubernetes API with a client certificate."""

import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self, TypeVar

from pydantic import BaseModel, ValidationError

from assets.contract import API_PORT
from payload.kubeconfig import Kubeconfig
from providers.base.memory import in_memory, path_of
from wires.api.https import get, pool_at

TIMEOUT_S = 3
"""Limit of each step: connect, handshake, answer."""

_Resource = TypeVar("_Resource", bound=BaseModel)


@dataclass(frozen=True)
class KubeApi:
    """A Kubernetes API, at any address. Its certificate must be for `server_name` and signed by a CA of `tls`."""

    server_name: str
    tls: ssl.SSLContext
    """The trusted CAs, and the client's certificate."""
    port: int = API_PORT

    @classmethod
    def by(cls, kubeconfig: Kubeconfig, domain: str) -> Self:
        """Return the API of the cluster with this domain, with the kubeconfig's user as its client."""
        context = ssl.create_default_context(cadata=kubeconfig.ca_pem)
        with in_memory(kubeconfig.client_pem) as file:  # Python's ssl reads a key only from a file
            context.load_cert_chain(path_of(file))
        return cls(f"api.{domain}", context)

    def get(self, address: str, path: str, model: type[_Resource]) -> _Resource | None:
        """Read one resource, on a new connection. None: it does not exist.

        Raises:
            OSError: The connection or TLS failed, no answer came in time, the API refused, or the answer does not fit
                `model`.
        """
        status, content = get(pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S), path)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise ConnectionError(f"status {status}")
        try:
            return model.model_validate_json(content)
        except ValidationError:  # its text quotes the content
            raise ConnectionError("the answer is not the requested resource") from None
