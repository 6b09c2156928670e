"""The API and the config server of a cluster, as its clients see them."""

from dataclasses import dataclass

from assets.contract import API_PORT, CONFIG_PORT
from wires.api.https import Endpoint


@dataclass(frozen=True)
class Api:
    """What a control-plane address must answer, by the cluster's names and CA."""

    domain: str
    ca_pem: str

    def problem(self, address: str) -> str | None:
        """Why the API behind an address is not ready; None: it is."""
        return self._ready.problem(address)

    def is_ready(self, address: str) -> bool:
        """Whether the API behind an address is ready."""
        return self._ready.is_ready(address)

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        # Its certificate is for the internal name alone.
        return Endpoint(CONFIG_PORT, "/healthz", f"api-int.{self.domain}", self.ca_pem).is_ready(address)

    @property
    def _ready(self) -> Endpoint:
        return Endpoint(API_PORT, "/readyz", f"api.{self.domain}", self.ca_pem)
