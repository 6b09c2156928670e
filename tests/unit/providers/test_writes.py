"""The tables of what each change may write, against what is written: every change, state and answer of a BMC.

Issue 43, "an approval that binds".
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from review.preview import read_preview
from review.write_plan import WritePlan
from testing.fakes.engine import Key, Stack
from testing.server_changes import Scene, answer, cells, scene
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
    """A stack that records which resource writes what."""

    def __init__(self, it: Scene) -> None:
        super().__init__(it.site)
        self.state, self.protected = it.stack.state, it.stack.protected
        self.made = set[tuple[str, str]]()
        self._resource = ""
        self._bmc_at = it.site.bmc_at
        it.site.bmc_at = self.bmc_at  # type: ignore[method-assign]

    def bmc_at(self, access: BmcAccess, *_: object, **__: object) -> Any:
        def record(action: str) -> None:
            self.made.add((self._resource, str(writes.to_bmc(access.address, action))))

        return RecordedBmc(self._bmc_at(access), record)

    def _apply(self, declared: Any, props: dict[str, Any]) -> None:
        kind, _, name = declared.key
        self._resource = f"{kind}::{name}"
        super()._apply(declared, props)

    def _delete(self, key: Key) -> list[str]:
        self._resource = f"{key[0]}::{key[2]}"
        return super()._delete(key)


def planned(stack: Stack, it: Scene) -> set[tuple[str, str]]:
    """Return the writes of the plan that a review of the change has."""
    plan = json.loads(WritePlan.of(read_preview(stack.printed(it.plan), "a preview")).text)
    return {(resource, write) for resource, allowed in plan["writes"].items() for write in allowed}


@pytest.mark.parametrize(("change", "how", "state"), [*cells()], ids=lambda value: getattr(value, "__name__", value))
def test_an_update_writes_only_what_its_preview_planned(
    change: Callable[[Scene], None], how: str, state: str
) -> None:
    it = scene(state)
    change(it)
    answer(it, how)
    stack = RecordingStack(it)
    if stack.preview(it.plan):
        return  # no `up` follows
    allowed = planned(stack, it)
    stack.up(it.plan)
    assert stack.made - allowed == set()
