"""What a server keeps in its folder, so that it starts again as it was: its ports and passwords."""

import json
import random
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, SecretStr

from base.errors import ConfigError, Fault
from base.files import write_private

FILE = "server.json"
SERVICES = ("frontend", "history", "matching", "worker")
_NAMES = ("postgres", "ui", *SERVICES, *(f"{name} membership" for name in SERVICES))
# Below the ports that Linux gives to outgoing connections, so that none takes them while the server is off.
_FIRST = range(20000, 32000, 20)


class Settings(BaseModel):
    """Ports and passwords of one server."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    first_port: int
    temporal_password: SecretStr
    pulumi_password: SecretStr

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return those in `folder`; choose and keep them if there are none.

        Raises:
            ConfigError: Another process listens on one of the ports.
        """
        file = folder / FILE
        if file.exists():
            settings = cls.model_validate_json(file.read_bytes())
            settings._require_free_ports(file)
            return settings
        first = next(first for first in random.sample(_FIRST, len(_FIRST)) if not _taken(first))
        passwords = {name: secrets.token_hex(24) for name in ("temporal_password", "pulumi_password")}
        write_private(file, json.dumps({"first_port": first, **passwords}))
        return cls.model_validate_json(file.read_bytes())

    def port(self, name: str) -> int:
        """Return the port of one of `_NAMES`."""
        return self.first_port + _NAMES.index(name)

    def _require_free_ports(self, file: Path) -> None:
        fix = f"end the process, or move the server by another first_port in {file}"
        if taken := _taken(self.first_port):
            raise ConfigError(
                *(
                    Fault(f"127.0.0.1:{port}", "the server's port, but another process listens there", fix)
                    for port in taken
                )
            )


def _taken(first: int) -> list[int]:
    """Return the ports from `first` on on which another process listens."""
    with ExitStack() as probes:
        taken = []
        for port in range(first, first + len(_NAMES)):
            probe = probes.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                taken.append(port)
        return taken
