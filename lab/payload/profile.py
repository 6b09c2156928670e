"""The two kinds of payload: what each adds to bootstrap, control plane and compute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from assets.ignition import File, Unit

COMPLETE = "bootstrap-complete"
"""The key by which a rehearsal tells a bootstrap that it is complete, as OKD's bootstrap finds out by itself."""


@dataclass(frozen=True)
class Share:
    """Files and units of one kind of machine."""

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()

    def __add__(self, other: Self) -> "Share":
        return Share(self.files + other.files, self.units + other.units)


@dataclass(frozen=True)
class Profile:
    """What serves the API of a payload's cluster, and what follows from that."""

    etcd_port: int
    """Port of etcd's clients: that of the API, if etcd stands in for it."""
    bootstrap: Share = Share()
    control_plane: Share = Share()
    compute: Share = Share()
    environment: Mapping[str, object] = field(default_factory=dict)
    """Values in the environment of the payload's scripts."""
    kubeconfig: str | None = None
    """The operator's. None: etcd stands in for the API."""


def stand_in(retire_after_s: int, *, leaves: bool) -> Profile:
    """Return the profile whose nodes remove the bootstrap's member when its API is unreachable for this time.

    Args:
        retire_after_s: That time.
        leaves: The bootstrap ends its API by itself once etcd has the key `COMPLETE`. Else its VIP is taken from it.
    """
    complete = {"COMPLETE": COMPLETE} if leaves else {}
    return Profile(etcd_port=6443, environment={"RETIRE_AFTER_S": retire_after_s, **complete})
