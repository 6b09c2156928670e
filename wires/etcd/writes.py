"""The words for a snapshot of etcd, in the log of a run and in a write plan; and where it goes."""

from pathlib import Path

from base.writes import Write

SAVE = "save etcd"
"""The action of the write, and the step of progress."""


def folder_of(stack: str, snapshots: str) -> Path:
    """Return the folder of a stack's snapshots: two stacks may name the same one in `snapshots`."""
    return Path(snapshots, stack)


def to_folder(folder: Path) -> Write:
    """Return the write of a snapshot."""
    return Write(f"folder {folder}", SAVE)
