"""The option `platform`: who balances, and what platform baremetal excludes."""

from typing import Any

import pytest

from cluster.values.balancer import Balancer
from testing import clusters, plans
from testing.install_configs import Change
from testing.plan_files import Files, as_it_is

BAREMETAL = {"platform": "baremetal"}


@pytest.mark.parametrize(
    ("change", "options", "balancer"),
    [
        pytest.param(as_it_is, {}, Balancer.CLUSTER, id="none"),
        pytest.param(as_it_is, BAREMETAL, Balancer.OPERATOR, id="baremetal"),
        pytest.param(clusters.balancer, BAREMETAL, Balancer.SITE, id="baremetal-and-a-balancer-of-the-site"),
    ],
)
def test_the_platform_decides_who_balances(
    files: Files, change: Change, options: dict[str, Any], balancer: Balancer
) -> None:
    assert files.plan(change, **options).balancer is balancer


@pytest.mark.parametrize(
    ("platform", "wanted"),
    [
        pytest.param("none", {"api", "api-int", "*.apps"}, id="none"),
        pytest.param("baremetal", {"api", "*.apps"}, id="baremetal-whose-pointer-has-the-address"),
    ],
)
def test_names_that_the_dns_before_a_balancer_must_have(files: Files, platform: str, wanted: set[str]) -> None:
    records = files.plan(clusters.balancer, platform=platform).dns_records
    assert {name.removesuffix(".okd.lab.test") for name in records} == wanted


def test_a_machine_without_a_service_needs_no_image(files: Files) -> None:
    assert files.plan(clusters.balancer, **BAREMETAL, images={}).images.release == ""


WITH_BOTH = clusters.VARIANTS["dual-stack"].options
THEIRS = "the machine-config operator's keepalived on platform baremetal"
SERVED = "boots over the network by the control plane, which on platform baremetal serves nothing"
VIRTUAL_CD = "Fix: use redfish-virtualmedia, or `platform: none`"
EXCLUDED = [
    pytest.param(
        lambda c: c["controlPlane"].update(replicas=1),
        {},
        [
            "FILE: controlPlane.replicas: 1, and `create manifests` refuses a single node on platform baremetal. "
            "Fix: write 3, or `platform: none`"
        ],
        id="single-node",
    ),
    pytest.param(
        clusters.dual_stack,
        WITH_BOTH,
        [
            f"FILE: platform.baremetal.apiVIPs: two, and {THEIRS} may put them on different nodes: "
            "not supported yet. Fix: write one, or `platform: none`"
        ],
        id="two-api-vips",
    ),
    pytest.param(
        clusters.managed,
        {},
        [f"FILE: platform.baremetal.hosts[{index}].bmc.address: {SERVED}. {VIRTUAL_CD}" for index in (3, 4)],
        id="network-boot-of-compute",
    ),
    *(
        pytest.param(
            as_it_is,
            {"vrrp": {name: value}},
            [f"config: vrrp.{name}: {value}, but {THEIRS} has {wanted}. Fix: write {wanted}, or remove it"],
            id=f"{name}-{value}",
        )
        for name, value, wanted in (
            ("policy", "preempt", "release"),
            ("api", "multicast", "unicast"),
            ("ingress", "unicast", "multicast"),
        )
    ),
    *(
        pytest.param(
            as_it_is,
            {"vrids": {name: 9}},
            [
                f"config: vrids.{name}: {THEIRS} takes the VRID that follows from the cluster's name. "
                "Fix: remove it, or write `platform: none`"
            ],
            id=f"vrid-{name}",
        )
        for name in ("api", "ingress")
    ),
]


@pytest.mark.parametrize(("change", "options", "lines"), EXCLUDED)
def test_platform_baremetal_excludes(files: Files, change: Change, options: dict[str, Any], lines: list[str]) -> None:
    assert files.refused_plan(change, **BAREMETAL, **options) == lines
    files.intent(change, plans.options(**options))
