"""Options, and where they and the install-config disagree."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from cluster.errors import ConfigError
from cluster.plan import ClusterPlan, Role
from tests import plans


def problems_of(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        plans.plan(**changes)
    return caught.value.problems


def addresses(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = plans.options()["node_addresses"]
    return {**known, **{name.replace("_", "-"): value for name, value in changes.items()}}


BOOTSTRAP = plans.options()["bootstrap"]
MEDIA = plans.options()["media"]


def test_the_committed_rehearsal_loads(plan: ClusterPlan) -> None:
    assert (plan.name, plan.domain) == ("okd", "okd.lab.test")
    assert (str(plan.api.address), plan.api.router_id) == ("192.168.111.5", 67)
    assert (str(plan.ingress.address), plan.ingress.router_id) == ("192.168.111.4", 162)
    assert [server.name for server in plan.control_plane] == ["okd-master-0", "okd-master-1", "okd-master-2"]
    assert [server.name for server in plan.compute] == ["okd-worker-0", "okd-worker-1"]
    assert plan.bootstrap.name == "okd-bootstrap"
    assert plan.options.phase == "bootstrap"


def test_a_server_joins_what_both_inputs_say_about_it(plan: ClusterPlan) -> None:
    server = plan.compute[1]
    assert (server.name, server.role) == ("okd-worker-1", Role.COMPUTE)
    assert server.address == IPv4Address("192.168.111.25")
    assert server.mac == "52:54:00:11:10:19"
    assert server.root_device == "/dev/vda"
    assert server.consent == "SERIAL-okd-worker-1"
    assert server.bmc.verify
    assert server.bmc.password.get_secret_value() == "rehearsal-only"


def test_secrets_are_masked_in_what_a_plan_prints(plan: ClusterPlan) -> None:
    assert "rehearsal-only" not in f"{plan!r} {plan}"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param({"phase": "done"}, "phase: Input should be 'bootstrap' or 'production'", id="phase"),
        pytest.param({"phaze": "done"}, "phaze: unknown key; did you mean phase?", id="misspelt"),
        pytest.param(
            {"handoff": {"soaks": 3}}, "handoff.soaks: unknown key; did you mean soak_s?", id="misspelt-in-an-object"
        ),
        pytest.param({"handoff": {"soak_s": 0}}, "handoff.soak_s: Input should be greater than 0", id="no-soak"),
        pytest.param(
            {"payload": {**plans.PAYLOAD, "worker": "C2" * 32}}, "payload.worker: String should match", id="digest"
        ),
        pytest.param({"media": {**MEDIA, "port": 0}}, "media.port: Input should be greater", id="port"),
        pytest.param({"bootstrap": {**BOOTSTRAP, "memory_mib": 1}}, "bootstrap.memory_mib: ", id="memory"),
        pytest.param({"bootstrap": {"address": "192.168.111.20"}}, "bootstrap.base_volume: ", id="no-base-volume"),
        pytest.param({"node_addresses": {"okd-master-0": ["x"]}}, "node_addresses.okd-master-0.0: ", id="no-address"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(changes: dict[str, Any], line: str) -> None:
    (problem,) = problems_of(**changes)
    assert problem.startswith(f"config: {line}")
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        pytest.param(
            {"node_addresses": addresses(okd_master_1=[])},
            ["node_addresses.okd-master-1: missing; name the address that DHCP reserves for it"],
            id="host-without-address",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_master_9=["192.168.111.99"])},
            ["node_addresses.okd-master-9: no such host"],
            id="address-without-host",
        ),
        pytest.param(
            {"consent": {**plans.CONSENT, "okd-master-9": "x"}}, ["consent.okd-master-9: no such host"], id="consent"
        ),
        pytest.param(
            {"consent": {name: "x" for name in plans.HOSTS[1:]}},
            [
                "consent.okd-master-0: missing; "
                "name the serial or system UUID of the one machine whose disk may be wiped"
            ],
            id="no-consent",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.112.24"])},
            ["node_addresses.okd-worker-0: 192.168.112.24 is outside machineNetwork 192.168.111.0/24"],
            id="host-outside",
        ),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "address": "10.0.0.1"}},
            ["bootstrap.address: 10.0.0.1 is outside machineNetwork 192.168.111.0/24"],
            id="bootstrap-outside",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.111.5"])},
            ["node_addresses.okd-worker-0: 192.168.111.5 is the API VIP already"],
            id="host-on-the-api-vip",
        ),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "address": "192.168.111.4"}},
            ["bootstrap.address: 192.168.111.4 is the Ingress VIP already"],
            id="bootstrap-on-the-ingress-vip",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.111.21"])},
            ["node_addresses.okd-worker-0: 192.168.111.21 is node_addresses.okd-master-0 already"],
            id="two-hosts-one-address",
        ),
        pytest.param(
            {
                "node_addresses": addresses(okd_master_0=[], okd_worker_9=["10.0.0.1"]),
                "consent": {**plans.CONSENT, "x": "y"},
            },
            [
                "node_addresses.okd-master-0: missing; name the address that DHCP reserves for it",
                "node_addresses.okd-worker-9: no such host",
                "consent.x: no such host",
                "node_addresses.okd-worker-9: 10.0.0.1 is outside machineNetwork 192.168.111.0/24",
            ],
            id="all-at-once",
        ),
    ],
)
def test_inputs_that_disagree_are_refused(changes: dict[str, Any], lines: list[str]) -> None:
    assert problems_of(**changes) == [f"config: {line}" for line in lines]
