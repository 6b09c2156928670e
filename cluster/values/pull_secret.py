"""The pull secret: the logins of registries, as JSON."""

import json
from collections.abc import Iterator

SET = "pulumi config set --secret pull_secret <FILE"
"""The command that makes it a secret of the stack."""
FORM = '{"auths": {"<registry>": {"auth": "<base64 of user:password>"}}}'


def wrong_in(text: str, *, in_any_case: bool = False) -> Iterator[str]:
    """Yield what is wrong in a pull secret; it names registries, and no login.

    Args:
        text: The secret.
        in_any_case: Whether `auths` may be in any letter case, as for the installer, though not for other readers.
    """
    try:
        loaded = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        yield "is not JSON"
        return
    if in_any_case and isinstance(loaded, dict):
        loaded = {key.lower(): value for key, value in loaded.items()}
    auths = loaded.get("auths") if isinstance(loaded, dict) else None
    if not isinstance(auths, dict) or not auths:
        yield "names no registry"
        return
    for registry, entry in auths.items():
        if not isinstance(entry, dict) or not entry.keys() & {"auth", "credsStore"}:
            yield f"{registry} has neither auth nor credsStore"


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which are no JSON although Python reads them."""
    raise ValueError(constant)
