"""A valid install-config, and what a small change to it makes of the verdict."""

from collections.abc import Callable, Sequence
from typing import Any

import yaml

from cluster.install_config import read
from providers.base.errors import ConfigError, Fault
from testing import plans

Change = Callable[[dict[str, Any]], object]
SECRETS = ("rehearsal-only", "cmVoZWFyc2FsOm9ubHk=")


def bare(config: dict[str, Any]) -> dict[str, Any]:
    """The section platform.baremetal."""
    section: dict[str, Any] = config["platform"]["baremetal"]
    return section


def host(config: dict[str, Any], index: int = 0) -> dict[str, Any]:
    """One host."""
    each: dict[str, Any] = bare(config)["hosts"][index]
    return each


def lines(change: Change) -> list[str]:
    """Each fault of the changed file as a line."""
    config = plans.install_config()
    change(config)
    return printed(read(yaml.safe_dump(config)).faults)


def printed(faults: Sequence[Fault]) -> list[str]:
    """Faults as an operator reads them: one line each; none of them repeats a secret."""
    found = str(ConfigError(faults)).split("\n") if faults else []
    assert len(found) == len(faults)
    assert all(line.isprintable() for line in found)
    assert not any(secret in line for secret in SECRETS for line in found)
    return found


def refused(change: Change, *starts: str) -> None:
    """The changed file has exactly these faults: each line starts with its path, and maybe with what is wrong."""
    found = lines(change)
    assert len(found) == len(starts), found
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(start), (line, start)


def fine(change: Change) -> None:
    """The changed file has no fault."""
    assert lines(change) == []
