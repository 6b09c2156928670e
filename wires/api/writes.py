"""The words for what is changed through the cluster's API, in the log of a run and in a write plan."""

from collections.abc import Mapping
from typing import Any

from base.writes import Write


def to_api(server_name: str, path: str, verb: str = "change", *, release: str = "") -> Write:
    """Return the write of a resource: `create`, `change` or `delete`.

    The name of one whose part is changed is left out: that of a certificate request is known only by then.

    Args:
        server_name: The API's.
        path: That of the resource.
        verb: What happens to it.
        release: Version and image to which a cluster is upgraded; see `release_of`.
    """
    at = 3 if path.startswith("/api/") else 4
    kind, name, *part = path.partition("/namespaces/")[2].split("/")[1:] or path.split("/")[at:]
    named = "/".join([kind, "…", *part] if part else [kind, name])
    return Write(f"API {server_name}", f"{verb} {named}{f' to {release}' if release else ''}")


def release_of(change: Mapping[str, Any]) -> str:
    """Return version and image that a change has a cluster upgraded to; empty if it does not."""
    desired = change.get("spec", {}).get("desiredUpdate") or {}
    return f"{desired.get('version')} {desired.get('image')}" if desired else ""
