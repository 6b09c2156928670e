"""What a plan may say and no file can yet: one line each, with the field's path."""

from pathlib import Path
from typing import Any

import pytest

from assets.errors import AssetError
from assets.limits import check_renderable
from cluster.plan import ClusterPlan
from tests import plans
from tests.unit.cluster.install_config.cases import Change, bare, host
from tests.unit.cluster.plan.files import Files

BARE = "platform.baremetal"


def dual_stack(config: dict[str, Any]) -> None:
    config["networking"].update(
        machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "fd2e::/64"}],
        clusterNetwork=[{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
        serviceNetwork=["172.30.0.0/16", "fd02::/112"],
    )
    bare(config).update(apiVIPs=["192.168.111.5", "fd2e::5"], ingressVIPs=["192.168.111.4", "fd2e::4"])


def ipv6(config: dict[str, Any]) -> None:
    config["networking"].update(
        machineNetwork=[{"cidr": "fd2e::/64"}],
        clusterNetwork=[{"cidr": "fd01::/48", "hostPrefix": 64}],
        serviceNetwork=["fd02::/112"],
    )
    bare(config).update(apiVIPs=["fd2e::5"], ingressVIPs=["fd2e::4"])


def static_bootstrap(config: dict[str, Any]) -> None:
    bare(config).update(
        bootstrapExternalStaticIP="192.168.111.20",
        bootstrapExternalStaticGateway="192.168.111.1",
        bootstrapExternalStaticDNS="192.168.111.1",
    )


def only_the_spare_one_says_more(config: dict[str, Any]) -> None:
    config["compute"][0].update(replicas=1)
    for each in bare(config)["hosts"]:
        del each["role"]
    del host(config, 4)["rootDeviceHints"]


BOTH = {name: [f"192.168.111.{last}", f"fd2e::{last}"] for last, name in enumerate(plans.HOSTS, 21)}
SIX = {name: [f"fd2e::{last}"] for last, name in enumerate(plans.HOSTS, 21)}


def test_the_rehearsal_can_be_rendered(plan: ClusterPlan) -> None:
    check_renderable(plan)


def test_a_spare_host_is_not_rendered(tmp_path: Path) -> None:
    check_renderable(Files(tmp_path).plan(only_the_spare_one_says_more))


@pytest.mark.parametrize(
    ("change", "options", "lines"),
    [
        pytest.param(
            dual_stack,
            {"node_addresses": BOTH},
            [
                "networking.machineNetwork: 192.168.111.0/24, fd2e::/64: only IPv4 is supported yet, and one entry; "
                "write one of IPv4",
                f"{BARE}.apiVIPs: 192.168.111.5, fd2e::5: only IPv4",
                f"{BARE}.ingressVIPs: 192.168.111.4, fd2e::4: only IPv4",
            ],
            id="dual-stack",
        ),
        pytest.param(
            ipv6,
            {"node_addresses": SIX, "bootstrap": {"address": "fd2e::20", "base_volume": "base.qcow2"}},
            [
                "networking.machineNetwork: fd2e::/64: only IPv4",
                f"{BARE}.apiVIPs: fd2e::5: only IPv4",
                f"{BARE}.ingressVIPs: fd2e::4: only IPv4",
            ],
            id="ipv6",
        ),
        pytest.param(
            lambda c: c["networking"]["machineNetwork"].append({"cidr": "192.168.112.0/24"}),
            {},
            ["networking.machineNetwork: 192.168.111.0/24, 192.168.112.0/24: only IPv4"],
            id="two-machine-networks",
        ),
        pytest.param(
            static_bootstrap,
            {},
            [
                f"{BARE}.bootstrapExternalStaticIP: the bootstrap VM asks DHCP for its address yet; "
                "take the three bootstrapExternalStatic keys out, and reserve one for 52:54:00:11:10:14"
            ],
            id="static-bootstrap",
        ),
        pytest.param(
            lambda c: (c["compute"][0].update(replicas=0), [each.pop("role") for each in bare(c)["hosts"]]),
            {},
            ["compute[0].replicas: 0: a cluster without compute is not supported yet; write 1 or more"],
            id="no-compute",
        ),
        pytest.param(
            lambda c: host(c, 1).pop("rootDeviceHints"),
            {},
            [f"{BARE}.hosts[1].rootDeviceHints: missing: only deviceName is supported yet; write that one alone"],
            id="no-hint",
        ),
        pytest.param(
            lambda c: host(c, 1)["rootDeviceHints"].update(vendor="ATA", rotational=False),
            {},
            [
                f"{BARE}.hosts[1].rootDeviceHints: deviceName, vendor, rotational: "
                "only deviceName is supported yet; write that one alone"
            ],
            id="more-hints",
        ),
        pytest.param(
            lambda c: host(c, 3).update(bootMode="UEFISecureBoot"),
            {},
            [f"{BARE}.hosts[3].bootMode: UEFISecureBoot: not switched on by this program yet; write UEFI"],
            id="secure-boot",
        ),
        pytest.param(
            lambda c: host(c, 4).update(networkConfig={"interfaces": []}),
            {},
            [f"{BARE}.hosts[4].networkConfig: not supported yet: hosts ask DHCP; take it out, and reserve addresses"],
            id="network-config",
        ),
    ],
)
def test_what_cannot_be_rendered_is_refused(
    tmp_path: Path, change: Change, options: dict[str, Any], lines: list[str]
) -> None:
    plan = Files(tmp_path).plan(change, **options)
    with pytest.raises(AssetError) as caught:
        check_renderable(plan)
    found = str(caught.value).splitlines()
    assert len(found) == len(lines), found
    for seen, line in zip(found, lines, strict=True):
        assert seen.startswith(line), seen
