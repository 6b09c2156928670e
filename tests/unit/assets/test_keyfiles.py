"""The API VIP as the first DNS server of every server, in the keyfiles of its networkConfig or in one by its MAC."""

from configparser import RawConfigParser
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.file import Reader, RenderedFile
from assets.render import render, render_server
from boot_media.keyfiles import keyfiles_of
from cluster.plan import Intent
from testing import clusters

OWN = "okd-machine-network.nmconnection"
SITE = "192.168.111.1"
BY_MAC = {"dhcp-duid": "ll", "dhcp-iaid": "mac"}
Document = dict[str, Any]
Profiles = dict[str, dict[str, dict[str, str]]]


@cache
def rehearsal() -> Intent:
    return clusters.intent("rehearsal")


def ethernet(name: str, *addresses: str, **more: Any) -> Document:
    """An interface with addresses, given as `192.0.2.1/24`."""
    families: Document = {"ipv4": {"enabled": False}, "ipv6": {"enabled": False}}
    for address in addresses:
        ip, _, length = address.partition("/")
        family = families["ipv6" if ":" in ip else "ipv4"]
        family.update(enabled=True, address=[*family.get("address", []), {"ip": ip, "prefix-length": int(length)}])
    return {"name": name, "type": "ethernet", "state": "up", **families, **more}


def dhcp(name: str) -> Document:
    family = {"enabled": True, "dhcp": True}
    return ethernet(name, ipv4=family, ipv6=family | {"autoconf": True})


def nmstate(*interfaces: Document, dns: tuple[str, ...] = ()) -> Document:
    return {"interfaces": list(interfaces), "dns-resolver": {"config": {"server": list(dns)}}}


def keyfiles(intent: Intent, document: Document) -> list[RenderedFile]:
    """Return the rendered keyfiles of a server with a networkConfig."""
    server = intent.compute[0].changed(keyfiles=keyfiles_of(document))
    return [file for file in render_server(intent, server) if file.reader is Reader.KEYFILE]


def profiles(files: list[RenderedFile]) -> Profiles:
    """Return sections by file name."""
    by_name = {}
    for file in files:
        parser = RawConfigParser(delimiters="=", comment_prefixes="#")
        parser.read_string(file.text)
        by_name[file.name] = {section: dict(parser[section]) for section in parser.sections()}
    return by_name


def first_servers(by_name: Profiles) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return the first DNS server and the priority of each section that has one, by interface and section."""
    return {
        (name.partition(".")[0], section): (settings["dns"].split(";")[0], settings.get("dns-priority"))
        for name, sections in by_name.items()
        for section, settings in sections.items()
        if "dns" in settings
    }


@pytest.mark.parametrize(
    ("name", "dns"),
    [
        pytest.param("rehearsal", {"ipv4": ("192.168.111.5;", "10")}, id="ipv4"),
        pytest.param("ipv6", {"ipv6": ("fd2e::5;", "10")}, id="ipv6"),
        pytest.param("dual-stack", {"ipv4": ("192.168.111.5;", "10"), "ipv6": ("fd2e::5;", "10")}, id="both"),
    ],
)
def test_a_host_without_a_network_config_has_a_keyfile_by_its_mac(name: str, dns: dict[str, tuple[str, str]]) -> None:
    intent = clusters.intent(name)
    for server in intent.servers:
        files = [file for file in render_server(intent, server) if file.reader is Reader.KEYFILE]
        assert [(file.path, file.secret) for file in files] == [
            (f"/etc/NetworkManager/system-connections/{OWN}", False)
        ]
        profile = profiles(files)[OWN]
        assert profile["connection"] == {"id": "okd-machine-network", "type": "ethernet"}
        assert profile["ethernet"] == {"mac-address": server.boot_mac}
        assert {section: profile[section].pop("method") for section in ("ipv4", "ipv6")} == dict.fromkeys(
            ("ipv4", "ipv6"), "auto"
        )
        asked = {section: (profile[section]["dns"], profile[section]["dns-priority"]) for section in dns}
        assert asked == dns
        left = {section: {k: v for k, v in profile[section].items() if k in BY_MAC} for section in ("ipv4", "ipv6")}
    assert left == {"ipv4": {}, "ipv6": BY_MAC}


STORAGE = ethernet("eth1", "10.9.9.9/24")


@pytest.mark.parametrize(
    ("document", "dns"),
    [
        pytest.param(
            nmstate(ethernet("eth0", "192.168.111.21/24"), dns=(SITE, "192.0.2.53")),
            {("eth0", "ipv4"): f"192.168.111.5;{SITE};192.0.2.53"},
            id="before-its-own",
        ),
        pytest.param(
            nmstate(ethernet("eth0", "192.168.111.21/24")), {("eth0", "ipv4"): "192.168.111.5;"}, id="without-any"
        ),
        pytest.param(
            nmstate(ethernet("eth0", "10.0.0.1/24", "192.168.111.21/24")),
            {("eth0", "ipv4"): "192.168.111.5;"},
            id="second-address",
        ),
        pytest.param(
            nmstate(STORAGE, ethernet("eth0", "192.168.111.21/24")),
            {("eth0", "ipv4"): "192.168.111.5;"},
            id="not-the-storage-network",
        ),
        pytest.param(
            nmstate(dhcp("eth1"), ethernet("eth0", "192.168.111.21/24")),
            {("eth0", "ipv4"): "192.168.111.5;"},
            id="not-dhcp-beside-it",
        ),
        pytest.param(nmstate(STORAGE, dhcp("eth0")), {("eth0", "ipv4"): "192.168.111.5;"}, id="by-dhcp"),
        pytest.param(
            nmstate(ethernet("eth1", "192.168.111.22/24", state="down"), dhcp("eth0")),
            {("eth0", "ipv4"): "192.168.111.5;"},
            id="N11-not-a-card-that-is-down",
        ),
    ],
)
def test_the_vip_is_the_first_server_of_the_machine_network(
    document: Document, dns: dict[tuple[str, str], str]
) -> None:
    by_name = profiles(keyfiles(rehearsal(), document))
    assert OWN not in by_name
    for (interface, section), wanted in dns.items():
        settings = by_name[f"{interface}.nmconnection"][section]
        assert (settings["dns"], settings["dns-priority"]) == (wanted, "10")
    with_it = [key for key, (first, _) in first_servers(by_name).items() if first == "192.168.111.5"]
    assert with_it == list(dns)


def test_each_family_has_the_vip_of_its_own() -> None:
    document = nmstate(ethernet("eth0", "192.168.111.21/24", "fd2e::21/64"), dns=("fd2e::1", SITE))
    profile = profiles(keyfiles(clusters.intent("dual-stack"), document))["eth0.nmconnection"]
    assert (profile["ipv4"]["dns"], profile["ipv6"]["dns"]) == (f"192.168.111.5;{SITE}", "fd2e::5;fd2e::1")


def test_the_vip_comes_before_the_servers_of_the_other_family() -> None:
    """NetworkManager sorts by priority, and nmstate gives the first family of its list 40."""
    document = nmstate(ethernet("eth0", "192.168.111.21/24", "fd2e::21/64"), dns=("fd2e::1", SITE))
    by_name = profiles(keyfiles(rehearsal(), document))
    assert first_servers(by_name) == {("eth0", "ipv4"): ("192.168.111.5", "10"), ("eth0", "ipv6"): ("fd2e::1", "40")}


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        pytest.param({}, BY_MAC, id="by-its-mac"),
        pytest.param({"autoconf": False}, BY_MAC, id="that-ignores-routers"),
        pytest.param({"dhcp-duid": "uuid"}, {"dhcp-duid": "uuid", "dhcp-iaid": "mac"}, id="unless-it-says-otherwise"),
    ],
)
def test_dhcpv6_knows_a_server_in_each_of_its_systems(settings: dict[str, str], wanted: dict[str, str]) -> None:
    document = nmstate(dhcp("eth0"), STORAGE)
    document["interfaces"][0]["ipv6"] |= settings
    by_name = profiles(keyfiles(rehearsal(), document))
    asking, static = by_name["eth0.nmconnection"]["ipv6"], by_name["eth1.nmconnection"]["ipv6"]
    assert {name: value for name, value in asking.items() if name in BY_MAC} == wanted
    assert not BY_MAC.keys() & static.keys()


def test_a_network_config_elsewhere_gets_the_keyfile_by_mac() -> None:
    files = keyfiles(rehearsal(), nmstate(STORAGE))
    assert [file.name for file in files] == ["eth1.nmconnection", OWN]
    assert files[0].text == keyfiles_of(nmstate(STORAGE))[0].text


def test_only_dns_changes_in_a_keyfile_and_a_secret_stays_one() -> None:
    intent = clusters.intent("static")
    server = intent.servers[0]
    before = {each.name: each for each in server.keyfiles}
    after = {file.name: file for file in render_server(intent, server) if file.reader is Reader.KEYFILE}
    assert {name: file.secret for name, file in after.items()} == dict.fromkeys(before, True)
    for name in ("eno1.nmconnection", "eno2.nmconnection"):
        assert after[name].text == before[name].text
    bond = before["bond0.nmconnection"].text
    changed = bond.replace(f"dns={SITE}\n", f"dns=192.168.111.5;{SITE}\n").replace("priority=40", "priority=10")
    assert after["bond0.nmconnection"].text == changed


NAMES = st.lists(st.sampled_from(["eth0", "eth1", "bond0", "eno1"]), min_size=1, max_size=3, unique=True)
KINDS = st.sampled_from(["machine", "storage", "dhcp", "none"])
SERVERS = st.sampled_from([(), (SITE,), (SITE, "192.0.2.53", "2001:db8::53"), ("2001:db8::53", SITE)])


@given(names=NAMES, kinds=st.lists(KINDS, min_size=3, max_size=3), servers=SERVERS)
def test_whatever_its_network_config_every_server_asks_the_vip_first(
    names: list[str], kinds: list[str], servers: tuple[str, ...]
) -> None:
    made = {
        "machine": lambda name: ethernet(name, "192.168.111.21/24"),
        "storage": lambda name: ethernet(name, "10.9.9.9/24"),
        "dhcp": dhcp,
        "none": ethernet,
    }
    interfaces = [made[kind](name) for name, kind in zip(names, kinds, strict=False)]
    used = kinds[: len(names)]
    # Without an address or DHCP of a family, nmstate has no place for a DNS server.
    wanted = servers if "dhcp" in used else ()
    by_name = first_servers(profiles(keyfiles(rehearsal(), nmstate(*interfaces, dns=wanted))))
    ranks = {first: int(priority or 100) for first, priority in by_name.values()}
    assert min(ranks, key=ranks.__getitem__) == "192.168.111.5"
    assert [rank for first, rank in ranks.items() if rank <= 10 and first != "192.168.111.5"] == []


def test_with_a_balancer_of_the_site_no_keyfile_names_a_dns_server_of_ours() -> None:
    intent = clusters.intent("balancer")
    (own,) = keyfiles(intent, nmstate(ethernet("eth0", "192.168.111.21/24"), dns=(SITE,)))
    assert own.name == "eth0.nmconnection"
    assert "10.20.0.100" not in own.text
    (asking,) = (file for file in render_server(intent, intent.compute[0]) if file.reader is Reader.KEYFILE)
    profile = profiles([asking])[OWN]
    assert profile["ipv4"] == {"method": "auto"}
    assert profile["ipv6"] == {"method": "auto", **BY_MAC}


@pytest.mark.parametrize("name", clusters.WITH_VIPS)
def test_every_server_has_the_vip_of_each_family_in_its_boot_iso(name: str) -> None:
    intent = clusters.intent(name)
    for server in intent.servers:
        texts = [file.text for file in render(intent).servers[server.name] if file.reader is Reader.KEYFILE]
        for vip in intent.api.addresses:
            assert any(f"\ndns={vip};" in text for text in texts), (server.name, vip)


def keyfiles_on(intent: Intent, name: str) -> Profiles:
    return profiles([file for file in render(intent).servers[name] if file.reader is Reader.KEYFILE])


THERE = "okd-provisioning.nmconnection"
UNROUTED = {"never-default": "true"}


@pytest.mark.parametrize(
    ("cluster", "families", "own"),
    [
        pytest.param("managed", ("ipv4", "ipv6"), {"method": "manual", "address1": "172.22.0.13/24"}, id="managed"),
        pytest.param(
            "managed-ipv6", ("ipv6", "ipv4"), {"method": "manual", "address1": "fd00:1101::28/64"}, id="managed-ipv6"
        ),
        pytest.param(
            "unmanaged",
            ("ipv4", "ipv6"),
            {"method": "auto", "ignore-auto-dns": "true", "ignore-auto-routes": "true"},
            id="unmanaged",
        ),
    ],
)
def test_the_card_on_the_provisioning_network_has_no_route_and_no_dns(
    cluster: str, families: tuple[str, str], own: dict[str, str]
) -> None:
    intent = clusters.intent(cluster)
    by_name = keyfiles_on(intent, "okd-worker-0")
    assert list(by_name) == [THERE, OWN]
    assert by_name[THERE]["ethernet"] == {"mac-address": "52:54:00:11:10:18"}
    assert [by_name[THERE][family] for family in families] == [own | UNROUTED, {"method": "disabled"}]
    assert "ethernet" not in by_name[OWN]
    assert by_name[OWN]["connection"]["multi-connect"] == "3"
    ranks = [int(by_name[name]["connection"]["autoconnect-priority"]) for name in (THERE, OWN)]
    assert 0 > ranks[0] > ranks[1] > -100


def test_a_network_config_for_the_provisioning_card_comes_first() -> None:
    """NetworkManager takes the higher priority, and nmstate writes none."""
    document = nmstate(ethernet("eth0", "192.168.111.21/24"), STORAGE)
    by_name = profiles(keyfiles(clusters.intent("managed"), document))
    assert list(by_name) == ["eth0.nmconnection", "eth1.nmconnection", THERE]
    assert [name for name, each in by_name.items() if "autoconnect-priority" in each["connection"]] == [THERE]


def test_the_bootstrap_vm_has_keyfiles_for_both_of_its_cards() -> None:
    """CoreOS asks DHCP on a card without a keyfile only where no card has one."""
    files = [file for file in render(clusters.intent("managed")).bootstrap if file.reader is Reader.KEYFILE]
    by_name = profiles(files)
    assert {name: each["ethernet"]["mac-address"] for name, each in by_name.items()} == {
        "okd-external.nmconnection": "52:54:00:11:10:14",
        THERE: "52:54:00:ea:6c:2a",
    }
    assert by_name["okd-external.nmconnection"]["ipv4"] == {"method": "auto"}
    assert by_name[THERE]["ipv4"] == {"method": "manual", "address1": "172.22.0.2/24"} | UNROUTED
    for name in ("rehearsal", "unmanaged"):
        assert [file for file in render(clusters.intent(name)).bootstrap if file.reader is Reader.KEYFILE] == []
