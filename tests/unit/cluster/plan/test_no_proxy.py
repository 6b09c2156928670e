"""What a cluster asks without its proxy, and the addresses of a plan that must be among that."""

from typing import Any

import pytest

from cluster.options import Options
from cluster.plan.address_table.uses import Use
from cluster.plan.no_proxy import ASKERS, goes_direct, proxied_addresses
from testing import plans
from testing.install_configs import bare
from testing.payloads import config_of

PROXY = "http://proxy.site.test:3128"


def config(no_proxy: str = "", **more: Any) -> Any:
    def change(config: dict[str, Any]) -> None:
        config.update(proxy={"httpsProxy": PROXY, **({"noProxy": no_proxy} if no_proxy else {})}, **more)
        bare(config)["hosts"][0]["bmc"]["address"] = "redfish-virtualmedia://10.9.9.21/redfish/v1/Systems/1"

    return config_of(change)


def test_each_use_has_an_asker() -> None:
    assert set(ASKERS) == set(Use)


@pytest.mark.parametrize(
    ("no_proxy", "host", "direct"),
    [
        ("", "m.site.test", False),
        ("site.test", "m.site.test", True),
        (".site.test", "m.site.test", True),
        (".site.test", "site.test", False),
        ("site.test.", "SITE.test", True),
        ("te.test", "site.test", False),
        ("*", "m.site.test", True),
        ("10.9.9.0/24", "10.9.9.21", True),
        ("10.9.9.21", "10.9.9.21", True),
        ("10.9.9.2", "10.9.9.21", False),
        ("", "192.168.111.21", True),  # the machine network
        ("", "10.128.0.1", True),  # pods
        ("", "172.30.0.1", True),  # services
        ("", "api-int.okd.lab.test", True),
        ("", "api.okd.lab.test", False),
        ("", "etcd.svc", True),
        ("", "127.0.0.1", True),
    ],
)
def test_no_proxy_counts_as_go_reads_it_with_what_openshift_adds(no_proxy: str, host: str, direct: bool) -> None:
    assert goes_direct(config(no_proxy), host) is direct


def faults(no_proxy: str, platform: str) -> list[str]:
    options = Options.model_validate(plans.options(platform=platform))
    return [str(fault) for fault in proxied_addresses(config(no_proxy), options)]


def test_a_bmc_that_metal3_would_ask_through_the_proxy_is_named() -> None:
    (line, *others) = [line for line in faults("", "baremetal") if "10.9.9.21" in line]
    assert others == []
    assert line == (
        "platform.baremetal.hosts[0].bmc.address: 10.9.9.21 is not in proxy.noProxy, so metal3 would ask the address "
        "of a BMC through the proxy. Fix: add it, or a network that contains it, to proxy.noProxy"
    )
    assert [line for line in faults("10.9.9.0/24", "baremetal") if "10.9.9.21" in line] == []
    assert faults("", "none") == [], "nothing in a cluster of platform none asks BMCs"


def test_without_a_proxy_nothing_is_proxied() -> None:
    options = Options.model_validate(plans.options(platform="baremetal"))
    assert [*proxied_addresses(config_of(), options)] == []
