"""Ignition: our files as a config, and a payload's config with ours as the last child, so that ours wins."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assets.errors import AssetError
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


def read_payload(stack: str, name: str, sha256: str) -> bytes:
    """`stacks/<stack>/payload/<name>.ign`, which must be the one that the stack pins.

    Raises:
        AssetError: Missing, or another one.
    """
    path = Path("stacks", stack, "payload", f"{name}.ign")
    wanted = (
        f"run `openshift-install create ignition-configs` again, or pin it: pulumi config set --path payload.{name}"
    )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AssetError(f"{path}: cannot be read ({error.strerror}); put the payload's {name}.ign there") from None
    if (seen := hashlib.sha256(content).hexdigest()) != sha256:
        raise AssetError(f"{path}: sha256 is {seen}, the stack pins {sha256}; {wanted} {seen}")
    return content


def payload_ca(pointer: bytes) -> str:
    """PEM of the CA in a payload's master.ign or worker.ign, which signed the cluster's API.

    Raises:
        AssetError: The config carries none.
    """
    try:
        source = json.loads(pointer)["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"]
        pem = base64.b64decode(str(source).partition("base64,")[2], validate=True).decode()
        # An empty CA would mean: trust those of this machine.
        if "BEGIN CERTIFICATE" not in pem:
            raise ValueError("no PEM")
        return pem
    except (ValueError, LookupError, TypeError) as error:
        what = "payload: master.ign carries no certificate authority in ignition.security.tls"
        raise AssetError(f"{what}; take the file that openshift-install wrote") from error


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
