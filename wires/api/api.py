"""Readiness of a cluster's API and config server, as their clients see it."""

from dataclasses import dataclass

from assets.contract import API_PORT, CONFIG_PORT
from wires.api.https import PROBE_S, Endpoint


@dataclass(frozen=True)
class Api:
    """The API and config server of one cluster, which is recognized by its names and CA at any address."""

    domain: str
    """The cluster's domain: `okd.example.com`."""
    ca_pem: str
    """PEM of the CAs that sign its certificates."""

    def problem(self, address: str, *, timeout_s: float = PROBE_S) -> str | None:
        """Return why the API at an address is not ready. None: it is ready.

        Args:
            address: IPv4 or IPv6.
            timeout_s: Limit of each step: connect, handshake, answer.
        """
        return Endpoint(API_PORT, "/readyz", f"api.{self.domain}", self.ca_pem, timeout_s).problem(address)

    def is_ready(self, address: str) -> bool:
        """Return whether the API at an address is ready."""
        return self.problem(address) is None

    def serves_config(self, address: str) -> bool:
        """Return whether a config server answers at an address."""
        # Its certificate is only for the internal name.
        return Endpoint(CONFIG_PORT, "/healthz", f"api-int.{self.domain}", self.ca_pem).is_ready(address)
