"""What a boot procedure says of a server that fetched nothing."""

import pytest

from providers.host_provisioning.installation.boot_procedures import VirtualCd
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.media import FakeMedia


@pytest.mark.parametrize(
    ("bmc_url", "iso_url", "family"),
    [
        pytest.param("https://[2001:db8::1]", "http://198.51.100.10:8080/x", "IPv6", id="V12-ipv6-bmc-ipv4-media"),
        pytest.param("https://198.51.100.20", "http://[2001:db8::9]:8080/x", "IPv4", id="ipv4-bmc-ipv6-media"),
        pytest.param("https://198.51.100.20", "http://198.51.100.10:8080/x", "", id="one-family"),
        pytest.param("https://bmc.example.com", "http://198.51.100.10:8080/x", "", id="bmc-by-name"),
    ],
)
def test_a_bmc_of_another_family_is_said_to_be_one(bmc_url: str, iso_url: str, family: str) -> None:
    bmc = FakeBmc(FakeClock())
    bmc.url = bmc_url
    fix = VirtualCd(bmc, FakeMedia(), "").never_fetched(iso_url, 900, "silent").fix
    assert fix.endswith("look for a firewall or a route")
    assert (f"name this machine's {family} address in media.address" in fix) is bool(family)
