"""The inputs of a role's rollout, made from the plan."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.render import Rendered, render
from cluster.plan import ClusterPlan, Role
from providers.host_provisioning import composition
from providers.host_provisioning.model import HostProvisioningSpec
from testing import clusters, plans
from testing.install_configs import arm64
from testing.plan_files import Files
from wires.bmc.access import BmcAccess
from wires.bmc.identity import MachineId

MASTERS, WORKERS = plans.HOSTS[:3], plans.HOSTS[3:]


def spec(plan: ClusterPlan, role: Role = Role.COMPUTE, rendered: Rendered | None = None) -> HostProvisioningSpec:
    return HostProvisioningSpec.of(plan, role, rendered or render(plan), "prod")


def by_unicast(own: int, *peers: int) -> dict[str, Any]:
    addresses = {"sources": (f"192.168.111.{own}",), "peers": tuple(f"192.168.111.{peer}" for peer in peers)}
    return {**addresses, "priority": None}


def test_the_spec_has_the_sources_of_each_hosts_iso() -> None:
    plan = plans.plan(bmc_ca="of all")
    made = spec(plan)
    secret = {"own_ignition", "keyfiles", "passwords", "ignition_sha256", "hosts"}
    assert made.model_dump(mode="json", exclude=secret) == {
        "urn": "",
        "role": "compute",
        "architecture": "amd64",
        "identities": {},
        "ca": "of all",
        "media_address": "172.22.0.1",
        "media_port": 8080,
        "media_url": "",
        "over_tls": [],
        "boot_macs": {},
        "boot_server": "",
        "base_iso_sha256": "d3" * 32,
        "base_iso_url": "",
        "payload_sha256": "c2" * 32,
        "reinstall": {},
        "out_of_etcd": [],
        "snapshots": "",
        "fenced": False,
        "unicast": False,
        "vrrp": {},
        "stack": "prod",
        "api_name": "api.okd.lab.test",
        "api_vip": "192.168.111.5",
        "approve_certificates": True,
        "deadline_s": 300.0,
        "rows": {},
    }
    for key in secret:
        assert tuple(getattr(made, key)) == WORKERS
    (server, _) = plan.compute
    first = made.hosts[WORKERS[0]]
    assert first.bmc == BmcAccess.of(plan.options, server, ca=""), "the common CA is stored once, and not per host"
    assert (first.address, first.root_device) == (str(server.address), {"deviceName": "/dev/vda"})
    assert first.addresses == tuple(map(str, server.addresses))
    assert made.passwords[WORKERS[0]].get_secret_value() == "rehearsal-only"
    assert json.loads(made.own_ignition[WORKERS[0]].get_secret_value())["ignition"] == {"version": "3.2.0"}
    assert "rehearsal-only" not in repr(made)


@pytest.mark.parametrize(
    ("media", "over_tls"),
    [
        pytest.param({}, MASTERS[:1], id="S9-with-a-secret"),
        pytest.param({"tls": True}, MASTERS, id="S9-all"),
        pytest.param({"plain_http": {MASTERS[0]: True}}, (), id="S9-accepted-in-the-clear"),
        pytest.param({"plain_http": {MASTERS[0]: False}}, MASTERS[:1], id="S9-not-accepted"),
        pytest.param({"tls": True, "plain_http": {MASTERS[1]: True}}, (MASTERS[0], MASTERS[2]), id="S9-all-but-one"),
    ],
)
def test_the_hosts_with_a_secret_fetch_their_isos_over_tls(media: dict[str, Any], over_tls: tuple[str, ...]) -> None:
    plan = clusters.plan("static", media={**plans.options()["media"], **media})
    made = spec(plan, Role.CONTROL_PLANE)
    assert made.over_tls == over_tls
    assert composition.recipe_of(made).over_tls == {*over_tls}


@pytest.mark.parametrize("name", ["managed", "unmanaged"])
def test_a_host_that_fetches_its_installer_does_so_over_plain_http(name: str) -> None:
    plan = clusters.plan(name, media={**plans.options()["media"], "tls": True})
    over_tls = [name for role in Role if plan.of(role) for name in spec(plan, role).over_tls]
    assert over_tls == [server.name for server in plan.servers if not server.fetches_installer]
    assert 0 < len(over_tls) < len(plan.servers)


def test_each_role_has_the_base_iso_of_its_architecture(tmp_path: Path) -> None:
    iso = {"sha256": "a6" * 32, "url": "https://mirror/arm64.iso"}
    plan = Files(tmp_path).plan(
        arm64,
        media={"url": "https://web/isos", "base_iso": plans.BASE_ISO, "base_iso_arm64": iso},
    )
    specs = {role: spec(plan, role) for role in Role if plan.of(role)}
    assert {role: (made.architecture, made.base_iso_sha256, made.base_iso_url) for role, made in specs.items()} == {
        "control-plane": ("amd64", "d3" * 32, ""),
        "compute": ("arm64", "a6" * 32, "https://mirror/arm64.iso"),
    }


def test_the_control_plane_is_made_from_its_own_payload() -> None:
    made = spec(plans.plan(), Role.CONTROL_PLANE)
    assert (tuple(made.hosts), made.payload_sha256) == (MASTERS, "a1" * 32)


def test_the_digest_of_an_ignition_changes_with_payload_and_files() -> None:
    plan = plans.plan()
    before = spec(plan).ignition_sha256
    assert spec(plan).ignition_sha256 == before
    other_payload = spec(plans.plan(payload={**plans.PAYLOAD, "worker": "ee" * 32})).ignition_sha256
    other_files = spec(plans.plan(vrrp={"ingress": "unicast"})).ignition_sha256
    assert not set(before.values()) & {*other_payload.values(), *other_files.values()}
    assert len(set(other_files.values())) == len(WORKERS), "each lists the others as its peers"


@pytest.mark.parametrize(
    ("options", "role", "changed"),
    [
        pytest.param(
            {"reinstall": {MASTERS[0]: "SN-1", WORKERS[0]: "SN-2"}},
            Role.COMPUTE,
            {"reinstall": {WORKERS[0]: "SN-2"}},
            id="reinstall-of-its-own-hosts",
        ),
        pytest.param(
            {"vrrp": {"ingress": "unicast"}},
            Role.COMPUTE,
            {"unicast": True, "vrrp": {WORKERS[0]: by_unicast(24, 25), WORKERS[1]: by_unicast(25, 24)}},
            id="unicast",
        ),
    ],
)
def test_an_option_changes_only_the_inputs_of_its_role(
    options: dict[str, Any], role: Role, changed: dict[str, Any]
) -> None:
    before, after = (spec(plans.plan(**changes), role).model_dump() for changes in ({}, options))
    same = {"own_ignition", "ignition_sha256", *changed}
    assert {key: after[key] for key in changed} == changed
    assert {key: before[key] for key in before.keys() - same} == {key: after[key] for key in after.keys() - same}


def test_each_host_has_its_own_keyfiles_as_secrets() -> None:
    made = spec(clusters.plan("static"), Role.CONTROL_PLANE)
    files = {name: sorted(keyfiles) for name, keyfiles in made.keyfiles.items()}
    assert files == {
        MASTERS[0]: ["bond0.nmconnection", "eno1.nmconnection", "eno2.nmconnection"],
        MASTERS[1]: ["eno1.nmconnection"],
        MASTERS[2]: ["eno1.nmconnection"],
    }
    assert clusters.SWITCH_PASSWORD in made.keyfiles[MASTERS[0]]["eno1.nmconnection"].get_secret_value()
    assert clusters.SWITCH_PASSWORD not in repr(made)


@pytest.mark.parametrize(
    ("identity", "own"),
    [
        (MachineId(uuid="AB-1", serial="SN-1"), "ab-1"),
        (MachineId(uuid="03000200-0400-0500-0006-000700080009", serial="SN-1"), "sn-1"),
        (MachineId(), ""),
    ],
    ids=["uuid", "serial", "neither"],
)
def test_a_machine_is_identified_in_lower_case_by_a_value_unique_to_it(identity: MachineId, own: str) -> None:
    assert identity.own == own
