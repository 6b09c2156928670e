"""The write: what may change a machine, in the words of the log of a run and of a write plan."""

from typing import NamedTuple


class Write(NamedTuple):
    """One write, in the words of the log and of a write plan."""

    target: str
    """What it changes: `BMC <URL>`, `domain <name>`, `volume <pool>/<name>`, `disk of <host>`, `API <name>`.

    Also `folder <path>` and `bucket <URL>`, which get a snapshot of etcd.
    """
    action: str

    def __str__(self) -> str:
        return f"{self.target}: {self.action}"
