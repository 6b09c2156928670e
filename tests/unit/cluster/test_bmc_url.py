"""BMC addresses as metal3 writes them."""

import pytest

from cluster.bmc_url import parse_bmc_url

SYSTEM = "/redfish/v1/Systems/1"


@pytest.mark.parametrize(
    ("address", "base", "system"),
    [
        pytest.param(f"redfish-virtualmedia+https://bmc{SYSTEM}", "https://bmc", SYSTEM, id="https"),
        pytest.param(f"redfish-virtualmedia+http://bmc:8000{SYSTEM}", "http://bmc:8000", SYSTEM, id="http-port"),
        pytest.param(f"redfish-virtualmedia://bmc{SYSTEM}", "https://bmc", SYSTEM, id="https-is-default"),
        pytest.param(f"redfish-virtualmedia://bmc{SYSTEM}/", "https://bmc", SYSTEM, id="trailing-slash"),
        pytest.param(f"redfish-virtualmedia://[fd00::1]:443{SYSTEM}", "https://[fd00::1]:443", SYSTEM, id="ipv6"),
        pytest.param(
            "idrac-virtualmedia://192.0.2.9/redfish/v1/Systems/System.Embedded.1",
            "https://192.0.2.9",
            "/redfish/v1/Systems/System.Embedded.1",
            id="idrac",
        ),
        pytest.param(f"ilo5-virtualmedia+https://bmc{SYSTEM}", "https://bmc", SYSTEM, id="ilo5"),
    ],
)
def test_an_address_is_split_into_base_and_system(address: str, base: str, system: str) -> None:
    assert parse_bmc_url(address) == (base, system)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param(f"ipmi://bmc{SYSTEM}", "driver 'ipmi' cannot boot from virtual media", id="ipmi"),
        pytest.param(f"redfish://bmc{SYSTEM}", "driver 'redfish' cannot boot from virtual media", id="pxe-redfish"),
        pytest.param("192.0.2.9", "driver '192.0.2.9' cannot boot", id="bare-address"),
        pytest.param(f"redfish-virtualmedia+ftp://bmc{SYSTEM}", "transport 'ftp' is unknown", id="transport"),
        pytest.param("redfish-virtualmedia://bmc", "does not name a system", id="no-path"),
        pytest.param("redfish-virtualmedia://bmc/redfish/v1/Systems/", "does not name a system", id="no-id"),
        pytest.param(f"redfish-virtualmedia://bmc{SYSTEM}/Bios", "does not name a system", id="below-a-system"),
        pytest.param(f"redfish-virtualmedia://{SYSTEM}", "does not name a system", id="no-host"),
        pytest.param(f"redfish-virtualmedia://admin:hunter2@bmc{SYSTEM}", "credentials do not belong", id="password"),
        pytest.param(f"redfish-virtualmedia://admin@bmc{SYSTEM}", "credentials do not belong", id="user"),
        pytest.param("redfish-virtualmedia://admin:hunter2@bmc", "credentials do not belong", id="password-no-path"),
        pytest.param(
            f"redfish-virtualmedia://admin:a/hunter2@bmc{SYSTEM}", "credentials do not", id="slash-password"
        ),
        pytest.param("//admin:hunter2@bmc", "credentials do not belong", id="password-no-driver"),
    ],
)
def test_an_address_that_cannot_work_is_refused_without_its_password(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        parse_bmc_url(address)
    assert "hunter2" not in str(caught.value)
