"""Changed copies of the rehearsal's install-config, as files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from base.errors import ConfigError
from boot_media.keyfiles import keyfiles_of
from cluster.plan import ClusterPlan, Intent, load_intent, load_plan
from testing import plans
from testing.install_configs import Change, printed


class Files:
    """Writes `install-config.yaml` below a directory and loads it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "install-config.yaml"

    def write(self, change: Change) -> Path:
        config = plans.install_config()
        change(config)
        self.path.write_text(plans.written(config))
        return self.path

    def intent(self, change: Change, options: dict[str, Any] | None = None) -> Intent:
        return load_intent(self.write(change), options)

    def plan(self, change: Change, **options: Any) -> ClusterPlan:
        return load_plan(self.write(change), plans.options(**options), keyfiles_of)

    def refused_intent(self, change: Change, options: dict[str, Any] | None = None) -> list[str]:
        return self._lines(lambda: self.intent(change, options))

    def refused_plan(self, change: Change, **options: Any) -> list[str]:
        return self._lines(lambda: self.plan(change, **options))

    def _lines(self, load: Callable[[], object]) -> list[str]:
        """Return the faults with which `load` must fail, with `FILE` in place of the path."""
        with pytest.raises(ConfigError) as caught:
            load()
        return [line.replace(str(self.path), "FILE") for line in printed(caught.value.faults)]


def as_it_is(_: dict[str, Any]) -> None:
    """Change nothing."""


def addresses(**changes: Any) -> dict[str, Any]:
    """Return the rehearsal's `node_addresses`, changed for some hosts; their names have `_` in place of `-`."""
    known: dict[str, Any] = plans.options()["node_addresses"]
    return {**known, **{name.replace("_", "-"): value for name, value in changes.items()}}
