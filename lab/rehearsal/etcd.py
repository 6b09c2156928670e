"""A client of the API behind the VIP: it lists members, and writes keys, retrying each until it is acknowledged."""

import base64
import http.client
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from lab.rehearsal.report import RehearsalError

API_PORT = 6443
EVERY_S = 0.1
PREFIX, PREFIX_END = "rehearsal/", "rehearsal0"


@dataclass
class Etcd:
    """etcd's JSON gateway at one address, verified by the API's name and CA. Keeps one connection until it fails."""

    address: str
    server_name: str
    ca_pem: str
    _connection: http.client.HTTPConnection | None = None

    def call(self, path: str, body: dict[str, Any], timeout_s: float = 5) -> dict[str, Any]:
        """Send one POST, and return the answer.

        Raises:
            OSError: No connection, or no answer in time.
            http.client.HTTPException: The answer is not HTTP, or not a success.
        """
        connection = self._connection or self._connect(timeout_s)
        self._connection = None
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != http.client.OK:
            connection.close()
            raise http.client.HTTPException(f"{answer.status}: {content[:200]!r}")
        self._connection = connection
        return dict(json.loads(content))

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        plain = socket.create_connection((self.address, API_PORT), timeout=timeout_s)
        connection = http.client.HTTPConnection(self.server_name)
        connection.sock = ssl.create_default_context(cadata=self.ca_pem).wrap_socket(
            plain, server_hostname=self.server_name
        )
        return connection

    def started_voters(self) -> list[str]:
        """Return the names of the voting members that have started, sorted."""
        members = self.call("/v3/cluster/member/list", {"linearizable": True}).get("members", [])
        return sorted(each["name"] for each in members if each.get("name") and not each.get("isLearner"))

    def keys(self) -> set[str]:
        """Return every key of the writer, over a new connection: the kept one may have broken meanwhile."""
        self._connection = None
        found = self.call("/v3/kv/range", {"key": _b64(PREFIX), "range_end": _b64(PREFIX_END), "keys_only": True}, 20)
        return {base64.b64decode(each["key"]).decode() for each in found.get("kvs", [])}


@dataclass
class Writer:
    """Writes a new key through the VIP every 100 ms, and retries it until it is acknowledged."""

    etcd: Etcd
    acknowledged: list[str] = field(default_factory=list)
    retries: int = 0
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start writing in a thread."""
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current key.

        Raises:
            RehearsalError: That key was not acknowledged within 60 s.
        """
        self._over.set()
        if self._thread:
            self._thread.join(60)
            if self._thread.is_alive():
                raise RehearsalError("the writer's last key was not acknowledged within 60 s")

    def lost(self) -> list[str]:
        """Return the acknowledged keys that etcd no longer has."""
        there = self.etcd.keys()
        return [key for key in self.acknowledged if key not in there]

    def _write(self) -> None:
        number = 0
        while not self._over.is_set():
            started = time.monotonic()
            key = f"{PREFIX}{number:06d}"
            while not self._put(key):
                self.retries += 1
            self.acknowledged.append(key)
            number += 1
            self._over.wait(max(0.0, started + EVERY_S - time.monotonic()))

    def _put(self, key: str) -> bool:
        try:
            self.etcd.call("/v3/kv/put", {"key": _b64(key), "value": _b64("written")})
        except (OSError, http.client.HTTPException):
            return False
        return True


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
