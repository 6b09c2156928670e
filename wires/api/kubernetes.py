"""Resources of a Kubernetes API, as the holder of a client certificate reads them."""

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
"""Per step: connect, handshake, answer."""

_Resource = TypeVar("_Resource", bound=BaseModel)


@dataclass(frozen=True)
class KubeApi:
    """An API, whatever the address: its certificate must be for `server_name` and signed by a CA of `tls`."""

    server_name: str
    tls: ssl.SSLContext
    """With the client's certificate."""
    port: int = API_PORT

    @classmethod
    def by(cls, kubeconfig: Kubeconfig, domain: str) -> Self:
        """The API of the cluster of this domain, asked as the kubeconfig's user."""
        context = ssl.create_default_context(cadata=kubeconfig.ca_pem)
        with in_memory(kubeconfig.client_pem) as file:  # Python's ssl reads a key from a file alone
            context.load_cert_chain(path_of(file))
        return cls(f"api.{domain}", context)

    def get(self, address: str, path: str, model: type[_Resource]) -> _Resource | None:
        """One resource, on a fresh connection; None: there is none.

        Raises:
            OSError: No connection, no TLS, no answer in time, a refusal, or another thing than `model`.
        """
        status, content = get(pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S), path)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise ConnectionError(f"status {status}")
        try:
            return model.model_validate_json(content)
        except ValidationError:  # its text has the content
            raise ConnectionError("the answer is another thing") from None
