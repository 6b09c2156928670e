"""The words for what is changed through the cluster's API, in the log of a run and in a write plan."""

from base.writes import Write


def to_api(server_name: str, path: str) -> Write:
    """Return the write of a change of a part of one resource. Its own name is left out: it is known only by then."""
    _, kind, _, part = path.rsplit("/", 3)
    return Write(f"API {server_name}", f"change {kind}/…/{part}")
