"""The words for what is done with etcd, in the log of a run and in a write plan; and where a snapshot goes."""

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


def out_of_etcd(api_name: str, host: str) -> Write:
    """Return the write that removes a host's member."""
    return Write(f"etcd of {api_name}", f"remove member {host}")
