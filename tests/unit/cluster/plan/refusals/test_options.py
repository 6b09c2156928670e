"""What `up` lacks: a base ISO for each architecture, a server for hosts that boot from the network, addresses."""

from typing import Any

import pytest

from base.errors import ConfigError
from testing import clusters, plans
from testing.install_configs import Change, all_of_arm64, arm64, bare, by_http, from_network, host
from testing.plan_files import Files, addresses

WEB = "https://web.example.com/isos"


def test_each_architecture_of_servers_needs_its_base_iso(files: Files) -> None:
    of_arm64 = (
        "config: media.base_iso_arm64.sha256: missing, and servers are of arm64. "
        "Fix: name the SHA-256 of CoreOS' live ISO of arm64"
    )
    assert files.refused_plan(arm64) == [of_arm64]
    media = {"url": WEB, "base_iso_arm64": plans.BASE_ISO}
    assert files.plan(all_of_arm64, media=media).options.media.base_iso is None
    with pytest.raises(ConfigError, match=r"^config: media\.base_iso\.sha256: missing, and servers are of amd64"):
        files.plan(arm64, media=media)


def test_a_pool_without_servers_needs_no_base_iso(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        arm64(config)
        config["compute"][0]["replicas"] = 0

    consent = {name: plans.CONSENT[name] for name in plans.HOSTS[:3]}
    named = {name: found for name, found in addresses().items() if "master" in name}
    assert files.plan(change, consent=consent, node_addresses=named).options.media.base_iso_arm64 is None


FETCHING = [
    pytest.param(from_network(0, 4, mode="Managed"), id="Managed"),
    pytest.param(from_network(0, 4, mode="Unmanaged"), id="Unmanaged"),
    pytest.param(by_http(0, 4), id="by-http"),
]


def test_media_are_of_the_family_that_hosts_boot_over(files: Files) -> None:
    def over(mode: str) -> Change:
        def change(config: dict[str, Any]) -> None:
            from_network(0, 4, mode=mode)(config)
            bare(config)["provisioningNetworkCIDR"] = "fd35::/64"
            for each in bare(config)["hosts"]:
                each["bootMode"] = "UEFI"

        return change

    assert files.refused_plan(over("Unmanaged")) == [
        "config: media.address: 172.22.0.1, but hosts boot over provisioningNetworkCIDR fd35::/64. "
        "Fix: name an address of IPv6 of this machine"
    ]
    files.plan(over("Managed"))
    files.plan(over("Unmanaged"), media={**plans.options()["media"], "address": "fd2e::1"})


@pytest.mark.parametrize("change", FETCHING)
def test_a_web_server_of_the_site_cannot_serve_network_boot(files: Files, change: Change) -> None:
    media = {"url": WEB, "base_iso": plans.BASE_ISO}
    assert files.refused_plan(change, media=media) == [
        "config: media.url: a web server, but only this program serves hosts that boot from the network: "
        "okd-master-0, okd-worker-1. Fix: name media.address instead"
    ]
    assert str(files.plan(change).options.media.address) == "172.22.0.1"


@pytest.mark.parametrize("hosts", [pytest.param((), id="by-virtual-cd"), pytest.param((4,), id="a-spare")])
def test_a_web_server_of_the_site_serves_the_other_hosts(files: Files, hosts: tuple[int, ...]) -> None:
    def change(config: dict[str, Any]) -> None:
        from_network(*hosts)(config)
        config["compute"][0]["replicas"] = 1

    assert files.plan(change, media={"url": WEB, "base_iso": plans.BASE_ISO}).options.media.url == WEB


def with_secret(change: Change, *, compute: int = 2) -> Change:
    """Give the last host a password for its switch port, too."""
    login = {"eap-methods": ["md5"], "identity": "okd", "password": clusters.SWITCH_PASSWORD}
    network = {"interfaces": [{"name": "eno1", "type": "ethernet", "state": "up", "802.1x": login}]}

    def changed(config: dict[str, Any]) -> None:
        change(config)
        host(config, 4).update(networkConfig=network)
        config["compute"][0]["replicas"] = compute

    return changed


@pytest.mark.parametrize("change", FETCHING)
def test_a_secret_does_not_go_to_a_host_that_boots_from_the_network(files: Files, change: Change) -> None:
    assert files.refused_plan(with_secret(change)) == [
        "FILE: platform.baremetal.hosts[4].networkConfig: holds a secret, and a host that boots from the network "
        "would get it over plain HTTP. Fix: set bmc.address to redfish-virtualmedia, remove the secret, or set "
        "media.plain_http.okd-worker-1 to true, which sends it in the clear"
    ]


HTTP_FOLDER = {"url": "http://192.0.2.7/isos", "base_iso": plans.BASE_ISO}


def test_a_secret_does_not_go_through_a_web_server_without_tls(files: Files) -> None:
    """Attack S9: one rule for whoever serves it."""
    change = with_secret(lambda _: None)
    assert files.refused_plan(change, media=HTTP_FOLDER) == [
        "FILE: platform.baremetal.hosts[4].networkConfig: holds a secret, and media.url would send it over plain "
        "HTTP. Fix: have media.url begin with https, remove the secret, or set media.plain_http.okd-worker-1 to "
        "true, which sends it in the clear"
    ]
    files.plan(change, media={**HTTP_FOLDER, "url": "https://192.0.2.7/isos"})
    files.plan(lambda _: None, media=HTTP_FOLDER)


@pytest.mark.parametrize(
    ("change", "media"),
    [
        *(pytest.param(*each.values, plans.options()["media"], id=each.id) for each in FETCHING),
        pytest.param(lambda _: None, HTTP_FOLDER, id="web-server"),
    ],
)
def test_media_plain_http_accepts_a_secret_in_the_clear(files: Files, change: Change, media: dict[str, Any]) -> None:
    """Attack S9: what each fix names is done to the letter."""
    accepted = {**media, "plain_http": {"okd-worker-1": True}}
    assert files.plan(with_secret(change), media=accepted).options.media.plain_http == {"okd-worker-1": True}
    for other in ({"okd-worker-1": False}, {"okd-worker-0": True}):
        (line,) = files.refused_plan(with_secret(change), media={**media, "plain_http": other})
        assert line.startswith("FILE: platform.baremetal.hosts[4].networkConfig: holds a secret, and ")


def test_media_plain_http_names_hosts(files: Files) -> None:
    media = {**plans.options()["media"], "plain_http": {"okd-worker-9": True}}
    assert files.refused_plan(lambda _: None, media=media) == [
        "config: media.plain_http.okd-worker-9: no such host. Fix: remove it, or write the name of a host"
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(with_secret(from_network(0, 3)), id="by-virtual-cd"),
        pytest.param(with_secret(from_network(4), compute=1), id="a-spare"),
    ],
)
def test_a_secret_may_be_in_the_network_of_another_host(files: Files, change: Change) -> None:
    plan = files.plan(change)
    assert [(each.name, [file.secret for file in each.keyfiles]) for each in plan.hosts if each.keyfiles] == [
        ("okd-worker-1", [True])
    ]


@pytest.mark.parametrize(
    ("mode", "card"),
    [
        pytest.param("Disabled", "52:54:00:11:10:15", id="disabled"),
        pytest.param("Managed", "its card on the machine network", id="managed"),
        pytest.param("Unmanaged", "its card on the machine network", id="unmanaged"),
    ],
)
def test_a_missing_address_names_the_mac_only_where_the_file_does(files: Files, mode: str, card: str) -> None:
    """With a provisioning network, `bootMACAddress` is that of the card there."""
    options = {"node_addresses": addresses(okd_master_0=[]), "bootstrap": {"base_volume": "base.qcow2"}}
    assert files.refused_plan(from_network(mode=mode), **options) == [
        f"config: node_addresses.okd-master-0: no IPv4 address. Fix: name the address that DHCP reserves for {card}",
        "config: bootstrap.address: no IPv4 address. Fix: name the address that DHCP reserves for 52:54:00:11:10:14",
    ]


@pytest.mark.parametrize(
    ("uri", "seen"),
    [
        ("qemu:///system", []),
        ("qemu+ssh://root@kvm.example.com/system", []),
        ("qemu+ssh://root@192.0.2.1/system?keyfile=/x", []),
        ("qemu+tls://kvm.example.com:16514/system", []),
        ("qemu+ssh://kvm.example.com/system", ["no user"]),
        ("qemu+ssh://root@kvm.example.com:2222/system", ["a port"]),
        ("qemu+ssh://root@[2001:db8::1]/system", ["an IPv6 address"]),
        ("qemu+ssh://[2001:db8::1]:2222/system", ["no user", "a port", "an IPv6 address"]),
    ],
)
def test_pulumi_libvirt_needs_a_plain_uri_over_ssh(files: Files, uri: str, seen: list[str]) -> None:
    """Issue 40, N7: libvirt itself takes them all, so only `manage` is refused."""

    def change(config: dict[str, Any]) -> None:
        config["platform"]["baremetal"]["libvirtURI"] = uri

    vm = {key: value for key, value in plans.options()["bootstrap"].items() if key != "base_volume"}
    image = {"source": "/srv/coreos-qemu.qcow2", "sha256": "c2" * 32}
    options = {"bootstrap": vm, "provisioner": {"manage": True, "base_image": image}}
    lines = files.refused_plan(change, **options) if seen else []
    assert [line.partition(" with which")[0] for line in lines] == [
        f"config: provisioner.manage: true, but platform.baremetal.libvirtURI has {what}," for what in seen
    ]
    if not seen:
        files.plan(change, **options)
    files.plan(change)


def test_an_arbiter_needs_the_digest_of_its_own_file(files: Files) -> None:
    assert files.refused_plan(clusters.arbiter) == [
        "config: payload.arbiter: missing: an arbiter boots from a file of its own. "
        "Fix: generate the payload again: `okd-baremetal payload`"
    ]
    options = clusters.VARIANTS["arbiter"].options
    assert [server.name for server in files.plan(clusters.arbiter, **options).arbiters] == ["okd-master-2"]
