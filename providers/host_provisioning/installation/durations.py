"""How long installations took in the earlier runs of a stack, read from their logs."""

from collections.abc import Collection, Iterator
from pathlib import Path

from base.log_entries import Event, entries_in
from base.log_file import runs_of
from providers.host_provisioning.installation.shown_steps import INSTALLED


def latest_s(stack: str, names: Collection[str]) -> dict[str, float]:
    """Return how long the latest installation of each server took, in seconds.

    A server without one has the longest of the others: servers of one stack are mostly alike. Empty if no run of the
    stack has installed any.
    """
    durations: dict[str, float] = {}
    for path in reversed(runs_of(stack)):
        durations = dict(_installed(path)) | durations
        if durations.keys() >= set(names):
            break
    if not durations:
        return {}
    longest = max(durations.values())
    return {name: durations.get(name, longest) for name in names}


def _installed(path: Path) -> Iterator[tuple[str, float]]:
    """Yield server and seconds of each installation in a log."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        # Most of a log is requests, which need not be parsed.
        for entry in entries_in(line for line in lines if f'"{INSTALLED}"' in line):
            is_end = entry.event == Event.END and entry.step == INSTALLED
            if is_end and entry.machine and entry.seconds is not None:
                yield entry.machine, entry.seconds
