"""Both inputs: their values, their disagreements, and that all faults of both are found at once."""

from ipaddress import ip_address
from typing import Any

import pytest
import yaml

from base.errors import ConfigError
from cluster.install_config import read
from cluster.install_config.platform import BARE
from cluster.plan import ClusterPlan, Role
from cluster.plan.refusals.options import OWN_MACHINE
from testing import plans
from testing.certificates import authority
from testing.install_configs import bare, host
from testing.plan_files import Files, addresses, as_it_is

BOOTSTRAP = plans.options()["bootstrap"]
EACH = "Fix: give each an address of its own"
ADDRESS = {"address": BOOTSTRAP["address"]}
BASE_IMAGE = {"source": "https://mirror.example.com/coreos-qemu.qcow2", "sha256": "0123456789ab" + "c" * 52}
MANAGED = {"manage": True, "base_image": BASE_IMAGE}
MEDIA = plans.options()["media"]
WEB = "https://web.example.com/isos"
SECRET = "hunter2"
NO_HOST = "no such host. Fix: remove it, or write the name of a host"
NO_CONSENT = (
    "consent.okd-master-0: missing; it names the one machine whose disk may be wiped. Fix: run `pulumi config set "
    "--path 'consent.okd-master-0' <UUID>`, with its UUID or serial as the BMC reports it (GET "
    "https://172.22.0.101:8443/redfish/v1/Systems/6058de92-e7e4-55e9-914d-943d53924e75, or the sticker)"
)
OUTSIDE = "is outside machineNetwork 192.168.111.0/24. Fix: write an address of that network"
LOGIN = {"username": "root", "password": SECRET}
WITHOUT_THE_FIRST = {name: plans.CONSENT[name] for name in plans.HOSTS[1:]}


def faults_of(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        plans.plan(**changes)
    return [str(fault) for fault in caught.value.faults]


def test_the_committed_rehearsal_loads(plan: ClusterPlan) -> None:
    assert (plan.name, plan.domain) == ("okd", "okd.lab.test")
    assert (str(plan.api.address), plan.api.vrid) == ("192.168.111.5", 67)
    assert (str(plan.ingress.address), plan.ingress.vrid) == ("192.168.111.4", 162)
    assert [server.name for server in plan.control_plane] == ["okd-master-0", "okd-master-1", "okd-master-2"]
    assert [server.name for server in plan.compute] == ["okd-worker-0", "okd-worker-1"]
    assert (plan.bootstrap.name, str(plan.bootstrap.address)) == ("okd-bootstrap", "192.168.111.20")
    assert plan.options.phase == "bootstrap"


def test_a_server_joins_its_values_of_both_inputs(plan: ClusterPlan) -> None:
    server = plan.compute[1]
    assert (server.name, server.role) == ("okd-worker-1", Role.COMPUTE)
    assert server.address == ip_address("192.168.111.25")
    assert server.boot_mac == "52:54:00:11:10:19"
    assert server.root_device_hints.device_name == "/dev/vda"
    assert server.bmc.verify_tls
    assert server.bmc.password.get_secret_value() == "rehearsal-only"


def test_a_web_server_of_the_site_can_serve_the_boot_isos(files: Files) -> None:
    media = files.plan(lambda _: None, media={"url": WEB, "base_iso": plans.BASE_ISO}).options.media
    assert (media.address, media.url) == (None, WEB)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param({"phase": "done"}, "phase: Input should be 'bootstrap' or 'production'", id="phase"),
        pytest.param({"phaze": "done"}, "phaze: unknown key. Fix: write phase, or remove it", id="misspelt"),
        pytest.param(
            {"handoff": {"soaks": 3}},
            "handoff.soaks: unknown key. Fix: write soak_s, or remove it",
            id="misspelt-in-an-object",
        ),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "vcpu": 3}},
            "bootstrap.vcpu: unknown key. Fix: write vcpus, or remove it",
            id="vcpu",
        ),
        pytest.param(
            {"handoff": {"min_ready": 1}},
            "handoff.min_ready: 1: a majority of the 3 control-plane hosts is wanted. Fix: write 2 to 3",
            id="no-majority",
        ),
        pytest.param({"handoff": {"min_ready": 4}}, "handoff.min_ready: 4: a majority of the 3", id="more-than-all"),
        pytest.param({"handoff": {"soak_s": 0}}, "handoff.soak_s: Input should be greater than 0", id="no-soak"),
        pytest.param(
            {"payload": {**plans.PAYLOAD, "worker": "C2" * 32}},
            "payload.worker: a SHA-256 of 64 lower-case hex",
            id="digest",
        ),
        pytest.param({"media": {**MEDIA, "port": 0}}, "media.port: Input should be greater", id="port"),
        pytest.param(
            {"media": {"base_iso": plans.BASE_ISO}},
            "media: neither address nor url. Fix: name address, or the url",
            id="no-media",
        ),
        pytest.param({"media": {**MEDIA, "url": WEB}}, "media: both url, and address, port or tls", id="two-ways"),
        pytest.param(
            {"media": {"url": WEB, "port": 8080, "base_iso": plans.BASE_ISO}},
            "media: both url, and address, port or tls. Fix: remove address, port and tls",
            id="port-of-nothing",
        ),
        pytest.param(
            {"media": {"url": WEB, "tls": True, "base_iso": plans.BASE_ISO}},
            "media: both url, and address, port or tls. Fix: remove address, port and tls",
            id="tls-of-another-server",
        ),
        *(
            pytest.param(
                {"media": {"url": url, "base_iso": plans.BASE_ISO}},
                "media.url: an http or https URL without login, query and fragment is wanted. Fix: ",
                id=url,
            )
            for url in (
                "",
                "ftp://a/b",
                "https://",
                "a/b",
                f"{WEB}?a=b",
                f"{WEB}#a",
                "http://me:hidden@a",
                "http://[",
            )
        ),
        pytest.param({"bootstrap": {**BOOTSTRAP, "memory_mib": 1}}, "bootstrap.memory_mib: ", id="memory"),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "base_sha256": "C2" * 32}},
            "bootstrap.base_sha256: a SHA-256 of",
            id="base-digest",
        ),
        pytest.param({"bootstrap": {**BOOTSTRAP, "disk_gib": 0}}, "bootstrap.disk_gib: Input should be", id="disk"),
        pytest.param({"bootstrap": {**BOOTSTRAP, "pool": ""}}, "bootstrap.pool: ", id="pool-without-name"),
        pytest.param({"provisioner": {"manage": "maybe"}}, "provisioner.manage: ", id="manage"),
        pytest.param({"provisioner": {"pool_path": "images"}}, "provisioner.pool_path: ", id="relative-pool-path"),
        pytest.param(
            {"provisioner": {"base_image": {**BASE_IMAGE, "source": "image.qcow2"}}},
            "provisioner.base_image.source: ",
            id="relative-image",
        ),
        pytest.param(
            {"provisioner": {"base_image": {"source": "/image.qcow2"}}},
            "provisioner.base_image.sha256: ",
            id="image-without-digest",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_master_0=["x"])}, "node_addresses.okd-master-0[0]: ", id="no-address"
        ),
        pytest.param({"vrids": {"api": 0}}, "vrids.api: ", id="vrid-0"),
        pytest.param({"vrids": {"ingress": 256}}, "vrids.ingress: ", id="vrid-256"),
        pytest.param({"vrids": {"dns": 3}}, "vrids.dns: unknown key", id="vrid-of-dns"),
        pytest.param(
            {"bmc_credentials": {"okd-master-0": {**LOGIN, "password": ""}}},
            "bmc_credentials.okd-master-0.password: ",
            id="empty-password",
        ),
    ],
)
def test_a_wrong_option_is_one_line(changes: dict[str, Any], line: str) -> None:
    faults = faults_of(**changes)
    assert any(fault.startswith(f"config: {line}") for fault in faults), faults
    assert len({fault.split(": ")[1] for fault in faults}) == 1, "one line per option"
    assert not any("\n" in fault for fault in faults)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        pytest.param(
            {"node_addresses": addresses(okd_master_1=[])},
            [
                "node_addresses.okd-master-1: no IPv4 address. "
                "Fix: name the address that DHCP reserves for 52:54:00:11:10:16"
            ],
            id="host-without-address",
        ),
        pytest.param(
            {"media": {"url": WEB, "base_iso_arm64": plans.BASE_ISO}},
            [
                "media.base_iso.sha256: missing, and servers are of amd64. "
                "Fix: name the SHA-256 of CoreOS' live ISO of amd64"
            ],
            id="no-base-iso",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_master_9=["10.0.0.1"])},
            [f"node_addresses.okd-master-9: {NO_HOST}"],
            id="address-without-host",
        ),
        pytest.param(
            {"consent": {**plans.CONSENT, "okd-master-9": "x"}}, [f"consent.okd-master-9: {NO_HOST}"], id="consent"
        ),
        pytest.param({"consent": WITHOUT_THE_FIRST}, [NO_CONSENT], id="no-consent"),
        pytest.param(
            {"bmc_credentials": {"okd-master-9": LOGIN}}, [f"bmc_credentials.okd-master-9: {NO_HOST}"], id="login"
        ),
        pytest.param(
            {"bmc_trust": {"okd-master-9": {"sha256": "ab" * 32}}},
            [f"bmc_trust.okd-master-9: {NO_HOST}"],
            id="trust",
        ),
        pytest.param(
            {"consent": {**plans.CONSENT, "okd-worker-1": f" {plans.CONSENT['okd-master-0'].upper()} "}},
            [
                f"consent.okd-worker-1:  {plans.CONSENT['okd-master-0'].upper()}  is named by consent.okd-master-0 "
                f"already, and a machine is one host. Fix: {OWN_MACHINE}"
            ],
            id="C1-one-machine-for-two-hosts",
        ),
        pytest.param(
            {"reinstall": {"okd-worker-1": plans.CONSENT["okd-worker-0"]}},
            [
                f"reinstall.okd-worker-1: {plans.CONSENT['okd-worker-0']} is named by consent.okd-worker-0 already, "
                f"and a machine is one host. Fix: {OWN_MACHINE}"
            ],
            id="C1-reinstall-of-another-hosts-machine",
        ),
        pytest.param({"reinstall": {"okd-master-9": "x"}}, [f"reinstall.okd-master-9: {NO_HOST}"], id="reinstall"),
        pytest.param(
            {"reinstall": {"okd-master-0": "x"}, "consent": WITHOUT_THE_FIRST},
            [NO_CONSENT],
            id="reinstall-without-consent",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.112.24"])},
            [f"node_addresses.okd-worker-0[0]: 192.168.112.24 {OUTSIDE}"],
            id="host-outside",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.111.24", "fd00::24"])},
            [f"node_addresses.okd-worker-0[1]: fd00::24 {OUTSIDE}"],
            id="second-address-outside",
        ),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "address": "10.0.0.1"}},
            [f"bootstrap.address: 10.0.0.1 {OUTSIDE}"],
            id="bootstrap-outside",
        ),
        pytest.param(
            {"bootstrap": ADDRESS},
            [
                "bootstrap.base_volume: missing. Fix: "
                "name a qcow2 volume of the pool, or have one made with provisioner.manage: true"
            ],
            id="no-base-volume",
        ),
        pytest.param(
            {"bootstrap": ADDRESS, "provisioner": {"manage": True}},
            [
                "provisioner.base_image: missing with provisioner.manage: true. "
                "Fix: name source and sha256 of the bootstrap's image"
            ],
            id="managed-without-image",
        ),
        pytest.param(
            {"bootstrap": {**ADDRESS, "base_volume": "x.qcow2", "base_sha256": "c2" * 32}, "provisioner": MANAGED},
            [
                "bootstrap.base_volume: x.qcow2 is not used: "
                "provisioner.manage: true makes a volume from base_image. Fix: remove it",
                "bootstrap.base_sha256: not used: "
                "with provisioner.manage: true, provisioner.base_image.sha256 has it. Fix: remove it",
            ],
            id="managed-and-named",
        ),
        pytest.param(
            {"bootstrap": {"base_volume": "base.qcow2"}},
            ["bootstrap.address: no IPv4 address. Fix: name the address that DHCP reserves for 52:54:00:11:10:14"],
            id="bootstrap-without-address",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.111.5"])},
            [f"node_addresses.okd-worker-0[0]: 192.168.111.5 is already the API VIP ({BARE}.apiVIPs[0]). {EACH}"],
            id="host-on-the-api-vip",
        ),
        pytest.param(
            {"bootstrap": {**BOOTSTRAP, "address": "192.168.111.4"}},
            [f"bootstrap.address[0]: 192.168.111.4 is already the Ingress VIP ({BARE}.ingressVIPs[0]). {EACH}"],
            id="bootstrap-on-the-ingress-vip",
        ),
        pytest.param(
            {"node_addresses": addresses(okd_worker_0=["192.168.111.21"])},
            [
                "node_addresses.okd-worker-0[0]: 192.168.111.21 is already the address of a server "
                f"(config: node_addresses.okd-master-0[0]). {EACH}"
            ],
            id="two-hosts-one-address",
        ),
        pytest.param(
            {"vrids": {"api": 162}},
            ["vrids: 162 is the VRID of several VIPs. Fix: give each VIP another VRID"],
            id="one-vrid-meets-the-computed-other",
        ),
        pytest.param(
            {"vrids": {"api": 7, "ingress": 7}},
            ["vrids: 7 is the VRID of several VIPs. Fix: give each VIP another VRID"],
            id="two-vrids-equal",
        ),
        pytest.param(
            {
                "node_addresses": addresses(okd_master_0=[], okd_master_1=["10.0.0.1"], okd_worker_9=["10.0.0.2"]),
                "consent": {**plans.CONSENT, "x": "y"},
            },
            [
                f"node_addresses.okd-worker-9: {NO_HOST}",
                f"node_addresses.okd-master-1[0]: 10.0.0.1 {OUTSIDE}",
                "node_addresses.okd-master-0: no IPv4 address. "
                "Fix: name the address that DHCP reserves for 52:54:00:11:10:15",
                f"consent.x: {NO_HOST}",
            ],
            id="all-at-once",
        ),
    ],
)
def test_inputs_that_disagree_are_refused(changes: dict[str, Any], lines: list[str]) -> None:
    assert faults_of(**changes) == [f"config: {line}" for line in lines]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"bootstrap": ADDRESS, "provisioner": MANAGED}, id="managed"),
        pytest.param(
            {
                "bootstrap": ADDRESS,
                "provisioner": {**MANAGED, "base_image": {**BASE_IMAGE, "source": "/srv/i.qcow2"}},
            },
            id="managed-from-a-path",
        ),
        pytest.param({"provisioner": {**MANAGED, "manage": False}}, id="an-image-for-later"),
        pytest.param({"bootstrap": {**BOOTSTRAP, "base_sha256": "c2" * 32}}, id="digest-of-the-base-volume"),
        pytest.param({"bootstrap": {**BOOTSTRAP, "base_sha256": "", "disk_gib": 1}}, id="least-disk"),
    ],
)
def test_the_base_volume_is_either_named_or_managed(changes: dict[str, Any]) -> None:
    options = plans.plan(**changes).options
    assert options.provisioner.manage is not bool(options.bootstrap.base_volume)


def test_all_faults_of_both_inputs_are_found_at_once(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        del config["baseDomain"]
        host(config)["bmc"]["password"] = ""

    lines = files.refused_plan(change, phase="half", payload={})
    assert [line.split(": ")[:2] for line in lines] == [
        ["FILE", "baseDomain"],
        ["FILE", "platform.baremetal.hosts[0].bmc.password"],
        ["config", "phase"],
        ["config", "payload.bootstrap"],
        ["config", "payload.master"],
        ["config", "payload.worker"],
    ]
    assert ["FILE", "platform.baremetal.hosts[0].bmc.password"] in [
        line.split(": ")[:2] for line in files.refused_plan(change)
    ]


def test_the_lines_about_the_file_equal_those_of_check(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        config["metadata"].update(name="")
        bare(config).update(apiVIPs=["10.0.0.5"])

    lines = files.refused_plan(change)
    assert lines == [f"FILE: {fault}" for fault in read(files.path.read_text()).faults]
    assert len(lines) == 2


def spare(config: dict[str, Any]) -> None:
    more = yaml.safe_load(yaml.safe_dump(host(config, 4)))
    del more["role"]
    more.update(name="okd-spare", bootMACAddress="52:54:00:11:10:20")
    more["bmc"]["address"] = "redfish-virtualmedia://172.22.0.9/redfish/v1/Systems/1"
    bare(config)["hosts"].append(more)


def test_a_spare_host_needs_neither_address_nor_consent(files: Files) -> None:
    plan = files.plan(spare)
    assert [host.name for host in plan.hosts] == [*plans.HOSTS, "okd-spare"]
    assert [server.name for server in plan.servers] == [*plans.HOSTS]
    assert files.plan(spare, consent={**plans.CONSENT, "okd-spare": "x"}).servers == plan.servers


def test_the_ca_of_the_bmcs_may_be_in_either_input(files: Files) -> None:
    ours = authority("bmc-ca").pem
    assert files.plan(lambda c: bare(c).update(bmcVerifyCA=ours), bmc_ca="").bmc_ca == ours
    assert files.plan(lambda c: bare(c).update(bmcVerifyCA=ours), bmc_ca="of the options").bmc_ca == "of the options"
    assert files.plan(as_it_is, bmc_ca="").bmc_ca == ""
