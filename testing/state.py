"""Record states of stacks as facts: names, types, provider references, inputs and outputs, without secrets.

`pulumi stack export --show-secrets | python -m testing.state > tests/facts/state/<phase>.json` records one.
"""

import base64
import json
import pickle
import re
import sys
from typing import Any

SECRET = "4dabf18193072939515e22adb298388d"
"""Pulumi's mark of a secret value in an export."""
MASKED = "[secret]"
LONGEST = 200
DYNAMIC = "pulumi-python:dynamic/"


def recorded(export: dict[str, Any]) -> list[dict[str, Any]]:
    """Return this program's resources in an export."""
    entries = []
    for resource in export["deployment"]["resources"]:
        kind = resource["type"]
        if not kind.startswith((DYNAMIC, "baremetal:")):
            continue
        inputs, outputs = resource.get("inputs", {}), resource.get("outputs", {})
        pickled = inputs.get("__provider")
        entry = {"urn": resource["urn"], "type": kind, "provider": reference(pickled) if pickled else None}
        if pickled:
            entry |= {"inputs": _plain(inputs), "outputs": _plain(outputs)}
        entries.append(entry)
    return entries


def reference(pickled: str) -> str:
    """Return `module.Class` of a provider from its pickled reference in the state."""
    kind = type(pickle.loads(base64.b64decode(pickled)))  # noqa: S301  (of a rehearsal)
    return f"{kind.__module__}.{kind.__name__}"


def _plain(props: dict[str, Any]) -> dict[str, Any]:
    return {key: _masked(value) for key, value in props.items() if key != "__provider"}


def _masked(value: Any, *, secret: bool = False) -> Any:
    """Return a value with the same shape, its secrets masked and long texts cut."""
    if isinstance(value, dict):
        if SECRET in value:
            return _masked(json.loads(value["plaintext"]), secret=True)
        return {key: _masked(part, secret=secret) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked(part, secret=secret) for part in value]
    if isinstance(value, str):
        return MASKED if secret else re.sub(r"\s+", " ", value)[:LONGEST]
    return value


if __name__ == "__main__":
    json.dump(recorded(json.load(sys.stdin)), sys.stdout, indent=1, sort_keys=True)
    print()
