"""etcd behind the VIP, through its JSON gateway."""

import base64
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from lab.payload.profile import COMPLETE
from lab.rehearsal.client import Client

PREFIX, PREFIX_END = "rehearsal/", "rehearsal0"


class Voter(NamedTuple):
    """A voting member that has started."""

    number: int
    name: str
    address: str


@dataclass(frozen=True)
class Etcd:
    """A `Store`, where etcd stands in for the API."""

    client: Client

    def started_voters(self) -> list[Voter]:
        """Return the voting members that have started, sorted by name."""
        answer = self.client.call("POST", "/v3/cluster/member/list", {"linearizable": True})
        found = (
            Voter(int(member["ID"]), member["name"], urlsplit(member["clientURLs"][0]).hostname or "")
            for member in answer.get("members", [])
            if member.get("name") and not member.get("isLearner")
        )
        return sorted(found, key=lambda voter: voter.name)

    def put(self, key: str) -> None:
        """See `Store`."""
        self._write(f"{PREFIX}{key}")

    def complete(self) -> None:
        """Write the key from which the bootstrap learns that it is complete."""
        self._write(COMPLETE)

    def keys(self) -> set[str]:
        """See `Store`."""
        self.client.close()
        whole_range = {"key": _b64(PREFIX), "range_end": _b64(PREFIX_END), "keys_only": True}
        pairs = self.client.call("POST", "/v3/kv/range", whole_range, 20).get("kvs", [])
        return {base64.b64decode(pair["key"]).decode().removeprefix(PREFIX) for pair in pairs}

    def _write(self, key: str) -> None:
        self.client.call("POST", "/v3/kv/put", {"key": _b64(key), "value": _b64("written")})


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
