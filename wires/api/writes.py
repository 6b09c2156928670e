"""The words for what is changed through the cluster's API, in the log of a run and in a write plan."""

from base.writes import Write


def to_api(server_name: str, path: str, verb: str = "change") -> Write:
    """Return the write of a resource: `create`, `change` or `delete`.

    The name of one whose part is changed is left out: that of a certificate request is known only by then.
    """
    at = 3 if path.startswith("/api/") else 4
    kind, name, *part = path.partition("/namespaces/")[2].split("/")[1:] or path.split("/")[at:]
    return Write(f"API {server_name}", f"{verb} {'/'.join([kind, '…', *part] if part else [kind, name])}")
