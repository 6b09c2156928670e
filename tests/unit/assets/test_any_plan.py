"""Any valid cluster renders, every reader accepts its files, and the oracle of the policy agrees."""

import tempfile
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.render import Rendered, render
from cli.inspect.render import own_configs
from cluster.plan import Intent
from cluster.values.role import BOOTSTRAP
from cluster.values.vrrp import Policy
from providers.rendered_asset.readers import run_readers
from testing import clusters, plans
from testing.plan_files import Files
from tests.unit.assets.policy_oracle import contradictions, parse

NETWORKS = {4: ip_network("10.0.0.0/16"), 6: ip_network("fd00:1234::/64")}
FAMILIES = {
    4: {
        "machineNetwork": {"cidr": "10.0.0.0/16"},
        "clusterNetwork": {"cidr": "10.128.0.0/14", "hostPrefix": 23},
        "serviceNetwork": "172.30.0.0/16",
    },
    6: {
        "machineNetwork": {"cidr": "fd00:1234::/64"},
        "clusterNetwork": {"cidr": "fd01::/48", "hostPrefix": 64},
        "serviceNetwork": "fd02::/112",
    },
}
NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,12}[a-z0-9])?", fullmatch=True)
TRANSPORTS = st.sampled_from(["unicast", "multicast"])
POLICIES: tuple[Policy, ...] = ("release", "preempt")


@st.composite
def any_intent(draw: st.DrawFn, policies: tuple[Policy, ...] = POLICIES) -> Intent:
    """A valid intent of any size, family, transport and runtime, at any addresses."""
    families = draw(st.sampled_from([(4,), (6,), (4, 6), (6, 4)]))
    masters, workers = draw(st.sampled_from([3, 4, 5])), draw(st.integers(0, 4))
    names = draw(st.lists(NAMES, min_size=masters + workers, max_size=masters + workers, unique=True))
    count = masters + workers + 3
    lasts = draw(st.lists(st.integers(2, 65000), min_size=count, max_size=count, unique=True))
    at = [[str(NETWORKS[family][last]) for family in families] for last in lasts]
    config = plans.install_config()
    config["metadata"]["name"] = draw(NAMES)
    config["networking"].update({key: [FAMILIES[each][key] for each in families] for key in FAMILIES[4]})
    config["controlPlane"]["replicas"], config["compute"][0]["replicas"] = masters, workers
    config["platform"]["baremetal"].update(
        apiVIPs=at[0], ingressVIPs=at[1], hosts=[_host(config, name, index) for index, name in enumerate(names)]
    )
    options = plans.options(
        node_addresses=dict(zip(names, at[3:], strict=True)),
        consent=dict.fromkeys(names, "serial"),
        bootstrap={**clusters.BASE_VOLUME, "address": at[2]},
        vrrp={"policy": draw(st.sampled_from(policies)), "api": draw(TRANSPORTS), "ingress": draw(TRANSPORTS)},
        runtime=draw(st.sampled_from(["host", "podman"])),
        images=draw(st.sampled_from([clusters.IMAGES, {"release": clusters.RELEASE}])),
    )
    with tempfile.TemporaryDirectory() as folder:
        return Files(Path(folder)).intent(lambda written: written.update(config), options)


def _host(config: dict[str, Any], name: str, index: int) -> dict[str, Any]:
    first = config["platform"]["baremetal"]["hosts"][0]
    bmc = {**first["bmc"], "address": f"redfish-virtualmedia://172.22.0.9/redfish/v1/Systems/{index}"}
    role = "master" if index < config["controlPlane"]["replicas"] else "worker"
    return {**first, "name": name, "role": role, "bootMACAddress": f"52:54:00:00:00:{index:02x}", "bmc": bmc}


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_nothing_in_the_renders_contradicts_the_policy(policy: Policy, data: st.DataObject) -> None:
    intent = data.draw(any_intent((policy,)))
    assert intent.api.policy == policy
    rendered = render(intent)
    assert contradictions(intent, rendered) == []
    check_priorities(intent, rendered)


def check_priorities(intent: Intent, rendered: Rendered) -> None:
    """Check that no two roles claim a VIP with equal priority."""
    claims = {
        folder: parse(file.text)
        for folder, files in rendered.folders.items()
        for file in files
        if file.name == "keepalived.conf"
    }
    bootstrap = claims.pop(BOOTSTRAP)
    assert bootstrap.keys() == {f"{intent.name}_API_{number}" for number in range(len(intent.api.addresses))}
    for name, own in bootstrap.items():
        nodes = [each[name] for each in claims.values() if name in each]
        assert len(nodes) == len(intent.control_plane)
        assert not own.ever(intent.api.priorities.release) & set().union(*(each.ever() for each in nodes))
        assert len({each.effective() for each in nodes}) == len(nodes)


@settings(max_examples=settings().max_examples // 8)
@given(any_intent())
def test_every_reader_accepts_its_rendered_files(intent: Intent) -> None:
    rendered = render(intent)
    ours = {path: config.encode() for path, config in own_configs(intent, rendered).items()}
    assert [refusal for result in run_readers(rendered.folders, ours) for refusal in result.refusals] == []
