"""`check` gives two verdicts on each file: the installer's, and that on what this release can install."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from testing.command_line import run
from testing.install_configs import bare, host

GOOD = "stacks/rehearsal/install-config.yaml"
BARE = "platform.baremetal"
OURS = "valid, but not installable: "
FAR_GATEWAY = (
    f"{BARE}.bootstrapExternalStaticGateway: {OURS}192.168.112.1 is outside 192.168.111.0/24, the network of "
    "bootstrapExternalStaticIP 192.168.111.29. Fix: write the router of that network, or its whole prefix in "
    "machineNetwork"
)


def written(path: Path, *changes: Callable[[dict[str, Any]], object]) -> Path:
    config = plans.install_config()
    for change in changes:
        change(config)
    path.write_text(yaml.safe_dump(config))
    return path


def far_gateway(config: dict[str, Any]) -> None:
    values = {"IP": "192.168.111.29", "Gateway": "192.168.112.1", "DNS": "192.168.111.1"}
    bare(config).update({f"bootstrapExternalStatic{key}": value for key, value in values.items()})


def invalid(config: dict[str, Any]) -> None:
    del config["baseDomain"]


def test_a_valid_file_that_cannot_be_installed_says_so_and_gives_three(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", far_gateway)
    done = run("check", file)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{file}: {FAR_GATEWAY}\n", "")


def test_what_only_this_program_refuses_is_valid_and_gives_three(tmp_path: Path) -> None:
    """Row metadata-generation of cases/real-installer: openshift-install takes it."""
    file = written(tmp_path / "a.yaml", lambda config: config["metadata"].update(generation=1))
    done = run("check", file)
    line = f"metadata.generation: {OURS}a key of Kubernetes that no installer reads. Fix: remove it"
    assert (done.returncode, done.stdout) == (3, f"{file}: {line}\n")


def test_an_invalid_file_gets_both_verdicts_and_two(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", far_gateway, invalid)
    done = run("check", file)
    ours, theirs = done.stdout.splitlines()[1], done.stdout.splitlines()[0]
    assert theirs.startswith(f"{file}: baseDomain: missing. Fix: ")
    assert (done.returncode, ours) == (2, f"{file}: {FAR_GATEWAY}")


def test_an_address_of_two_uses_is_valid_but_not_installable(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        bare(config).update(additionalNTPServers=["192.168.111.5"])

    file = written(tmp_path / "a.yaml", change)
    line = f"192.168.111.5 is already the API VIP ({BARE}.apiVIPs[0]). Fix: give each an address of its own"
    done = run("check", file)
    assert (done.returncode, done.stdout) == (3, f"{file}: {BARE}.additionalNTPServers[0]: {OURS}{line}\n")


def static(
    address: str, index: int = 0, prefix: int = 24, keys: dict[str, Any] | None = None
) -> Callable[[dict[str, Any]], object]:
    """Return the change that gives a host a static network, and `keys` in its `networkConfig`."""

    def change(config: dict[str, Any]) -> None:
        card = {
            "name": "eno1",
            "type": "ethernet",
            "state": "up",
            "mac-address": host(config, index)["bootMACAddress"],
        }
        ipv4 = {"enabled": True, "dhcp": False, "address": [{"ip": address, "prefix-length": prefix}]}
        route = {"destination": "0.0.0.0/0", "next-hop-address": "192.168.111.1", "next-hop-interface": "eno1"}
        network = {"interfaces": [{**card, "ipv4": ipv4}], "routes": {"config": [route]}}
        dns = {"config": {"server": ["192.168.111.1"]}}
        host(config, index)["networkConfig"] = {**network, "dns-resolver": dns, **(keys or {})}

    return change


def two_cards(config: dict[str, Any]) -> None:
    """Give a host static addresses on two cards, of which only an option can choose one."""
    static("192.168.111.31", keys={"routes": {}})(config)
    cards = host(config)["networkConfig"]["interfaces"]
    cards[0].pop("mac-address")
    ipv4 = {"enabled": True, "dhcp": False, "address": [{"ip": "192.168.111.32", "prefix-length": 24}]}
    cards.append({"name": "eno2", "type": "ethernet", "state": "up", "ipv4": ipv4})


OF_HOST = f"{BARE}.hosts[0].networkConfig"
OUTSIDE = (OF_HOST, "no IPv4 address: in its networkConfig, 10.9.9.9 is outside machineNetwork 192.168.111.0/24")


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        pytest.param(static("192.168.111.31"), [], id="good"),
        pytest.param(two_cards, [], id="an-option-chooses"),
        pytest.param(
            static("192.168.111.5"),
            [(f"{OF_HOST}.interfaces[0].ipv4.address[0].ip", "192.168.111.5 is alr")],
            id="vip",
        ),
        pytest.param(
            lambda c: (static("192.168.111.31")(c), static("192.168.111.31", 1)(c)),
            [(f"{BARE}.hosts[1].networkConfig.interfaces[0].ipv4.address[0].ip", "192.168.111.31 is already")],
            id="twice",
        ),
        pytest.param(static("10.9.9.9", keys={"routes": {}}), [OUTSIDE], id="outside"),
        pytest.param(
            lambda c: host(c).update(networkConfig={"interfaces": [{"name": "eno1", "type": "ethernet"}]}),
            [],
            id="the-boot-card-asks-dhcp",
        ),
        pytest.param(
            static("192.168.111.31", keys={"dns-resolver": {}}),
            [(f"{OF_HOST}.dns-resolver.config.server", "no server of the site")],
            id="no-dns",
        ),
        pytest.param(
            static("192.168.111.31", prefix=30),
            [(f"{OF_HOST}.interfaces[0].ipv4.address[0].prefix-length", "192.168.111.31/30 leaves out the API VIP")],
            id="narrow",
        ),
        pytest.param(
            static("192.168.111.31", keys={"nonsense": 1}), [(OF_HOST, "nmstatectl refuses it: ")], id="nmstate"
        ),
        pytest.param(
            lambda c: (
                static("10.9.9.9", keys={"routes": {}})(c),
                static("192.168.111.33", 2, keys={"nonsense": 1})(c),
                bare(c).update(additionalNTPServers=["192.168.111.5"]),
            ),
            [
                (f"{BARE}.additionalNTPServers[0]", "192.168.111.5 is already the API VIP"),
                (f"{BARE}.hosts[2].networkConfig", "nmstatectl refuses it: "),
                OUTSIDE,
            ],
            id="all-at-once",
        ),
    ],
)
def test_what_a_preview_refuses_in_the_networks_is_in_check(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], faults: list[tuple[str, str]]
) -> None:
    """Case 11 of issue 40."""
    file = written(tmp_path / "a.yaml", change)
    done = run("check", file)
    lines = done.stdout.splitlines()
    assert done.returncode == (3 if faults else 0), done.stdout
    wanted = [f"{file}: {path}: {OURS}{what}" for path, what in faults] or [f"{file}: ok"]
    assert len(lines) == len(wanted)
    assert all(line.startswith(start) for line, start in zip(lines, wanted, strict=True)), lines


def test_check_works_without_nmstatectl(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", static("192.168.111.31", keys={"nonsense": 1}))
    done = run("check", file, PATH="/nonexistent", XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}: ok\n", "")


@pytest.mark.parametrize("command", ["check", "clashes"])
def test_an_invalid_file_outweighs_one_that_cannot_be_installed(tmp_path: Path, command: str) -> None:
    valid, wrong = written(tmp_path / "a.yaml", far_gateway), written(tmp_path / "b.yaml", invalid)
    assert [run(command, *files).returncode for files in ((valid, wrong), (wrong, valid))] == [2, 2]


def test_one_file_that_cannot_be_installed_outweighs_good_ones(tmp_path: Path) -> None:
    valid = written(tmp_path / "a.yaml", far_gateway)
    assert [run("check", *files).returncode for files in ((valid, GOOD), (GOOD, valid))] == [3, 3]


def test_clashes_gives_the_codes_of_check_and_two_for_a_clash(tmp_path: Path) -> None:
    valid = written(tmp_path / "a.yaml", far_gateway)
    assert run("clashes", valid).returncode == 3
    assert run("clashes", valid, valid).returncode == 2


def test_all_that_this_release_cannot_install_comes_in_one_run(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        far_gateway(config)
        bare(config).update(provisioningNetwork="Managed", provisioningDHCPRange="172.22.0.10,172.22.0.11")
        host(config, 1)["bmc"].update(address="ilo5://192.0.2.1")
        config["controlPlane"].update(architecture="s390x")
        config["compute"][0].update(architecture="s390x")

    done = run("check", written(tmp_path / "a.yaml", change))
    assert done.returncode == 3
    assert re.findall(rf"a\.yaml: ([^:]+): {OURS}", done.stdout) == [
        f"{BARE}.bootstrapExternalStaticGateway",
        f"{BARE}.provisioningDHCPRange",
        "controlPlane.architecture",
        "compute[0].architecture",
        f"{BARE}.hosts[1].bmc.address",
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c)["bmc"].update(address="nonsense://x"), id="address-that-is-wrong-anyway"),
        pytest.param(lambda c: bare(c).update(provisioningNetwork="managed"), id="mode-that-is-wrong-anyway"),
        pytest.param(
            lambda c: bare(c).update(
                provisionningNetwork=bare(c).pop("provisioningNetwork"), loadBalancer={"type": "UserManaged"}
            ),
            id="misspelt-key",
        ),
        pytest.param(lambda c: c["platform"].pop("baremetal"), id="no-platform"),
        pytest.param(lambda c: bare(c).update(hosts="none"), id="no-hosts"),
        pytest.param(lambda c: c["controlPlane"].update(architecture="i386"), id="another-architecture"),
        pytest.param(lambda c: bare(c).update(apiVIPs=["x"]), id="no-address"),
        *(
            pytest.param(
                lambda c, text=text: bare(c).update(provisioningNetwork="Managed", provisioningDHCPRange=text), id=id_
            )
            for id_, text in {
                "range-of-no-addresses": "x",
                "range-with-a-space": "172.22.0.10, 172.22.0.11",
                "range-of-three": "172.22.0.10,172.22.0.11,172.22.0.12",
            }.items()
        ),
        pytest.param(
            lambda c: bare(c).update(provisioningNetwork="Managed", provisioningNetworkCIDR="172.22.0.0/30"),
            id="network-without-room-for-a-range",
        ),
    ],
)
def test_what_is_invalid_is_not_called_valid_as_well(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    done = run("check", written(tmp_path / "a.yaml", change))
    assert done.returncode == 2
    assert OURS not in done.stdout


SHAPES: dict[str, set[str]] = {
    "bonds": {f"{BARE}.hosts.networkConfig"},
    "disconnected": set(),
    "no-provisioning-network": set(),
    "root-device-hints": set(),
    "static-addresses": set(),
    "subnets": {f"{BARE}.ingressVIPs"},
    "three-node": set(),
    "user-managed-load-balancer": set(),
    "additional-parameters": set(),
    "arbiter": set(),
    "dual-stack": set(),
    "dual-stack-ipv6-first": set(),
    "ipv6": set(),
    "ntp-servers": set(),
    "old-spellings": set(),
    "provisioning-network": set(),
    "secure-boot": set(),
    "two-node-fencing": set(),
    "unmanaged-provisioning-network": set(),
}
"""The shapes of OKD's own documents, all valid, and the fields that keep this release from installing them."""


def test_the_table_has_every_documented_shape() -> None:
    assert sorted(SHAPES) == sorted(
        path.stem for path in (ROOT / "tests" / "facts" / "install_config").glob("*.yaml")
    )
    assert len(SHAPES) == 19


@pytest.mark.parametrize("shape", SHAPES)
def test_a_documented_shape_is_valid_and_installable_or_says_why_not(shape: str) -> None:
    done = run("check", f"tests/facts/install_config/{shape}.yaml")
    fields = {line.split(": ")[1] for line in done.stdout.splitlines() if OURS in line}
    assert done.returncode == (3 if SHAPES[shape] else 0)
    assert {re.sub(r"\[\d+\]", "", field) for field in fields} == SHAPES[shape]
