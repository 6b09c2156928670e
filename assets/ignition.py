"""Ignition: our files as a config, and a payload's config with ours as the last child, so that ours wins."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from assets.render import UNITS, RenderedFile

SPEC = "3.2.0"  # what openshift-install 4.16 to 4.23 writes; read by Ignition 2.7 and newer


def own_config(files: Iterable[RenderedFile]) -> str:
    """Our files as one Ignition config, the same bytes for the same files."""
    files = sorted(files, key=lambda file: file.path)
    config = {
        "ignition": {"version": SPEC},
        "storage": {"files": [_file(file) for file in files if not file.path.startswith(UNITS)]},
        "systemd": {"units": [_unit(file) for file in files if file.path.startswith(UNITS)]},
    }
    return _json(config)


def compose(payload: bytes, ours: str) -> bytes:
    """The config a machine gets: the payload's, then ours. Later children win over earlier ones."""
    children = [_data_url(payload), _data_url(ours.encode())]
    return _json({"ignition": {"version": SPEC, "config": {"merge": children}}}).encode()


def composed_sha256(payload_sha256: str, ours: str) -> str:
    """Digest of what `compose` makes, without the payload at hand (a preview has only its digest)."""
    return hashlib.sha256(f"{payload_sha256}\n{ours}".encode()).hexdigest()


def _file(file: RenderedFile) -> dict[str, Any]:
    contents = {"source": f"data:;base64,{base64.b64encode(file.text.encode()).decode()}"}
    return {"path": file.path, "mode": file.mode, "overwrite": True, "contents": contents}


def _unit(file: RenderedFile) -> dict[str, Any]:
    return {"name": file.name, "enabled": True, "contents": file.text}


def _data_url(content: bytes) -> dict[str, str]:
    # Compressed: the bootstrap reads it over fw_cfg, which slows down with the square of the size.
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    return {"source": f"data:;base64,{packed}", "compression": "gzip"}


def _json(config: dict[str, Any]) -> str:
    return json.dumps(config, sort_keys=True, separators=(",", ":"))
