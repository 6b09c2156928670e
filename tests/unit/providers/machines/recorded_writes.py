"""A stack that knows which writes of its updates no preview had planned: issue 43, "an approval that binds"."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cluster.plan import ClusterPlan
from review.preview import read_preview
from review.write_plan import WritePlan
from testing.fakes.engine import Key, Stack
from testing.server_changes import Scene
from wires.bmc import writes
from wires.bmc.access import BmcAccess
from wires.bmc.client import Power


@dataclass
class RecordedBmc:
    """A BMC whose writes are recorded in the words of the wire."""

    bmc: Any
    record: Callable[[str], None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bmc, name)

    def insert(self, url: str, certificate: str = "") -> None:
        self.record(writes.insert(url))
        self.bmc.insert(url, certificate)

    def trust(self, certificate: str) -> None:
        self.record(writes.TRUST)
        self.bmc.trust(certificate)

    def eject(self) -> None:
        self.record(writes.EJECT)
        self.bmc.eject()

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        self.record(writes.override(target, enabled))
        if mode:
            self.record(writes.boot_mode(mode))
        self.bmc.set_override(target, enabled, mode, uri)

    def set_boot_mode(self, mode: str) -> None:
        self.record(writes.boot_mode(mode))
        self.bmc.set_boot_mode(mode)

    def set_secure_boot(self, *, enabled: bool) -> None:
        self.record(writes.secure_boot(enabled=enabled))
        self.bmc.set_secure_boot(enabled=enabled)

    def request_power(self, want: Power) -> None:
        self.record(writes.power(want))
        self.bmc.request_power(want)

    def request_shutdown(self) -> None:
        self.record(writes.SHUT_DOWN)
        self.bmc.request_shutdown()


class RecordingStack(Stack):
    """The stack of a scene, which records which resource writes what."""

    def __init__(self, it: Scene) -> None:
        super().__init__(it.site)
        self.state, self.protected = it.stack.state, it.stack.protected
        self.unplanned = set[tuple[str, str]]()
        """What was written, and the plan of the last preview lacks it; nothing after one that refuses."""
        self._allowed: set[tuple[str, str]] | None = None
        self._resource = ""
        self._bmc_at = it.site.bmc_at
        it.site.bmc_at = self.bmc_at  # type: ignore[method-assign]

    def bmc_at(self, access: BmcAccess, *_: object, **__: object) -> Any:
        def record(action: str) -> None:
            write = self._resource, str(writes.to_bmc(access.address, action))
            if self._allowed is not None and write not in self._allowed:
                self.unplanned.add(write)

        return RecordedBmc(self._bmc_at(access), record)

    def preview(self, plan: ClusterPlan) -> list[str]:
        """Return what a preview refuses; if that is nothing, hold what follows to its plan."""
        refused = super().preview(plan)
        self._allowed = None if refused else self._planned_writes(plan)
        return refused

    def _planned_writes(self, plan: ClusterPlan) -> set[tuple[str, str]]:
        made = json.loads(WritePlan.of(read_preview(self.printed(plan), "a preview")).text)
        return {(resource, write) for resource, allowed in made["writes"].items() for write in allowed}

    def _apply(self, declared: Any, props: dict[str, Any]) -> None:
        kind, _, name = declared.key
        self._resource = f"{kind}::{name}"
        super()._apply(declared, props)

    def _delete(self, key: Key) -> list[str]:
        self._resource = f"{key[0]}::{key[2]}"
        return super()._delete(key)
