"""`okd-baremetal network-boot …`, for the DHCP server of a site."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run

URL = "http://172.22.0.1:8080/boot.ipxe"


class Project:
    """A folder with one stack, `prod`: the rehearsal's, on a provisioning network of the site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stacks" / "prod").mkdir(parents=True)

    def run(
        self, *words: str, mode: str = "Unmanaged", cidr: str = "172.22.0.0/24", boot: str = "legacy", **options: Any
    ) -> subprocess.CompletedProcess[str]:
        document = yaml.safe_load(plans.INSTALL_CONFIG.read_text())
        bare = document["platform"]["baremetal"]
        bare.update(provisioningNetwork=mode, provisioningNetworkCIDR=cidr)
        for host in bare["hosts"][1:] if mode != "Disabled" else ():
            host["bmc"]["address"] = host["bmc"]["address"].replace("-virtualmedia", "")
            host["bootMode"] = boot
        (self.folder / "stacks" / "prod" / "install-config.yaml").write_text(yaml.safe_dump(document))
        stack = {f"okd-baremetal:{name}": value for name, value in (plans.options() | options).items()}
        (self.folder / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": stack}))
        return run("network-boot", "prod", *words, folder=self.folder)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def macs() -> list[str]:
    hosts = yaml.safe_load(plans.INSTALL_CONFIG.read_text())["platform"]["baremetal"]["hosts"]
    return [host["bootMACAddress"] for host in hosts]


def test_dnsmasq_reads_what_is_printed(project: Project, tmp_path: Path) -> None:
    done = project.run()
    (tmp_path / "dnsmasq.conf").write_text(done.stdout)
    subprocess.run(["dnsmasq", "--test", f"--conf-file={tmp_path / 'dnsmasq.conf'}"], check=True, capture_output=True)
    assert f"dhcp-boot=tag:ipxe,{URL}\n" in done.stdout
    assert "dhcp-boot=tag:!ipxe,tag:efi,snponly.efi\n" in done.stdout


def test_for_ipv6_dnsmasq_reads_what_is_printed_and_kea_is_refused(project: Project, tmp_path: Path) -> None:
    done = project.run(cidr="fd00:1101::/64", boot="UEFI", media={**plans.options()["media"], "address": "fd2e::1"})
    (tmp_path / "dnsmasq.conf").write_text(done.stdout)
    subprocess.run(["dnsmasq", "--test", f"--conf-file={tmp_path / 'dnsmasq.conf'}"], check=True, capture_output=True)
    assert "dhcp-option=tag:ipxe,option6:bootfile-url,http://[fd2e::1]:8080/boot.ipxe\n" in done.stdout
    assert "each, such as [fd00::8/125], to these cards:\n" in done.stdout
    refused = project.run("--server", "kea", cidr="fd00:1101::/64", boot="UEFI")
    assert refused.returncode == 2
    assert "--server: kea: not known for a network of IPv6. Fix: write --server dnsmasq" in refused.stderr


def test_the_cards_are_those_of_the_hosts_that_boot_from_the_network(project: Project) -> None:
    first, *others = macs()
    printed = project.run().stdout
    assert [mac for mac in others if mac in printed] == others
    assert first not in printed


def test_kea_gets_a_class_for_each_kind_of_client(project: Project) -> None:
    comment, _, document = project.run("--server", "kea").stdout.partition("\n")
    printed = json.loads(document)
    assert comment.startswith("// For ISC Kea")
    by_http = "option[93].hex == 0x0010"  # its URL comes from its BMC
    assert [by_http in each["test"] for each in printed["client-classes"]] == [False, False, True]
    files = {each["name"]: each["boot-file-name"] for each in printed["client-classes"]}
    assert files == {"okd-ipxe": URL, "okd-efi": "snponly.efi", "okd-bios": "undionly.kpxe"}
    assert [each["hw-address"] for each in printed["reservations"]] == macs()[1:]


def is_member(client_class: Mapping[str, str], architecture: str, ipxe: bool) -> bool:
    """Return whether Kea puts a client into a class; its expressions have the operators of Python."""
    test = client_class["test"].replace("option[175].exists", str(ipxe))
    test = re.sub(r"option\[93\]\.hex == (0x[0-9a-f]{4})", lambda equal: str(equal[1] == architecture), test)
    return bool(eval(test))  # noqa: S307


@pytest.mark.parametrize(
    ("architecture", "ipxe", "classes"),
    [
        pytest.param("0x0000", False, ["okd-bios"], id="bios"),
        pytest.param("0x0007", False, ["okd-efi"], id="efi"),
        pytest.param("0x0009", False, ["okd-efi"], id="efi-of-another-number"),
        pytest.param("0x0010", False, [], id="uefi-http"),
        pytest.param("0x0000", True, ["okd-ipxe"], id="ipxe-on-bios"),
        pytest.param("0x0007", True, ["okd-ipxe"], id="ipxe-on-efi"),
    ],
)
def test_ipxe_gets_its_script_and_never_ipxe_again(
    project: Project, architecture: str, ipxe: bool, classes: list[str]
) -> None:
    printed = json.loads(project.run("--server", "kea").stdout.partition("\n")[2])
    members = [each["name"] for each in printed["client-classes"] if is_member(each, architecture, ipxe)]
    assert members == classes


@pytest.mark.parametrize("mode", ["Managed", "Disabled"])
def test_without_a_dhcp_server_of_the_site_it_says_so(project: Project, mode: str) -> None:
    done = project.run(mode=mode)
    assert (done.returncode, f"{mode}: the site's DHCP hands out nothing" in done.stderr) == (2, True)
