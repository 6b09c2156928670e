"""`okd-baremetal init`: from an install-config to a stack."""

import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.clusters import nmstate
from testing.command_line import run
from testing.fakes import openshift_install
from testing.fakes.fleet.fleet import Options, running, uuid_of
from testing.fakes.site import FakeSite
from testing.install_configs import Change, all_of_arm64, bare, from_network, host
from testing.plan_files import as_it_is

CONFIG, STACK = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml"
NOWHERE = {"PATH": "/nonexistent"}
KNOWN = f"""\
# The options of the stack prod, by `okd-baremetal init`. docs/reference/options.md has them all.
config:
  okd-baremetal:phase: "bootstrap"
  okd-baremetal:node_addresses: # The addresses that DHCP reserves for each server.
    okd-master-0: ["192.168.111.21"] # DHCP reserves it for 52:54:00:11:10:15
    okd-master-1: ["192.168.111.22"] # DHCP reserves it for 52:54:00:11:10:16
    okd-master-2: ["192.168.111.23"] # DHCP reserves it for 52:54:00:11:10:17
    okd-worker-0: ["192.168.111.24"] # DHCP reserves it for 52:54:00:11:10:18
    okd-worker-1: ["192.168.111.25"] # DHCP reserves it for 52:54:00:11:10:19
  okd-baremetal:bootstrap: # The bootstrap VM.
    address: ["192.168.111.20"] # DHCP reserves it for the VM's MAC, 52:54:00:11:10:14
    base_volume: "coreos-qemu.qcow2" # the only one in the pool default: is it the release's CoreOS?
    base_sha256: "{openshift_install.QCOW2}" # the release's; `up` compares the volume
  okd-baremetal:images: # What the machines run, by the release image of the payload.
    release: "{openshift_install.RELEASE}" # of `openshift-install version`
  okd-baremetal:media: # Where the BMCs fetch the boot ISOs, and what those are made from.
    address: "172.22.0.2" # this machine's towards the BMCs
    base_iso:
      sha256: "{openshift_install.ISO}"
      url: "{openshift_install.MIRROR}/scos-live-iso.x86_64.iso"
"""
LEFT_WHEN_ALL_IS_KNOWN = f"""\
{CONFIG}: written
{STACK}: written

Left to do:
the stack in Pulumi's state: pulumi stack init prod
consent: okd-baremetal bmc consent prod --write
payload: okd-baremetal payload prod
before you commit, the secrets: okd-baremetal move-secrets prod
check all of it: okd-baremetal plan {CONFIG} --stack prod
the BMCs: okd-baremetal bmc check {CONFIG} --stack prod
the files, before anything is touched: pulumi preview --diff --stack prod
"""
EDITED = """\
encryptionsalt: v1:salt
# mine
config:
  okd-baremetal:node_addresses:
    okd-master-1: [192.168.111.99]
  okd-baremetal:media: {url: "http://192.168.111.7/isos"} # mine, too
  okd-baremetal:phase: production
  okd-baremetal:bmc_credentials: {secure: cipher}
  okd-baremetal:images: {release: {secure: cipher}}
"""
STREAM = "openshift-install coreos print-stream-json | jq '.architectures.x86_64.artifacts"
DOWNLOADED = f"coreos-{openshift_install.QCOW2[:12]}.qcow2"
"""The base volume that `init` tells to download: no file of another release has its name."""


class NewStack:
    """A folder without stacks, with an install-config somewhere in it, and a site."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.site = folder, FakeSite()
        patch.setattr("cli.start.init.LocalSite", lambda: self.site)

    def init(self, change: Change = as_it_is, *words: str, has_tool: bool = False) -> CompletedProcess[str]:
        """Run it for a changed copy of the rehearsal's install-config, with or without openshift-install."""
        environment = openshift_install.put_on_path(self.folder / "bin") if has_tool else NOWHERE
        config = plans.install_config()
        change(config)
        (self.folder / "mine.yaml").write_text(plans.written(config))
        arguments = ("init", "prod", "--install-config", "mine.yaml", *words)
        return run(*arguments, folder=self.folder, **environment)

    @property
    def options(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((self.folder / STACK).read_text())
        return {name.removeprefix("okd-baremetal:"): each for name, each in (loaded["config"] or {}).items()}

    def line(self, start: str) -> str:
        """Return the one line of the stack's file that starts so, without indentation."""
        (found,) = [each for each in map(str.strip, self.text.splitlines()) if each.startswith(start)]
        return found

    @property
    def text(self) -> str:
        return (self.folder / STACK).read_text()


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewStack:
    return NewStack(tmp_path, monkeypatch)


@pytest.fixture
def any_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_all_that_a_site_knows_is_written_with_comments(new: NewStack) -> None:
    done = new.init(has_tool=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, LEFT_WHEN_ALL_IS_KNOWN, "")
    assert new.text == KNOWN


@pytest.mark.usefixtures("any_umask")
def test_the_install_config_is_copied_as_it_is_and_only_its_owner_reads_it(new: NewStack) -> None:
    assert new.init().returncode == 0
    assert (new.folder / CONFIG).read_bytes() == (new.folder / "mine.yaml").read_bytes()
    assert (new.folder / CONFIG).stat().st_mode & 0o777 == 0o600
    assert (new.folder / STACK).stat().st_mode & 0o777 == 0o644


def test_what_nobody_knows_is_left_with_its_command(new: NewStack) -> None:
    new.site = FakeSite(names={}, sources={}, volumes=None)
    done = new.init()
    assert new.options == {"phase": "bootstrap"}
    left = done.stdout.partition("Left to do:\n")[2].splitlines()
    assert done.returncode == 0
    assert left[1] == "node_addresses.okd-master-0: " + (
        "pulumi config set --path 'node_addresses.okd-master-0[0]' '<IPv4 address>' "
        "# what DHCP reserves for 52:54:00:11:10:15; DNS has none for okd-master-0.okd.lab.test"
    )
    assert [line.partition(" # ")[0] for line in left[6:13]] == [
        "bootstrap.address: pulumi config set --path 'bootstrap.address[0]' '<IPv4 address>'",
        f"bootstrap.base_volume: {STREAM}.qemu.formats'",
        "consent: okd-baremetal bmc consent prod --write",
        "payload: okd-baremetal payload prod",
        "images.release: openshift-install version",
        "media.address: pulumi config set --path 'media.address' '<address>'",
        f"media.base_iso: {STREAM}.metal.formats.iso'",
    ]
    assert left[7].endswith(" # libvirt is not reachable: no such socket")
    assert " # this machine's, as the BMCs reach it: okd-master-0 by no route, okd-master-1 by" in left[11]


def test_a_machine_with_a_static_address_is_not_asked_for(new: NewStack) -> None:
    ipv4 = {"enabled": True, "dhcp": False, "address": [{"ip": "192.168.111.31", "prefix-length": 24}]}
    interface = {"name": "eno1", "type": "ethernet", "state": "up", "ipv4": ipv4}

    def change(config: dict[str, Any]) -> None:
        dns = {"config": {"server": ["192.168.111.1"]}}
        interfaces = [{**interface, "mac-address": "52:54:00:11:10:15"}]
        host(config)["networkConfig"] = {"interfaces": interfaces, "dns-resolver": dns}
        static = {"IP": "192.168.111.30", "Gateway": "192.168.111.1", "DNS": "192.168.111.1"}
        bare(config).update({f"bootstrapExternalStatic{key}": value for key, value in static.items()})

    assert new.init(change).returncode == 0
    assert new.site.asked == [f"{name}.okd.lab.test" for name in plans.HOSTS[1:]]
    assert [*new.options["node_addresses"]] == [*plans.HOSTS[1:]]
    assert "address" not in new.options["bootstrap"]


def test_a_spare_gets_neither_address_nor_consent(new: NewStack) -> None:
    assert new.init(lambda c: c["compute"][0].update(replicas=1)).returncode == 0
    assert [*new.options["node_addresses"]] == [*plans.HOSTS[:4]]
    assert "okd-worker-1" not in new.text


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        pytest.param(["10.9.9.9"], "DNS has 10.9.9.9", id="elsewhere"),
        pytest.param(["192.168.111.5"], "DNS has 192.168.111.5", id="the-vip"),
        pytest.param(["192.168.111.22"], "DNS has 192.168.111.22", id="another-hosts"),
        pytest.param(["192.168.111.31", "192.168.111.32"], "DNS has 192.168.111.31, 192.168.111.32", id="two"),
    ],
)
def test_an_answer_that_cannot_be_the_hosts_is_not_taken(new: NewStack, answers: list[str], seen: str) -> None:
    new.site.names["okd-master-0.okd.lab.test"] = answers
    done = new.init()
    assert "okd-master-0" not in new.options["node_addresses"]
    assert f"; {seen} for okd-master-0.okd.lab.test\n" in done.stdout


def test_a_wildcard_of_dns_is_no_address_of_any_machine(new: NewStack) -> None:
    new.site = FakeSite(names={}, wildcard=("192.168.111.80",))
    assert new.init().returncode == 0
    assert "node_addresses" not in new.options


def dual_stack(config: dict[str, Any]) -> None:
    networking = config["networking"]
    networking["machineNetwork"].append({"cidr": "fd11::/64"})
    networking["clusterNetwork"].append({"cidr": "fd01::/48", "hostPrefix": 64})
    networking["serviceNetwork"].append("fd02::/112")
    bare(config)["apiVIPs"].append("fd11::5")
    bare(config)["ingressVIPs"].append("fd11::4")


def test_both_families_are_taken_and_the_primary_one_first(new: NewStack) -> None:
    new.site.names["okd-master-0.okd.lab.test"] = ["fd11::21", "192.168.111.21"]
    done = new.init(dual_stack)
    assert new.options["node_addresses"] == {"okd-master-0": ["192.168.111.21", "fd11::21"]}
    path = "pulumi config set --path 'node_addresses.okd-master-1"
    assert f"\nnode_addresses.okd-master-1: {path}[0]' '<IPv4 address>'; {path}[1]' '<IPv6 addr" in done.stdout


def test_only_the_family_that_is_not_static_is_wanted(new: NewStack) -> None:
    """Issue 40, 16: a static VM in dual stack, and a server with one static address."""

    def change(config: dict[str, Any]) -> None:
        dual_stack(config)
        static = {"IP": "192.168.111.30", "Gateway": "192.168.111.1", "DNS": "192.168.111.1"}
        bare(config).update({f"bootstrapExternalStatic{key}": value for key, value in static.items()})
        config_of_host = nmstate("eno1", "192.168.111.31")
        config_of_host["interfaces"][0]["ipv6"] = {"enabled": True, "dhcp": True}
        host(config)["networkConfig"] = config_of_host

    new.site.names["okd-master-0.okd.lab.test"] = ["fd11::21", "192.168.111.21"]
    done = new.init(change)
    assert done.returncode == 0
    assert new.options["node_addresses"]["okd-master-0"] == ["fd11::21"]
    path = "bootstrap.address: pulumi config set --path 'bootstrap.address[0]' '<IPv6 address>' # "
    assert f"\n{path}" in done.stdout
    new.site.names["bootstrap.okd.lab.test"] = ["192.168.111.20", "fd11::20"]
    assert new.init(change).returncode == 0
    assert new.options["bootstrap"]["address"] == ["fd11::20"]


def test_an_address_of_a_family_without_vips_is_not_wanted(new: NewStack) -> None:
    def change(config: dict[str, Any]) -> None:
        networking = config["networking"]
        networking["machineNetwork"].append({"cidr": "fd11::/64"})
        networking["clusterNetwork"].append({"cidr": "fd01::/48", "hostPrefix": 64})
        networking["serviceNetwork"].append("fd02::/112")

    new.site.names["okd-master-0.okd.lab.test"] = ["fd11::21", "192.168.111.21"]
    assert new.init(change).returncode == 0
    assert new.options["node_addresses"]["okd-master-0"] == ["192.168.111.21"]


def test_several_addresses_towards_the_bmcs_are_a_comment(new: NewStack) -> None:
    new.site.sources["192.0.2.3"] = "192.0.2.9"
    change = host_at("redfish-virtualmedia://192.0.2.3/redfish/v1/Systems/1")
    done = new.init(change)
    assert "address" not in new.options.get("media", {})
    assert "\nmedia.address: pulumi config set --path 'media.address' '<address>' # " in done.stdout
    assert "okd-master-0 192.0.2.9, okd-master-1 172.22.0.2, " in done.stdout


def s390x(config: dict[str, Any]) -> None:
    for pool in (config["controlPlane"], *config["compute"]):
        pool["architecture"] = "s390x"


def host_at(address: str) -> Change:
    return lambda config: host(config)["bmc"].update(address=address)


@pytest.mark.parametrize(
    ("volumes", "comment"),
    [
        ([], "the pool default has no qcow2 volume without a backing file"),
        (["a.qcow2", "b.qcow2"], "the pool default has a.qcow2, b.qcow2"),
    ],
    ids=["none", "several"],
)
def test_a_base_volume_is_named_only_where_there_is_one(new: NewStack, volumes: list[str], comment: str) -> None:
    new.site.volumes = volumes
    done = new.init(has_tool=True)
    command = (
        f"curl -fL {openshift_install.MIRROR}/scos-qemu.x86_64.qcow2.gz | gzip -dc "
        f">/var/lib/libvirt/images/{DOWNLOADED} && virsh pool-refresh default && "
        f"pulumi config set --path bootstrap.base_volume {DOWNLOADED} && "
        f"pulumi config set --path bootstrap.base_sha256 {openshift_install.QCOW2}"
    )
    assert f"\nbootstrap.base_volume: {command} # {comment}\n" in done.stdout
    assert [*new.options["bootstrap"]] == ["address"]


def test_the_volume_that_it_told_to_download_is_found_beside_others(new: NewStack) -> None:
    new.site.volumes = ["a.qcow2", DOWNLOADED]
    assert new.init(has_tool=True).returncode == 0
    assert new.options["bootstrap"] == {
        "address": ["192.168.111.20"],
        "base_volume": DOWNLOADED,
        "base_sha256": openshift_install.QCOW2,
    }


@pytest.mark.parametrize(
    ("volume", "digest"), [(DOWNLOADED, openshift_install.QCOW2), ("mine.qcow2", None)], ids=["told", "own"]
)
def test_a_volume_that_is_named_gets_the_digest_if_it_is_the_releases(
    new: NewStack, volume: str, digest: str | None
) -> None:
    new.init()
    (new.folder / STACK).write_text(f"config:\n  okd-baremetal:bootstrap: {{base_volume: {volume}}}\n")
    new.site.volumes = ["mine.qcow2", DOWNLOADED]
    assert new.init(has_tool=True).returncode == 0
    assert new.options["bootstrap"]["base_volume"] == volume
    assert new.options["bootstrap"].get("base_sha256") == digest


def test_the_images_are_those_of_the_os_image_stream(new: NewStack) -> None:
    def change(config: dict[str, Any]) -> None:
        config["osImageStream"] = "rhel-10"

    assert new.init(change, has_tool=True).returncode == 0
    assert new.options["media"]["base_iso"]["url"] == f"{openshift_install.MIRROR}/rhel-10/scos-live-iso.x86_64.iso"


def test_the_command_for_images_names_the_os_image_stream(new: NewStack) -> None:
    new.site.volumes = []
    done = new.init(lambda config: config.update(osImageStream="rhel-10"))
    assert done.stdout.count(STREAM.replace("json |", "json --stream rhel-10 |")) == 2, "ISO and qcow2"


def test_the_release_that_the_environment_names_is_written(new: NewStack, monkeypatch: pytest.MonkeyPatch) -> None:
    other = f"registry.lab.test/okd@sha256:{'6f' * 32}"
    monkeypatch.setenv("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", other)
    assert new.init(has_tool=True).returncode == 0
    assert new.line("release:") == f'release: "{other}" # of `$OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE`'


def test_a_cluster_of_arm64_needs_only_the_iso_of_arm64(new: NewStack) -> None:
    assert new.init(all_of_arm64, has_tool=True).returncode == 0
    assert new.options["media"] == {
        "address": "172.22.0.2",
        "base_iso_arm64": {
            "sha256": openshift_install.ISO_ARM64,
            "url": f"{openshift_install.MIRROR}/scos-live-iso.aarch64.iso",
        },
    }
    assert new.options["bootstrap"]["base_sha256"] == openshift_install.QCOW2, "of this machine's architecture"


def test_with_a_provisioning_network_the_card_is_another_one(new: NewStack) -> None:
    assert new.init(from_network(3)).returncode == 0
    assert new.line("okd-master-0") == (
        'okd-master-0: ["192.168.111.21"] # DHCP reserves it for its card on the machine network'
    )


@pytest.mark.parametrize("name", ["on", "1e2", "a.b"])
def test_a_host_of_any_name_keeps_it(new: NewStack, name: str) -> None:
    new.site.names[f"{name}.okd.lab.test"] = ["192.168.111.21"]
    assert new.init(lambda c: host(c).update(name=name)).returncode == 0
    assert new.options["node_addresses"][name] == ["192.168.111.21"]


def test_dns_is_asked_for_a_complete_name_as_it_is(new: NewStack) -> None:
    """H03."""
    new.site.names["m0.example.com"] = ["192.168.111.21"]
    assert new.init(lambda c: host(c).update(name="m0.example.com")).returncode == 0
    assert new.options["node_addresses"]["m0.example.com"] == ["192.168.111.21"]
    assert "m0.example.com.okd.lab.test" not in new.site.asked


def test_a_name_with_a_dot_is_quoted_in_its_command(new: NewStack) -> None:
    done = new.init(lambda c: host(c).update(name="a.b"))
    assert """pulumi config set --path 'node_addresses["a.b"][0]' '<IPv4 address>'""" in done.stdout


def test_the_secrets_that_the_file_leaves_out_are_left_to_do(new: NewStack) -> None:
    def change(config: dict[str, Any]) -> None:
        del config["pullSecret"], host(config)["bmc"]["password"], host(config, 1)["bmc"]["username"]

    done = new.init(change)
    name, password = "bmc_credentials.okd-master-1.username", "bmc_credentials.okd-master-0.password"
    assert done.returncode == 0
    assert done.stdout.partition("stack init prod\n")[2].startswith(
        "pull_secret: pulumi config set --secret pull_secret <FILE\n"
        f"{password}: pulumi config set --secret --path '{password}'\n"
        f"{name}: pulumi config set --path '{name}' <name>\n"
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(lambda c: (c.pop("baseDomain"), bare(c).update(apiVIPs=["10.0.0.5"])), 2, id="broken"),
        pytest.param(lambda c: c["controlPlane"].update(replicas=2), 2, id="control-plane-of-two"),
        pytest.param(s390x, 3, id="not-installable"),
    ],
)
def test_a_file_that_check_refuses_is_refused_alike_and_nothing_is_written(
    new: NewStack, change: Change, code: int
) -> None:
    done = new.init(change)
    check = run("check", "mine.yaml", folder=new.folder)
    assert (done.returncode, done.stdout, done.stderr) == (check.returncode, check.stdout, check.stderr)
    assert done.returncode == code
    assert [each.name for each in new.folder.iterdir()] == ["mine.yaml"]
    assert new.site.asked == []


def test_the_same_again_is_fine_and_another_install_config_is_refused(new: NewStack) -> None:
    new.init()
    again = new.init()
    assert again.stdout.startswith(f"{CONFIG}: unchanged\n{STACK}: unchanged\n")
    text = new.text
    other = new.init(lambda c: c["metadata"].update(name="other"))
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr == (
        f"{CONFIG}: exists already, with other contents. "
        "Fix: leave out --install-config to go on with that file, or name another stack\n"
    )
    assert new.text == text
    assert run("init", "prod", folder=new.folder, **NOWHERE).stdout == again.stdout, "as the fix says"


def test_a_repeated_call_adds_what_is_known_by_now(new: NewStack) -> None:
    """Case 7 of issue 40."""
    names = new.site.names
    new.site = FakeSite(names={}, sources={}, volumes=None)
    new.init()
    file = new.folder / STACK
    file.write_text(EDITED)
    file.chmod(0o600)
    new.site = FakeSite(names=names)
    done = new.init(has_tool=True)
    before, after = yaml.safe_load(EDITED), yaml.safe_load(new.text)
    assert f"{STACK}: extended\n" in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    assert "pulumi stack init" not in done.stdout
    assert after["encryptionsalt"] == before["encryptionsalt"]
    iso = {"sha256": openshift_install.ISO, "url": f"{openshift_install.MIRROR}/scos-live-iso.x86_64.iso"}
    addresses = {name: [f"192.168.111.{21 + index}"] for index, name in enumerate(plans.HOSTS)}
    bootstrap = {"base_volume": "coreos-qemu.qcow2", "base_sha256": openshift_install.QCOW2}
    assert after["config"] == {
        **before["config"],
        "okd-baremetal:node_addresses": {**addresses, "okd-master-1": ["192.168.111.99"]},
        "okd-baremetal:media": {"url": "http://192.168.111.7/isos", "base_iso": iso},
        "okd-baremetal:bootstrap": {"address": ["192.168.111.20"], **bootstrap},
    }
    assert "# mine\n" in new.text
    assert "# mine, too\n" in new.text
    assert new.init(has_tool=True).stdout.startswith(f"{CONFIG}: unchanged\n{STACK}: unchanged\n")


@pytest.mark.parametrize(
    "mine",
    ["", "# mine\n", "encryptionsalt: v1:salt\n", "config:\n", "config: {} # mine\n", "config: # mine\n"],
    ids=["empty", "comment", "salt", "nothing", "braces", "nothing-with-comment"],
)
def test_an_empty_file_of_a_stack_is_filled(new: NewStack, mine: str) -> None:
    new.init()
    wanted = new.options
    (new.folder / STACK).write_text(mine)
    done = new.init()
    if yaml.safe_load(mine) is None:  # no stack's file
        assert (done.returncode, new.text) == (2, mine)
        return
    assert (done.returncode, new.options) == (0, wanted)
    assert yaml.safe_load(new.text).get("encryptionsalt") == yaml.safe_load(mine).get("encryptionsalt")
    assert new.text.count("# mine") == mine.count("# mine")


def test_a_stack_that_is_not_there_wants_an_install_config(new: NewStack) -> None:
    done = run("init", "prod", folder=new.folder)
    assert (done.returncode, done.stderr) == (
        2,
        f"{CONFIG}: not there yet. Fix: name the file to copy, with --install-config\n",
    )


def test_secrets_that_git_must_not_have_are_left_to_do(new: NewStack) -> None:
    assert "\nbefore you commit, the secrets: okd-baremetal move-secrets prod\n" in new.init().stdout


def test_a_folder_that_cannot_be_written_is_one_line(new: NewStack) -> None:
    (new.folder / "stacks").write_text("a file")
    done = new.init()
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"{CONFIG}: cannot be written (")


@pytest.mark.parametrize("stack", ["../prod", "a/b", "..", "a b"])
def test_what_is_no_name_of_a_stack_is_refused(new: NewStack, stack: str) -> None:
    done = run("init", stack, "--install-config", plans.INSTALL_CONFIG, folder=new.folder)
    assert (done.returncode, done.stderr) == (
        2,
        f"STACK: {stack} is not a stack's name. Fix: use letters, digits, hyphens, underscores and dots\n",
    )
    assert [*new.folder.iterdir()] == []


def behind(fleet: Any) -> Change:
    def change(config: dict[str, Any]) -> None:
        bare(config)["bmcVerifyCA"] = fleet.ca
        for index in range(len(plans.HOSTS)):
            host(config, index)["bmc"].update(address=fleet.address(index), password=fleet.options.password)

    return change


def test_consents_are_read_from_the_bmcs_on_demand(new: NewStack) -> None:
    with running(Options(hosts=len(plans.HOSTS))) as fleet:
        change = behind(fleet)
        assert new.init(change).returncode == 0
        assert fleet.total().requests == 0
        (new.folder / STACK).unlink()
        done = new.init(change, "--consents")
        assert [fleet.figures(index).writes for index in range(len(plans.HOSTS))] == [[]] * len(plans.HOSTS)
    assert done.returncode == 0
    assert new.options["consent"] == {name: uuid_of(index) for index, name in enumerate(plans.HOSTS)}
    assert "bmc consent" not in done.stdout


def test_a_bmc_that_does_not_answer_leaves_its_consent_to_do(new: NewStack) -> None:
    with running(Options(hosts=len(plans.HOSTS))) as fleet:
        change = behind(fleet)

        def one_with_another_password(config: dict[str, Any]) -> None:
            change(config)
            host(config)["bmc"]["password"] = "another"

        done = new.init(one_with_another_password, "--consents")
    assert done.returncode == 0
    assert [*new.options["consent"]] == [*plans.HOSTS[1:]]
    assert "\nconsent.okd-master-0: okd-baremetal bmc consent prod --write\n" in done.stdout
    assert "okd-master-0" in done.stderr
