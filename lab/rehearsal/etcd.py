"""etcd behind the VIP, by its JSON gateway."""

import base64
from dataclasses import dataclass

from lab.payload.profile import COMPLETE
from lab.rehearsal.client import Client

PREFIX, PREFIX_END = "rehearsal/", "rehearsal0"


@dataclass(frozen=True)
class Etcd:
    """A `Store`, where etcd stands in for the API."""

    client: Client

    def started_voters(self) -> list[str]:
        """Return the names of the voting members that have started, sorted."""
        answer = self.client.call("POST", "/v3/cluster/member/list", {"linearizable": True})
        members = answer.get("members", [])
        return sorted(each["name"] for each in members if each.get("name") and not each.get("isLearner"))

    def put(self, key: str) -> None:
        """See `Store`."""
        self._write(f"{PREFIX}{key}")

    def complete(self) -> None:
        """Tell the bootstrap that it is complete."""
        self._write(COMPLETE)

    def keys(self) -> set[str]:
        """See `Store`."""
        self.client.close()
        all_of_them = {"key": _b64(PREFIX), "range_end": _b64(PREFIX_END), "keys_only": True}
        found = self.client.call("POST", "/v3/kv/range", all_of_them, 20)
        return {base64.b64decode(each["key"]).decode().removeprefix(PREFIX) for each in found.get("kvs", [])}

    def _write(self, key: str) -> None:
        self.client.call("POST", "/v3/kv/put", {"key": _b64(key), "value": _b64("written")})


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
