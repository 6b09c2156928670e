"""How long installations took in the earlier runs of a stack, as their logs tell."""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from providers.base.log import runs_of
from providers.host_provisioning.engine import INSTALLED

_DONE = re.compile(rf"{INSTALLED}; ([\d,]+) s spent")


def latest_s(stack: str, names: Collection[str]) -> dict[str, float]:
    """Return how long the latest installation of each server took, in seconds.

    A server without one has the longest of the others: servers of one stack are mostly alike. Empty if no run of the
    stack has installed any.
    """
    found: dict[str, float] = {}
    for path in reversed(runs_of(stack)):
        found = dict(_installed(path)) | found
        if found.keys() >= set(names):
            break
    return {name: found.get(name, max(found.values())) for name in names} if found else {}


def _installed(path: Path) -> Iterator[tuple[str, float]]:
    """Yield server and seconds of each installation in a log; a torn line counts for nothing."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if f'"{INSTALLED};' not in line:
                continue
            try:
                entry = json.loads(line)
                done = _DONE.fullmatch(entry["text"])
                machine = entry["machine"]
            except (ValueError, KeyError, TypeError):
                continue
            if done:
                yield machine, float(done[1].replace(",", ""))
