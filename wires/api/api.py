"""The API and the config server of a cluster, as its clients see them."""

from dataclasses import dataclass, field

from wires.api.https import Endpoint

API_PORT, CONFIG_PORT = 6443, 22623


@dataclass(frozen=True)
class Api:
    """What a control-plane address must answer, by the cluster's names and CA."""

    domain: str
    ca_pem: str
    _ready: Endpoint = field(init=False)
    _config: Endpoint = field(init=False)

    def __post_init__(self) -> None:
        api = Endpoint(API_PORT, "/readyz", f"api.{self.domain}", self.ca_pem)
        # The config server's certificate is for the internal name alone.
        config = Endpoint(CONFIG_PORT, "/healthz", f"api-int.{self.domain}", self.ca_pem)
        object.__setattr__(self, "_ready", api)
        object.__setattr__(self, "_config", config)

    def problem(self, address: str) -> str | None:
        """Why the API behind an address is not ready; None: it is."""
        return self._ready.problem(address)

    def is_ready(self, address: str) -> bool:
        """Whether the API behind an address is ready."""
        return self._ready.is_ready(address)

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        return self._config.is_ready(address)
