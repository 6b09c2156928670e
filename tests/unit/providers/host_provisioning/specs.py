"""A role of hosts whose BMCs do not answer: inputs as Pulumi passes them to a provider, and its records."""

from typing import Any

from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec

AT = "2026-11-21T00:00:00+00:00"
BOARD = "03000200-0400-0500-0006-000700080009"
"""A system UUID that many boards report."""


def host(name: str, **bmc: Any) -> dict[str, Any]:
    address = f"redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/{name}"
    return {
        "bmc": {"address": address, "username": "admin", **bmc},
        "address": "192.0.2.31",
        "addresses": ["192.0.2.31"],
        "root_device": {"deviceName": "/dev/sda"},
    }


def of_hosts(*names: str) -> dict[str, Any]:
    """Return the inputs that exist once per host."""
    values = {"passwords": "hidden", "ignition_sha256": "1", "ours": "{}"}
    identities = {name: {"uuid": name, "serial": f"SN-{name}"} for name in names}
    return {
        "hosts": {name: host(name) for name in names},
        "identities": identities,
        **{key: dict.fromkeys(names, value) for key, value in values.items()},
    }


ROLE: dict[str, Any] = {
    **of_hosts("w0", "w1"),
    "role": "compute",
    "media_address": "127.0.0.1",
    "media_port": 0.0,
    "base_iso_sha256": "cd",
    "payload_sha256": "ef",
    "stack": "test",
    "api_name": "api.okd.lab.test",
    "deadline_s": 0.0,
    "urn": "urn:pulumi:test::okd::HostProvisioning::compute",
}


def record(uuid: str, iso_sha256: str = "ab") -> dict[str, str]:
    return {"uuid": uuid, "iso_sha256": iso_sha256, "at": AT}


INSTALLED: dict[str, Any] = {
    **ROLE,
    "installed": {name: record(name) for name in ("w0", "w1")},
    "disks": {"w0": "deviceName: /dev/sda"},
    "steps": {"w0": {"media": 1.0}},
    "requests": {"w0": 9.0},
    "approved": {},
    "installed_vrrp": {},
}


def spec(**changes: Any) -> HostProvisioningSpec:
    return HostProvisioningSpec.model_validate({**ROLE, **changes})


def outs(**changes: Any) -> HostProvisioningOuts:
    return HostProvisioningOuts.model_validate({**INSTALLED, **changes})
