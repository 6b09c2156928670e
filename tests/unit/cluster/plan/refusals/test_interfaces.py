"""Interfaces that nmstate accepts without a machine, and no machine does: `check` and a plan refuse them."""

from typing import Any

import pytest

from boot_media.keyfiles import keyfiles_of
from testing.install_configs import Change, bare, fine, host
from testing.plan_files import Files

AT = "platform.baremetal.hosts[0].networkConfig"
LONG = "enp94s0f0np0.2507"


def card(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": "ethernet", "state": "up", **keys}


def upper(name: str, kind: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "state": "up", **keys}


def network(*interfaces: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"interfaces": [*interfaces], **{name.replace("_", "-"): section for name, section in sections.items()}}


def vlan(number: object) -> dict[str, Any]:
    return network(card("eno1"), upper("v", "vlan", vlan={"base-iface": "eno1", "id": number}))


def bond(port: str) -> dict[str, Any]:
    return network(upper("bond0", "bond", **{"link-aggregation": {"mode": "active-backup", "port": [port]}}))


def with_network(written: dict[str, Any]) -> Change:
    return lambda config: host(config).update(networkConfig=written)


VLAN = {"base-iface": "eno1", "id": 5}
BY_MAC = {"identifier": "mac-address", "mac-address": "52:54:00:11:10:15"}
SHOWN = {"running": [{"destination": "192.0.2.0/24", "next-hop-interface": "eno1"}]}
REFUSED = [
    pytest.param(
        network(upper(LONG, "vlan", vlan={"base-iface": "eno1", "id": 2507})),
        f"interfaces[0].name: {LONG} has 17 characters, and an interface's name has at most 15",
        id="N30-vlan",
    ),
    pytest.param(
        network(upper("v", "vlan", vlan={"base-iface": "e" * 16, "id": 5})),
        f"interfaces[0].vlan.base-iface: {'e' * 16} has 16 characters",
        id="N30-base",
    ),
    pytest.param(
        bond("e" * 16), f"interfaces[0].link-aggregation.port[0]: {'e' * 16} has 16 characters", id="N30-port"
    ),
    pytest.param(
        network(upper("br0", "linux-bridge", bridge={"port": [{"name": "e" * 16}]})),
        f"interfaces[0].bridge.port[0].name: {'e' * 16} has 16 characters",
        id="N30-port-of-a-bridge",
    ),
    pytest.param(network(card("en o1")), "interfaces[0].name: 'en o1' is not an interface's name", id="N30-blank"),
    pytest.param(network(card("all")), "interfaces[0].name: 'all' is not an interface's name", id="N30-all"),
    pytest.param(vlan(0), "interfaces[1].vlan.id: 0 is not the id of a VLAN. Fix: write 1 to 4094", id="N32-zero"),
    pytest.param(vlan(4095), "interfaces[1].vlan.id: 4095 is not the id of a VLAN", id="N32-4095"),
    pytest.param(vlan("5000"), "interfaces[1].vlan.id: 5000 is not the id of a VLAN", id="N32-as-text"),
    pytest.param(
        network(upper("x", "vxlan", vxlan={"base-iface": "eno1", "id": 2**24, "remote": "192.0.2.9"})),
        "interfaces[0].vxlan.id: 16777216 is not the id of a VXLAN. Fix: write 1 to 16777215",
        id="N32-vxlan",
    ),
    pytest.param(
        network(card("eno1"), card("eno1", mtu=9000)),
        "interfaces[1].name: eno1 is interfaces[0] already, and a machine has it once. Fix: write all of",
        id="N24-twice",
    ),
    pytest.param(
        network(card("eno1"), upper("eno1", "dummy")),
        "interfaces[1].name: eno1 is interfaces[0] already",
        id="N24-twice-of-two-types",
    ),
    pytest.param(
        network(upper("a", "vlan", vlan=VLAN), upper("b", "vlan", vlan=VLAN)),
        "interfaces[1].vlan.id: VLAN 5 of eno1 is interfaces[0] already",
        id="N24-one-vlan-of-two-names",
    ),
    pytest.param(
        network(upper("a", "vlan", vlan=VLAN), upper("a", "vlan", vlan=VLAN)),
        "interfaces[1].name: a is interfaces[0] already",
        id="N24-twice-in-one-line",
    ),
    pytest.param(
        network(card("a", **BY_MAC), card("b", **BY_MAC)),
        "interfaces[1].mac-address: 52:54:00:11:10:15 is interfaces[0] already",
        id="N24-one-card-of-two-profiles",
    ),
    pytest.param(
        network(card("eno1"), hostname={"running": "a", "config": "other"}),
        "hostname: other is ignored: the node has the host's name, okd-master-0. Fix: remove it",
        id="N19-hostname",
    ),
    pytest.param(
        network(card("eno1"), routes=SHOWN), "routes.running: is what nmstate reports", id="N19-routes-as-shown"
    ),
    pytest.param(
        network(card("eno1"), dns_resolver={"running": {"server": ["192.0.2.53"]}}),
        "dns-resolver.running: is what nmstate reports",
        id="N19-dns-as-shown",
    ),
]


@pytest.mark.parametrize(("written", "line"), REFUSED)
def test_what_nmstate_accepts_and_no_machine_does_is_refused(
    files: Files, written: dict[str, Any], line: str
) -> None:
    fine(with_network(written))  # openshift-install accepts it
    assert keyfiles_of(written)  # as does nmstate
    (refused,) = files.refused_intent(with_network(written))
    assert refused.startswith(f"FILE: {AT}.{line}")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(
            network(card("a-profile-of-a-card", **BY_MAC)),
            id="a-profile-of-any-length",
        ),
        pytest.param(
            network(
                upper("br-ex", "ovs-bridge", bridge={"port": [{"name": "br-ex"}, {"name": "eno1"}]}),
                upper("br-ex", "ovs-interface"),
                card("eno1"),
            ),
            id="an-ovs-bridge-with-the-name-of-its-interface",
        ),
        pytest.param(network(card("eno1"), hostname={"config": "okd-master-0"}), id="the-hosts-own-name"),
        pytest.param(vlan(4094), id="highest-id"),
        pytest.param(network({"type": "ethernet"}), id="no-name-which-nmstate-refuses-itself"),
        pytest.param(bond("e" * 15), id="15-characters"),
        pytest.param(
            network(card("eno1"), routes={**SHOWN, "config": SHOWN["running"]}), id="as-shown-with-a-config"
        ),
    ],
)
def test_what_resembles_it_is_planned(files: Files, written: dict[str, Any]) -> None:
    assert files.intent(with_network(written)).hosts[0].network_config == written


@pytest.mark.parametrize("key", ["externalBridge", "provisioningBridge", "provisioningNetworkInterface"])
def test_the_bridges_and_the_interface_of_the_platform_have_such_names(files: Files, key: str) -> None:
    def change(config: dict[str, Any]) -> None:
        bare(config).update({"provisioningNetwork": "Managed", key: "b" * 16})

    (line,) = files.refused_intent(change)
    assert line.startswith(f"FILE: platform.baremetal.{key}: {'b' * 16} has 16 characters")
