"""The pull secret: the logins of registries, as JSON."""

import json
from collections.abc import Iterator

SET = "pulumi config set --secret pull_secret <FILE"
"""The command that makes it a secret of the stack."""
FORM = '{"auths": {"<registry>": {"auth": "<base64 of user:password>"}}}'


def wrong_in(text: str) -> Iterator[str]:
    """Yield what is wrong in a pull secret; it names registries, and no login."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        yield "is not JSON"
        return
    auths = loaded.get("auths") if isinstance(loaded, dict) else None
    if not isinstance(auths, dict) or not auths:
        yield "names no registry"
        return
    for registry, entry in auths.items():
        if not isinstance(entry, dict) or not entry.keys() & {"auth", "credsStore"}:
            yield f"{registry} has neither auth nor credsStore"
