"""The faults of the rehearsal's valid install-config after a change."""

from collections.abc import Callable, Sequence
from typing import Any

from base.errors import ConfigError, Fault
from cluster.install_config import read
from testing import plans

Change = Callable[[dict[str, Any]], object]
SECRETS = ("rehearsal-only", "cmVoZWFyc2FsOm9ubHk=")


def bare(config: dict[str, Any]) -> dict[str, Any]:
    """Return the section platform.baremetal."""
    section: dict[str, Any] = config["platform"]["baremetal"]
    return section


def host(config: dict[str, Any], index: int = 0) -> dict[str, Any]:
    """Return one host."""
    section: dict[str, Any] = bare(config)["hosts"][index]
    return section


def numbered(number: int, change: Change = lambda _: None) -> dict[str, Any]:
    """Return the rehearsal's install-config as that of cluster `number`, which shares nothing with other numbers."""
    config = plans.install_config()
    config["metadata"]["name"] = f"c{number}"
    section = bare(config)
    section["apiVIPs"] = [f"192.168.111.{100 + 2 * number}"]
    section["ingressVIPs"] = [f"192.168.111.{101 + 2 * number}"]
    section["externalMACAddress"] = f"52:54:00:22:{number:02x}:ff"
    for index, own_host in enumerate(section["hosts"]):
        own_host["bootMACAddress"] = f"52:54:00:22:{number:02x}:{index:02x}"
        own_host["bmc"]["address"] = f"redfish-virtualmedia://10.0.{number}.{index}/redfish/v1/Systems/1"
    change(config)
    return config


def arm64(config: dict[str, Any]) -> None:
    """Make compute arm64, with UEFI, its only firmware."""
    config["compute"][0].update(architecture="arm64")
    for section in bare(config)["hosts"]:
        section.update(bootMode="UEFI")


def all_of_arm64(config: dict[str, Any]) -> None:
    """Make all servers arm64."""
    arm64(config)
    config["controlPlane"].update(architecture="arm64")


def by_http(*hosts: int) -> Change:
    """Have some hosts' own UEFI fetch the installer."""

    def change(config: dict[str, Any]) -> None:
        for index in hosts:
            host(config, index).update(bootMode="UEFI")
            host(config, index)["bmc"].update(address=f"redfish-uefihttp://192.0.2.{index}")

    return change


def from_network(*hosts: int, mode: str = "Managed", **provisioning: Any) -> Change:
    """Add a provisioning network, and boot the hosts of these numbers over it."""

    def change(config: dict[str, Any]) -> None:
        bare(config).update(provisioningNetwork=mode, **provisioning)
        for index in hosts:
            host(config, index)["bmc"].update(address=f"redfish://192.0.2.{index}/redfish/v1/Systems/1")

    return change


def lines(change: Change) -> list[str]:
    """Return each fault of the changed file as a line."""
    config = plans.install_config()
    change(config)
    return printed(read(plans.written(config)).faults)


def printed(faults: Sequence[Fault]) -> list[str]:
    """Return faults as the operator reads them; assert one line for each, without secrets."""
    texts = str(ConfigError(*faults)).split("\n") if faults else []
    assert len(texts) == len(faults)
    assert all(line.isprintable() for line in texts)
    assert not any(secret in line for secret in SECRETS for line in texts)
    return texts


def refused(change: Change, *starts: str) -> None:
    """Assert that the changed file has exactly as many faults as `starts`, and that each line starts so."""
    texts = lines(change)
    assert len(texts) == len(starts), texts
    for line, start in zip(texts, starts, strict=True):
        assert line.startswith(start), (line, start)


def fine(change: Change) -> None:
    """Assert that the changed file has no fault."""
    assert lines(change) == []
