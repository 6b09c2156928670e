"""The RPC shells against BMCs that do not answer."""

from collections.abc import Callable
from typing import Any

import pytest

from providers.bmc_host import provider as bmc_host
from providers.bmc_host.provider import BmcHostProvider
from providers.errors import BmcTimeoutError, ProvisioningError
from providers.provisioning.provider import HostProvisioningProvider

DEAD = "redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/{}"
HOST: dict[str, Any] = {
    "host": "m0",
    "bmc_url": DEAD.format("m0"),
    "username": "admin",
    "password": "hidden",
    "consent": "SN-1",
    "urn": "urn:pulumi:test::okd::BmcHost::m0",
}
HOST |= {"deadline_s": 0.0, "uuid": "u", "found": {"override": {"target": "Hdd"}}}
ROLE = {
    "role": "compute",
    "hosts": {
        name: {
            "bmc_url": DEAD.format(name),
            "username": "admin",
            "address": "192.0.2.31",
            "root_device": "/dev/sda",
            "uuid": name,
        }
        for name in ("w0", "w1")
    },
    "passwords": {"w0": "hidden", "w1": "hidden"},
    "media_address": "127.0.0.1",
    "media_port": 0.0,
    "base_iso_sha256": "cd",
    "ignition_sha256": {"w0": "1", "w1": "1"},
    "ours": {"w0": "{}", "w1": "{}"},
    "payload_sha256": "ef",
    "stack": "test",
    "api_name": "api.okd.lab.test",
    "deadline_s": 0.0,
}


def test_a_refresh_keeps_what_it_cannot_see(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bmc_host, "READ_DEADLINE_S", 0.0)
    answer = BmcHostProvider().read("u", HOST)
    assert (answer.id, answer.outs) == ("u", HOST)
    line = capsys.readouterr().err
    assert line.startswith("m0: kept as it was known: ")
    assert "connection refused" in line


@pytest.mark.parametrize("deed", ["create", "update", "delete"])
def test_an_unreachable_bmc_is_an_error_at_the_deadline(deed: str) -> None:
    provider = BmcHostProvider()
    deeds: dict[str, Callable[[], object]] = {
        "create": lambda: provider.create(HOST),
        "update": lambda: provider.update("u", HOST, HOST),
        "delete": lambda: provider.delete("u", HOST),
    }
    with pytest.raises(BmcTimeoutError, match="connection refused"):
        deeds[deed]()


def test_each_failed_host_has_its_line() -> None:
    with pytest.raises(ProvisioningError, match="2 of 2 compute hosts did not get there") as caught:
        HostProvisioningProvider().create(ROLE)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:3]] == ["w0", "w1"]
    assert all("step 'BMC'" in line and "connection refused" in line for line in lines[1:3])
    assert "hidden" not in str(caught.value)


def test_an_installed_host_of_a_failing_role_keeps_its_record() -> None:
    """The engine keeps the old state of a failed update; the host with a record is not in the error."""
    record = {"uuid": "w0", "iso_sha256": "ab", "at": "2026-11-21T00:00:00+00:00"}
    olds = {**ROLE, "installed": {"w0": record}}
    with pytest.raises(ProvisioningError, match="1 of 2 compute hosts") as caught:
        HostProvisioningProvider().update("test-compute", olds, ROLE)
    assert "w0:" not in str(caught.value)
