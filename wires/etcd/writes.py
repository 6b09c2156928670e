"""The words for what is done with etcd, in the log of a run and in a write plan."""

from base.writes import Write
from cluster.values.snapshots import BucketUrl, Store

SAVE = "save etcd"
"""The action of the write, and the step of progress."""


def to_store(store: Store) -> Write:
    """Return the write of a snapshot."""
    return Write(f"{'bucket' if isinstance(store, BucketUrl) else 'folder'} {store}", SAVE)


def out_of_etcd(api_name: str, host: str) -> Write:
    """Return the write that removes a host's member."""
    return Write(f"etcd of {api_name}", f"remove member {host}")
