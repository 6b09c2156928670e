"""Keyfiles of a networkConfig, made by the real nmstatectl."""

import os
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest

from base.errors import BootMediaError
from boot_media.keyfiles import keyfiles_of
from cluster.install_config.read import mapping
from cluster.plan.model import Keyfile
from testing.checkout import ROOT

FACTS = Path(__file__).parents[2] / "facts" / "install_config"
SECRET = "hunter2"
CORRECT = "Fix: correct it according to nmstate's documentation"
TWICE = (
    "a profile-name is used twice, starts with a dot or has a slash. Fix: choose another name: it becomes a file name"
)
Document = dict[str, Any]


def ethernet(name: str, **more: Any) -> Document:
    return {"name": name, "type": "ethernet", "state": "up", **more}


def static(*addresses: str) -> Document:
    pairs = [address.split("/") for address in addresses]
    return {"enabled": True, "address": [{"ip": ip, "prefix-length": int(length)} for ip, length in pairs]}


def route(destination: str, by: str, through: str, **more: Any) -> Document:
    return {"destination": destination, "next-hop-address": by, "next-hop-interface": through, **more}


def authenticated(**more: Any) -> Document:
    return {"interfaces": [ethernet("eth0", **{"802.1x": {"eap-methods": ["tls"], "identity": "me", **more}})]}


def instead(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Put another nmstatectl before the real one in the search path."""
    tool = folder / "nmstatectl"
    tool.write_text(script)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return tool


def read(files: tuple[Keyfile, ...]) -> dict[str, dict[str, dict[str, str]]]:
    """Sections by file name."""
    profiles = {}
    for file in files:
        parser = RawConfigParser(delimiters="=", comment_prefixes="#")
        parser.read_string(file.text)
        profiles[file.name] = {section: dict(parser[section]) for section in parser.sections()}
    return profiles


def refusal(document: Document) -> str:
    with pytest.raises(BootMediaError) as caught:
        keyfiles_of(document)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_static_address_with_dns_and_a_route() -> None:
    document = {
        "interfaces": [ethernet("eth0", ipv4=static("192.0.2.20/24"))],
        "dns-resolver": {"config": {"server": ["192.0.2.1"], "search": ["lab.test"]}},
        "routes": {"config": [route("0.0.0.0/0", "192.0.2.1", "eth0")]},
    }
    profiles = read(keyfiles_of(document))
    assert list(profiles) == ["eth0.nmconnection"]
    profile = profiles["eth0.nmconnection"]
    assert profile["connection"]["interface-name"] == "eth0"
    seen = {key: profile["ipv4"][key] for key in ("method", "address0", "dns", "dns-search", "route0")}
    assert seen == {
        "method": "manual",
        "address0": "192.0.2.20/24",
        "dns": "192.0.2.1",
        "dns-search": "lab.test",
        "route0": "0.0.0.0/0,192.0.2.1,0",
    }
    assert profile["ipv6"]["method"] == "disabled"


def test_ipv6() -> None:
    document = {
        "interfaces": [ethernet("eth0", ipv6=static("2001:db8::20/64"))],
        "dns-resolver": {"config": {"server": ["2001:db8::1"]}},
        "routes": {"config": [route("::/0", "2001:db8::1", "eth0")]},
    }
    profile = read(keyfiles_of(document))["eth0.nmconnection"]
    assert (profile["ipv4"]["method"], profile["ipv6"]["method"]) == ("disabled", "manual")
    assert (profile["ipv6"]["address0"], profile["ipv6"]["dns"]) == ("2001:db8::20/64", "2001:db8::1")
    assert profile["ipv6"]["route0"].startswith("::/0,2001:db8::1,")


def test_a_vlan_on_a_bond() -> None:
    bond = {"mode": "802.3ad", "options": {"miimon": 100}, "port": ["eth0", "eth1"]}
    document = {
        "interfaces": [
            {"name": "bond0", "type": "bond", "state": "up", "link-aggregation": bond},
            {
                "name": "bond0.7",
                "type": "vlan",
                "state": "up",
                "vlan": {"base-iface": "bond0", "id": 7},
                "ipv4": static("192.0.2.20/24"),
            },
        ]
    }
    profiles = read(keyfiles_of(document))
    assert list(profiles) == [f"{name}.nmconnection" for name in ("bond0.7", "bond0", "eth0", "eth1")]
    assert profiles["bond0.nmconnection"]["bond"] == {"mode": "802.3ad", "miimon": "100"}
    for port in ("eth0", "eth1"):
        connection = profiles[f"{port}.nmconnection"]["connection"]
        assert (connection["master"], connection["slave-type"]) == ("bond0", "bond")
    vlan = profiles["bond0.7.nmconnection"]
    assert (vlan["vlan"]["parent"], vlan["vlan"]["id"]) == ("bond0", "7")
    assert vlan["ipv4"]["address0"] == "192.0.2.20/24"


def test_an_interface_identified_by_its_mac_may_have_any_name() -> None:
    known = {"identifier": "mac-address", "mac-address": "52:54:00:aa:bb:cc"}
    vlan = {"name": "vlan7", "type": "vlan", "state": "up", "vlan": {"base-iface": "one", "id": 7}}
    profiles = read(keyfiles_of({"interfaces": [ethernet("one", **known, ipv4=static("192.0.2.20/24")), vlan]}))
    profile = profiles["one.nmconnection"]
    assert profile["ethernet"] == {"mac-address": "52:54:00:AA:BB:CC"}
    assert "interface-name" not in profile["connection"]
    assert profiles["vlan7.nmconnection"]["vlan"]["parent"] == profile["connection"]["uuid"]


def test_a_mac_without_an_identifier_is_assigned_to_the_interface() -> None:
    profile = read(keyfiles_of({"interfaces": [ethernet("eth0", **{"mac-address": "52:54:00:aa:bb:cc"})]}))
    assert profile["eth0.nmconnection"]["ethernet"] == {"cloned-mac-address": "52:54:00:AA:BB:CC"}
    assert profile["eth0.nmconnection"]["connection"]["interface-name"] == "eth0"


@pytest.mark.parametrize("document", [{}, {"interfaces": []}], ids=["empty", "no-interfaces"])
def test_an_empty_config_gives_no_keyfiles(document: Document) -> None:
    assert keyfiles_of(document) == ()


def examples() -> list[Any]:
    """Documented networkConfigs, by host."""
    found = []
    for path in sorted(FACTS.glob("*.yaml")):
        for host in mapping(path.read_text())["platform"]["baremetal"]["hosts"]:
            if "networkConfig" in host:
                found.append(pytest.param(host["networkConfig"], id=f"{path.stem}-{host['name']}"))
    return found


@pytest.mark.parametrize("document", examples())
def test_documented_examples(document: Document) -> None:
    if "sriov:" not in repr(document):
        assert keyfiles_of(document)
        return
    assert refusal(document).startswith("interfaces[1].name: sriov:<card>:<number> can be resolved only on a running")
    # That page sets the rates on the bond too, where nmstate has no such key.
    bond = document["interfaces"][-1]
    bond["link-aggregation"] = {"mode": "active-backup", "port": ["eno1v0", "eno2v0"]}
    named = {**document, "interfaces": [document["interfaces"][0], bond]}
    assert "unknown field `m" in refusal(named)
    del bond["min-tx-rate"], bond["max-tx-rate"]
    assert len(keyfiles_of(named)) == 4


def test_the_keyfiles_are_the_same_bytes_each_time() -> None:
    """nmstate keeps route rules in hash tables with a new seed for each run."""
    names = [f"eth{index}" for index in range(4)]
    interfaces = [
        ethernet(name, ipv4=static(f"10.0.{i}.5/24", f"10.0.{i}.6/24"), ipv6=static(f"2001:db8:{i}::5/64"))
        for i, name in enumerate(names)
    ]
    routes = [
        route(f"172.{16 + k}.0.0/16", f"10.0.{i}.1", name, **{"table-id": 100 + i})
        for i, name in enumerate(names)
        for k in range(3)
    ]
    rules = [
        {"ip-from": f"10.0.{i}.{k}/32", "route-table": 100 + i, "priority": 1000 + 10 * i + k}
        for i in range(4)
        for k in range(12)
    ]
    document = {
        "interfaces": interfaces,
        "routes": {"config": routes},
        "route-rules": {"config": rules},
        "dns-resolver": {"config": {"server": ["10.0.0.1", "2001:db8::1"], "options": ["rotate"]}},
    }
    first = keyfiles_of(document)
    assert all(keyfiles_of(document) == first for _ in range(5))
    ipv4 = read(first)["eth1.nmconnection"]["ipv4"]
    assert ipv4["routing-rule0"] == "priority 1010 from 10.0.1.0/32 table 101"
    assert ipv4["routing-rule11"] == "priority 1021 from 10.0.1.11/32 table 101"


@pytest.mark.parametrize("table", [{}, {"route-table": 0}, {"route-table": 254}], ids=["none", "zero", "main"])
def test_a_route_rule_that_nmstate_keeps_only_by_chance_is_refused(table: Document) -> None:
    document: Document = {
        "interfaces": [ethernet(f"eth{i}", ipv4=static(f"10.0.{i}.5/24")) for i in range(2)],
        "routes": {"config": [route(f"172.{16 + i}.0.0/16", f"10.0.{i}.1", f"eth{i}") for i in range(2)]},
        "route-rules": {"config": [{"ip-from": "10.0.0.0/24", "priority": 100, **table}]},
    }
    assert refusal(document) == (
        "route-rules: table 254 has routes through eth0, eth1; nmstatectl would add its rules to a random one. "
        "Fix: give each interface a table of its own"
    )
    document["route-rules"]["config"][0]["iif"] = "eth1"
    assert "routing-rule0" in read(keyfiles_of(document))["eth1.nmconnection"]["ipv4"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(
            {"interfaces": [ethernet("eth0", mtuu=1500)]},
            "nmstatectl refuses it: Provide file is not valid NetworkState: interfaces: unknown field `mtuu`. "
            f"{CORRECT}",
            id="unknown-key",
        ),
        pytest.param(
            {"interfaces": [ethernet("eth0", ipv4=static("10.0.0.300/24"))]},
            "nmstatectl refuses it: Provide file is not valid NetworkState: interfaces: invalid IP address syntax. "
            f"{CORRECT}",
            id="no-address",
        ),
        pytest.param(
            {"interfaces": [ethernet("eth0")], "routes": {"config": [route("0.0.0.0/0", "10.0.0.1", "eth9")]}},
            "nmstatectl refuses it: NmstateError: InvalidArgument: Route 'destination: 0.0.0.0/0 next-hop-interface: "
            f"eth9 next-hop-address: 10.0.0.1': next hop interface eth9 not found. {CORRECT}",
            id="no-such-interface",
        ),
        pytest.param(
            {"interfaces": [ethernet("eth0", description="two\nlines")]},
            "interfaces[0].description: a backslash or a control character (a line break is one), which nmstatectl "
            "does not escape. Fix: remove it",
            id="line-break",
        ),
        pytest.param(
            {"interfaces": [ethernet(name, **{"profile-name": "one"}) for name in ("eth0", "eth1")]},
            TWICE,
            id="one-profile-name",
        ),
        pytest.param(
            {"interfaces": [ethernet("eth0", **{"profile-name": "a/eth0"})]},
            TWICE,
            id="profile-name-with-a-slash",
        ),
        pytest.param(
            {"interfaces": [ethernet("eth0", **{"profile-name": ".eth0"})]},
            TWICE,
            id="profile-name-that-networkmanager-takes-for-hidden",
        ),
    ],
)
def test_a_refusal_is_one_line(document: Document, words: str) -> None:
    assert refusal(document) == words


def test_a_long_refusal_is_cut() -> None:
    what, _, fix = refusal({"interfaces": [ethernet("eth0", **{"x" * 1000: 1})]}).partition(". Fix: ")
    assert len(what) == len("nmstatectl refuses it: ") + 400
    assert fix == CORRECT.removeprefix("Fix: ")


class TestSecrets:
    """Passwords, such as those of 802.1X."""

    def test_secrets_are_in_the_keyfile_and_in_no_repr(self) -> None:
        (file,) = keyfiles_of(authenticated(**{"private-key": "/etc/pki/key.pem", "private-key-password": SECRET}))
        assert read((file,))["eth0.nmconnection"]["802-1x"]["private-key-password"] == SECRET
        assert SECRET not in repr(file)

    @pytest.mark.parametrize(
        "document",
        [
            pytest.param(authenticated(password=987654321), id="number"),
            pytest.param(authenticated(**{"private-key-password": 987654321.5}), id="fraction"),
            pytest.param({"interfaces": [ethernet("eth0", **{"802.1x": "987654321"})]}, id="at-the-wrong-place"),
            pytest.param({"interfaces": [ethernet("eth0", **{"802.1x": "987 654\u00a0321"})]}, id="with-spaces"),
            pytest.param({"interfaces": [ethernet("eth0", **{"802.1x": 'a"987654321'})]}, id="with-a-quote"),
            pytest.param(
                {"interfaces": [{"name": "i", "type": "ipsec", "libreswan": {"right": "x", "psk": 987654321}}]},
                id="psk",
            ),
            pytest.param(authenticated(password=r"987654321\n"), id="backslash"),
        ],
    )
    def test_a_refusal_shows_no_secret(self, document: Document) -> None:
        line = refusal(document)
        assert "987" not in line
        assert "321" not in line

    def test_a_refused_secret_is_not_shown(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        instead(monkeypatch, tmp_path, f"#!/bin/sh\nif grep -o {SECRET} >&2; then exit 1; fi\n")
        assert refusal(authenticated(password=SECRET)) == (
            f"nmstatectl refuses it: a password or another secret in it is malformed. {CORRECT}"
        )


@pytest.mark.parametrize(
    ("script", "line"),
    [
        pytest.param(
            "#!/none\n",
            f"cannot be run (No such file or directory). Fix: run {ROOT}/tools/nmstatectl",
            id="no-program",
        ),
        pytest.param(
            "#!/bin/sh\necho 'NetworkManager: {'",
            "its output cannot be read. Fix: install nmstatectl 2.2.62",
            id="no-yaml",
        ),
        pytest.param(
            "#!/bin/sh\necho 'eth0: []'",
            "its output cannot be read. Fix: install nmstatectl 2.2.62",
            id="another-form",
        ),
    ],
)
def test_another_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, line: str) -> None:
    tool = instead(monkeypatch, tmp_path, script)
    document = {"interfaces": [ethernet("eth0", **{"802.1x": {"password": SECRET}})]}
    assert refusal(document) == f"{tool}: {line}"
