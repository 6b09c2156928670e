"""Small outputs of `pulumi preview --json`, in the form that the engine gives them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from testing import plans

ROOT = f"urn:pulumi:{plans.STACK}::{plans.PROJECT}::baremetal:cluster:Cluster"

Values = Mapping[str, Any]


def step(
    operation: str,
    kind: str,
    name: str,
    old: Values | None = None,
    new: Values | None = None,
    *,
    outs: Values | None = None,
    inside: str = "okd",
) -> dict[str, Any]:
    """Return one step on a resource of this program; `inside` is the component that it belongs to."""
    urn = f"{ROOT}$baremetal:servers:{inside}$pulumi-python:dynamic/baremetal:{kind}::{name}"
    found: dict[str, Any] = {"op": operation, "urn": urn, "detailedDiff": None}
    parent = {"urn": urn, "parent": f"{ROOT}::okd"}
    if old is not None:
        found["oldState"] = {
            **parent,
            "inputs": {"__provider": "gASV", "urn": urn, **old},
            "outputs": {**old, **(outs or {})},
        }
    if new is not None:
        found["newState"] = {**parent, "inputs": {"__provider": "gASV", "urn": urn, **new}}
    if old is not None and new is not None:
        found["diffReasons"] = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return found


def file(folder: str, path: str, old: str | None, new: str | None) -> dict[str, Any]:
    """Return the step on one rendered file: its text before and after, None if there is none."""
    operation = "create" if old is None else "delete" if new is None else "update"
    before, after = (
        {"path": path, "mode": "0644", "text": text} if text is not None else None for text in (old, new)
    )
    return step(
        operation, "RenderedAsset", f"okd-{folder.replace('/', '-')}-{path.rpartition('/')[2]}", before, after
    )


def preview(*steps: Mapping[str, Any], diagnostics: Sequence[Values] = (), **options: Any) -> str:
    """Return what `pulumi preview --json` prints for these steps and options."""
    config = {
        f"{plans.PROJECT}:{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in options.items()
    }
    found = {"config": config, "steps": [STACK, *steps], "duration": 1, "changeSummary": {}}
    return json.dumps(found | ({"diagnostics": diagnostics} if diagnostics else {}))


STACK = {"op": "update", "urn": f"urn:pulumi:{plans.STACK}::{plans.PROJECT}::pulumi:pulumi:Stack::{plans.STACK}"}


def bmc_host(host: str, **changes: Any) -> dict[str, Any]:
    """Return the inputs of a `BmcHost`."""
    bmc = {"address": f"redfish-virtualmedia://192.0.2.1/{host}", "username": "root"}
    return {"host": host, "bmc": bmc, "password": "[secret]", "consent": f"SERIAL-{host}", "spare": False} | changes


def installation(*hosts: str, role: str = "control-plane", **changes: Any) -> dict[str, Any]:
    """Return the inputs of a `HostProvisioning`; each of its hosts is known to be the machine `uuid-HOST`."""
    inputs = {
        "role": role,
        "hosts": {
            host: {"bmc": bmc_host(host)["bmc"], "address": "192.0.2.9", "root_device": {"deviceName": "/dev/sda"}}
            for host in hosts
        },
        "identities": {host: {"uuid": f"uuid-{host}", "serial": f"SERIAL-{host}"} for host in hosts},
        "passwords": "[secret]",
        "ours": "[secret]",
        "keyfiles": "[secret]",
        "reinstall": {},
        "rows": {},
        "media_port": 8080,
        "base_iso_sha256": "d3",
        "payload_sha256": "a1",
        "stack": "s",
        "api_name": "api.x",
        "ignition_sha256": dict.fromkeys(hosts, "e5"),
    }
    return inputs | changes


def records(*hosts: str) -> dict[str, Any]:
    """Return the outputs of a `HostProvisioning` that has installed these hosts."""
    return {"installed": {host: {"uuid": f"uuid-{host}", "iso_sha256": "", "at": ""} for host in hosts}}
