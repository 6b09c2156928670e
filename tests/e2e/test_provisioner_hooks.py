"""The checks of the provisioner at each `up`, and what pulumi-libvirt is given, on the real Pulumi engine.

A stand-in takes the place of the plugin, and libvirt's own test driver that of libvirt.
"""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from boot_media.tools import find_coreos_installer
from cluster.options import BaseImage
from testing import payloads, plans
from testing.checkout import ROOT, copy_program
from testing.fakes import libvirt_plugin
from testing.namespaces import ISOLATED, SBIN, needs_root
from testing.project import COMMAND_S
from testing.pulumi_env import pulumi_env

HOW_TO = ROOT / "docs/how-to/prepare-a-provisioner.md"
CHECK, REPEATED = re.findall(r"^pulumi (?:up|refresh) --skip-preview .*Preflight.*", HOW_TO.read_text(), re.M)
"""The commands of the page that check the provisioner."""
NETWORK = (
    "mount -t proc none /proc; mount -t sysfs none /sys; ip link set lo up; "
    "ip link add baremetal type bridge; ip link set baremetal up; "
    f"{sys.executable} -m http.server --bind 127.0.0.1 --directory {{}} 8000 >/dev/null 2>&1 & "
)
MIRROR = "http://127.0.0.1:8000/mirror.qcow2"

MACHINE = '''
"""A resource that changes a machine."""
from pulumi.dynamic import CreateResult, Resource, ResourceProvider, UpdateResult


class Machines(ResourceProvider):
    def create(self, props):
        return CreateResult("machine", props)

    def update(self, _id, _olds, news):
        return UpdateResult(news)


class Machine(Resource, module="test", name="Machine"):
    def __init__(self, opts, word):
        super().__init__(Machines(), "machine", {"word": word}, opts)
'''
PROGRAM = '''
"""The provisioner of the stack, and one machine."""
import os
import pulumi
from pathlib import Path
from boot_media.keyfiles import keyfiles_of
from cluster.options import TEXTS, Options
from cluster.plan import load_plan
from components.hooks import Hooks
from components.provisioner import Provisioner, ProvisionerArgs
from machine import Machine
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.resource import ProvisionerPreflight

config = pulumi.Config()
read = {name: config.get(name) if name in TEXTS else config.get_object(name) for name in Options.model_fields}
options = {name: value for name, value in read.items() if value is not None}
plan = load_plan(Path("stacks/rehearsal/install-config.yaml"), options, keyfiles_of)
spec = ProvisionerPreflightSpec.of(plan, "rehearsal", [])
hooks = Hooks("okd", spec)
preflight = ProvisionerPreflight("preflight", spec, pulumi.ResourceOptions(hooks=hooks.preflight), urn="")
Provisioner("provisioner", ProvisionerArgs(plan, [preflight], hooks.base_volume))
word = Path("word").read_text() if Path("word").exists() else "first"
Machine(pulumi.ResourceOptions(depends_on=[preflight], hooks=hooks.machine), word)
'''


class Site:
    """The program with a provisioner of its own: folders, a network, and libvirt's test driver."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, folder / "program"
        copy_program(self.program)
        self.libvirt = folder / "libvirt"
        path = libvirt_plugin.install(folder / "plugin", self.libvirt)
        self.env = pulumi_env(folder, path, find_coreos_installer().parent) | {
            "XDG_CACHE_HOME": str(folder / "cache")
        }
        self.env["PATH"] += f":{SBIN}"
        self.images = folder / "cache/okd-baremetal/images"
        config = plans.install_config()
        config["platform"]["baremetal"]["libvirtURI"] = "test:///default"
        (self.program / "stacks/rehearsal/install-config.yaml").write_text(plans.written(config))
        self.image = folder / "mirror.qcow2"
        self.make_image("1G")
        self.options: dict[str, Any] = {
            "phase": "bootstrap",
            "payload": self._payload(),
            "media": {
                "address": "127.0.0.1",
                "port": 8080,
                "base_iso": {"sha256": "d3" * 32, "url": "https://x.test/i"},
            },
            "bootstrap": {"address": "192.168.111.20", "pool": "okd", "disk_gib": 2, "emulated": True},
            "provisioner": {"manage": True, "pool_path": str(folder / "pool"), "base_image": {}},
        }
        self.name_image(str(self.image))
        self("stack", "init", "rehearsal")

    def make_image(self, size: str) -> None:
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", self.image, size], check=True)

    def name_image(self, source: str) -> None:
        digest = hashlib.sha256(self.image.read_bytes()).hexdigest()
        self.options["provisioner"]["base_image"] = {"source": source, "sha256": digest}

    def only_one_machine(self) -> None:
        """Have the program declare the provisioner and one machine, in place of the cluster."""
        (self.program / "__main__.py").write_text(PROGRAM)
        (self.program / "machine.py").write_text(MACHINE)

    def days_pass(self) -> None:
        """Have the program run two days later."""
        file = self.program / "payload/stack_payload.py"
        edited(file, "datetime.now(UTC)", "datetime.now(UTC) + timedelta(days=2)")
        edited(file, "import UTC, datetime", "import UTC, datetime, timedelta")

    def __call__(self, *words: str, fails: bool = False) -> str:
        config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options(**self.options).items()}
        file = self.program / "stacks/Pulumi.rehearsal.yaml"
        salt = {k: v for k, v in yaml.safe_load(file.read_text()).items() if k != "config"}
        file.write_text(yaml.safe_dump({**salt, "config": config}))
        script = f'{NETWORK.format(self.folder)} exec "$@"'
        command = ["unshare", *ISOLATED, "bash", "-ec", script, "bash", "pulumi", *words, "--non-interactive"]
        done = subprocess.run(
            command, cwd=self.program, env=self.env, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
        text = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, text
        return text

    def up(self, fails: bool = False) -> str:
        return self("up", "--skip-preview", fails=fails)

    def volume(self) -> Path:
        digest = self.options["provisioner"]["base_image"]["sha256"]
        return self.libvirt / BaseImage(source="/x", sha256=digest).volume("okd")

    def empty_cache(self) -> None:
        shutil.rmtree(self.images)

    def change_machine(self) -> None:
        (self.program / "word").write_text("second")

    def _payload(self) -> dict[str, str]:
        (folder := self.program / "stacks/rehearsal/payload").mkdir()
        digests = {}
        for name, parsed in payloads.good(made=datetime.now(UTC) - timedelta(hours=1)).items():
            content = json.dumps(parsed).encode()
            (folder / f"{name}.ign").write_bytes(content)
            digests[name] = hashlib.sha256(content).hexdigest()
        return digests


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def edited(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@needs_root
def test_a_hung_upload_is_healed_and_an_unready_host_changes_no_machine(site: Site) -> None:
    """D1: neither Pulumi nor the plugin has a time limit. N5: unchanged inputs say nothing of the payload's age.

    What changes no machine needs no host that is ready now.
    """
    site.only_one_machine()
    edited(
        site.program / "components/hooks.py", "CONNECT_S, LEAST_BYTES_PER_S = 120", "CONNECT_S, LEAST_BYTES_PER_S = 1"
    )
    (site.libvirt / libvirt_plugin.UPLOAD_HANGS).touch()
    ended = site.up(fails=True)
    assert f"base volume {site.volume().name}: its upload takes more than 1 s, and was ended. Fix: " in ended
    (site.libvirt / libvirt_plugin.UPLOAD_HANGS).unlink()
    site.up()
    assert site.volume().read_bytes() == site.image.read_bytes()

    site.days_pass()
    assert "8 unchanged" in site("up", "--skip-preview", "--expect-no-changes")
    site.change_machine()
    refused = site.up(fails=True)
    assert "this host is not ready, 1 finding; nothing was touched" in refused
    assert "bootstrap.ign: useless since " in refused
    assert "media" not in refused.partition("useless since")[2].partition("base ISO")[0]


@needs_root
def test_an_image_by_url_is_fetched_whenever_its_volume_is_made(site: Site) -> None:
    """N2: in both phases, with an empty cache, and by the fix of a torn volume (D2)."""
    site.only_one_machine()
    site.name_image(MIRROR)
    site.up()
    first = site.volume()
    assert first.read_bytes() == site.image.read_bytes()
    site.options["phase"] = "production"
    site.make_image("2G")
    site.name_image(MIRROR)
    site.empty_cache()
    site.up()
    assert (site.volume().read_bytes(), first.exists()) == (site.image.read_bytes(), False)
    site.empty_cache()
    site.volume().write_bytes(b"torn")
    site("up", "--skip-preview", "--replace", f"**::{site.volume().name}")
    assert site.volume().read_bytes() == site.image.read_bytes()
    site.empty_cache()
    site.image.unlink()
    refused = site("up", "--skip-preview", "--replace", f"**::{site.volume().name}", fails=True)
    assert f"{MIRROR}: cannot be downloaded (HTTP 404). Fix: correct provisioner.base_image.source" in refused


@needs_root
@pytest.mark.parametrize("managed", [True, False], ids=["managed", "by-hand"])
def test_the_documented_check_works_the_first_time_and_later(site: Site, managed: bool) -> None:
    """N5: with the whole program. Without `manage`, in phase production, which needs no libvirt."""
    if not managed:
        site.options |= {"phase": "production", "provisioner": {}, "import_production": True}
        site.options["bootstrap"]["base_volume"] = "base.qcow2"
    checked = site(*shlex.split(CHECK)[1:])
    assert re.search(r"ProvisionerPreflight okd-preflight created", checked)
    site.days_pass()
    assert ("bootstrap.ign: useless since " in site(*shlex.split(REPEATED)[1:])) is managed
