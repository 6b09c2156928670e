"""Access to a planned server's BMC: by the options of that server, or else by those common to all."""

from typing import Any

import pytest

from testing import plans
from wires.bmc.access import BmcAccess

FIRST, SECOND = plans.HOSTS[:2]
ADDRESS = "redfish-virtualmedia+https://172.22.0.101:8443/redfish/v1/Systems/6058de92-e7e4-55e9-914d-943d53924e75"
FINGERPRINT = "ab" * 32
LOGIN = {"username": "root", "password": "canary"}


def access(name: str, **options: Any) -> BmcAccess:
    plan = plans.plan(**options)
    (server,) = (server for server in plan.servers if server.name == name)
    return BmcAccess.of(plan.options, server, ca="of all")


def test_a_bmc_without_options_of_its_own_gets_the_common_ones() -> None:
    assert access(FIRST).model_dump() == {
        "address": ADDRESS,
        "username": "admin",
        "ca": "of all",
        "fingerprint": "",
        "verify": True,
        "legacy_tls": False,
        "session": False,
        "boot_mode": "Legacy",
        "boot_mac": "",
        "login": f"the bmc of {FIRST} in install-config.yaml",
    }


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        pytest.param({"bmc_trust": {FIRST: {"ca": "its own"}}}, {"ca": "its own"}, id="ca"),
        pytest.param({"bmc_trust": {FIRST: {"sha256": FINGERPRINT}}}, {"fingerprint": FINGERPRINT}, id="fingerprint"),
        pytest.param(
            {"bmc_trust": {FIRST: {"sha256": FINGERPRINT, "legacy_tls": True}}},
            {"fingerprint": FINGERPRINT, "legacy_tls": True},
            id="legacy-tls",
        ),
        pytest.param(
            {"bmc_credentials": {FIRST: LOGIN}}, {"username": "root", "login": f"bmc_credentials.{FIRST}"}, id="login"
        ),
        pytest.param(
            {"bmc_credentials": {FIRST: {**LOGIN, "session": True}}},
            {"username": "root", "session": True, "login": f"bmc_credentials.{FIRST}"},
            id="session",
        ),
    ],
)
def test_the_options_of_one_bmc_change_only_its_access(options: dict[str, Any], changed: dict[str, Any]) -> None:
    before = access(FIRST)
    assert access(FIRST, **options).model_dump() == {**before.model_dump(), **changed}
    assert access(SECOND, **options) == access(SECOND)
    assert "canary" not in repr(access(FIRST, **options))


@pytest.mark.parametrize(
    ("options", "verify"),
    [({}, False), ({"bmc_trust": {FIRST: {"sha256": FINGERPRINT}}}, True)],
    ids=["no", "pinned"],
)
def test_a_pinned_certificate_is_verified_despite_disabled_verification(
    options: dict[str, Any], verify: bool
) -> None:
    plan = plans.plan(**options)
    server = plan.servers[0]
    lax = server.changed(bmc=server.bmc.changed(verify_tls=False))
    assert BmcAccess.of(plan.options, lax, ca="").verify is verify


@pytest.mark.parametrize(("given", "word"), [("UEFI", "UEFI"), ("legacy", "Legacy"), ("UEFISecureBoot",) * 2])
def test_the_boot_mode_is_that_of_the_host(given: str, word: str) -> None:
    plan = plans.plan()
    server = plan.servers[0].changed(boot_mode=given)
    assert BmcAccess.of(plan.options, server, ca="").boot_mode == word
