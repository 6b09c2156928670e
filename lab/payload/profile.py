"""The two kinds of payload: what each adds to the bootstrap and to each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from assets.ignition import File, Unit

COMPLETE = "bootstrap-complete"
"""The key that a rehearsal writes when the bootstrap is complete; OKD's own bootstrap detects that itself."""


@dataclass(frozen=True)
class MachineParts:
    """Files and units of one kind of machine."""

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()

    def __add__(self, other: Self) -> "MachineParts":
        return MachineParts(self.files + other.files, self.units + other.units)


@dataclass(frozen=True)
class Profile:
    """The files and settings of a payload that depend on what serves its API: etcd, or a real Kubernetes."""

    etcd_port: int
    """Port of etcd's clients: that of the API, if etcd stands in for it."""
    bootstrap: MachineParts = MachineParts()
    control_plane: MachineParts = MachineParts()
    arbiter: MachineParts = MachineParts()
    compute: MachineParts = MachineParts()
    environment: Mapping[str, object] = field(default_factory=dict)
    """Values in the environment of the payload's scripts."""
    kubeconfig: str | None = None
    """The operator's. None: etcd stands in for the API."""


def stand_in(retire_after_s: int, *, ends_by_itself: bool) -> Profile:
    """Return the profile whose nodes remove the bootstrap's member when its API is unreachable for this time.

    Args:
        retire_after_s: That time.
        ends_by_itself: The bootstrap ends its API once etcd has the key `COMPLETE`; else the handoff takes its VIP.
    """
    complete = {"COMPLETE": COMPLETE} if ends_by_itself else {}
    return Profile(etcd_port=6443, environment={"RETIRE_AFTER_S": retire_after_s, **complete})
