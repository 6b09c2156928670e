"""The contents of Ignition configs: inline files and configs."""

import base64
import gzip
import json
from typing import Any


def content(resource: dict[str, Any]) -> bytes:
    """Return the content of a resource whose source is a data URL in base64."""
    raw = base64.b64decode(resource["source"].partition("base64,")[2], validate=True)
    return gzip.decompress(raw) if resource.get("compression") == "gzip" else raw


def configs(config: str) -> list[str]:
    """Return a config, and before it the configs that it merges and carries."""
    merged = json.loads(config)["ignition"].get("config", {}).get("merge", [])
    carried = [content(resource).decode() for resource in merged if resource["source"].startswith("data:")]
    return [*(inner for text in carried for inner in configs(text)), config]
