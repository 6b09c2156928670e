"""The real Pulumi engine, our providers, and sushy-tools' emulator with its fake driver, over loopback."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assets.iso import cache_dir
from tests import live_iso
from tests.fakes.emulator import PASSWORD, USER, Emulator, pointer, running

ROOT = Path(__file__).parents[2]
MACHINES = {
    "11111111-1111-4111-8111-111111111111": "127.0.77.1",
    "22222222-2222-4222-8222-222222222222": "127.0.77.2",
}
NAMES = dict(zip(["okd-master-0", "okd-master-1"], MACHINES, strict=True))
COMMAND_S = 120


def pulumi_dir() -> Path:
    if found := shutil.which("pulumi"):
        return Path(found).resolve().parent
    for cli in sorted(cache_dir().glob("*/pulumi")):
        return cli.parent
    pytest.skip("no pulumi on PATH, and none built by tools/pulumi")


@pytest.fixture(scope="module")
def bmc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with running(tmp_path_factory.mktemp("bmc"), MACHINES) as emulator:
        yield emulator


class Project:
    """A Pulumi project with one stack in a folder of its own."""

    def __init__(self, folder: Path, bmc: Emulator) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "tests" / "e2e" / "program", folder / "program")
        installer, base = live_iso.installer(), live_iso.live_iso()
        payload = pointer(bmc.authority)
        self.write("program/stacks/test/payload/master.ign", payload)
        base_sha256 = hashlib.sha256(base).hexdigest()
        self.write(f"cache/okd-baremetal/images/{base_sha256}", base)
        path = [Path(sys.executable).parent, pulumi_dir(), installer.parent]
        self.env = {
            "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PULUMI_HOME": str(folder / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{folder}",
            "PULUMI_CONFIG_PASSPHRASE": "x",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
            "SITE": str(folder / "site.json"),
        }
        self.site: dict[str, Any] = {
            "password": PASSWORD,
            "ca": bmc.authority.pem,
            "hosts": {
                name: {
                    "bmc_url": bmc.address(uuid),
                    "username": USER,
                    "consent": uuid.upper(),
                    "address": MACHINES[uuid],
                    "uuid": uuid,
                }
                for name, uuid in NAMES.items()
            },
            "bmc_deadline_s": 20,
            "provision": True,
            "media_port": free_port(),
            "base_iso_sha256": base_sha256,
            "ignition_sha256": "first",
            "ours": '{"ignition":{"version":"3.2.0"},"secret":"content-of-ours"}',
            "keyfiles": {"eth0.nmconnection": "[connection]\nid=content-of-a-keyfile\n"},
            "payload_sha256": hashlib.sha256(payload).hexdigest(),
        }
        self.pulumi("stack", "init", "test")

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def pulumi(self, *words: str, fails: bool = False) -> str:
        (self.folder / "site.json").write_text(json.dumps(self.site))
        done = subprocess.run(
            ["pulumi", *words, "--non-interactive"],
            cwd=self.folder / "program",
            env=self.env,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        text = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, text
        return text

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        (self.folder / "site.json").write_text(json.dumps(self.site))
        quiet = subprocess.DEVNULL
        command = ["pulumi", *words, "--non-interactive"]
        path = shutil.which("pulumi", path=self.env["PATH"])
        return subprocess.Popen(
            command, executable=path, cwd=self.folder / "program", env=self.env, stdout=quiet, stderr=quiet
        )

    def end(self) -> None:
        """End what a killed engine left behind: its language host and provider processes wait for it for ever."""
        mark = f"SITE={self.folder}/".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def state(self) -> str:
        return self.pulumi("stack", "export")


@pytest.fixture
def project(tmp_path: Path, bmc: Emulator) -> Iterator[Project]:
    bmc.reset()
    project = Project(tmp_path, bmc)
    yield project
    project.end()


def eventually(is_so: Callable[[], bool], within_s: float = 30) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.slow
def test_hosts_live_from_up_to_destroy(project: Project, bmc: Emulator) -> None:
    first = len(bmc.writes)
    shown = project.pulumi("up", "--yes", "--skip-preview")
    for name in NAMES:
        assert re.search(rf"baremetal:BmcHost {name} .*installed; \d+ s spent, \d+ s left", shown)
    assert {uuid: bmc.guest.installs[uuid] for uuid in MACHINES} == dict.fromkeys(MACHINES, 1)
    for uuid in MACHINES:
        mine = [line for line in bmc.writes[first:] if uuid in line]
        kinds = [line.rsplit(".", 1)[-1] if "Actions" in line else "Boot" for line in mine]
        # Off, then: media, Cd, On; and when it is done: eject, Hdd, On.
        assert kinds == ["Reset", "InsertMedia", "Boot", "Reset", "EjectMedia", "Boot", "Reset"]

    project.pulumi("preview", "--expect-no-changes")
    project.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    project.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    asked = len(bmc.requests)
    project.site["ignition_sha256"] = "second"
    project.site["keyfiles"] = {"eth0.nmconnection": "[connection]\nid=content-of-another-keyfile\n"}
    preview = project.pulumi("preview", "--diff")
    assert "second" in preview
    shown += preview + project.pulumi("up", "--yes", "--skip-preview")
    assert bmc.requests[asked:] == []
    project.pulumi("preview", "--expect-no-changes")

    state = project.state()
    for secret in (PASSWORD, "content-of-ours", "content-of-a-keyfile", "content-of-another-keyfile"):
        assert secret not in state
        assert secret not in shown

    project.pulumi("destroy", "--yes", "--skip-preview")
    for uuid in MACHINES:
        assert bmc.guest.systems.get_power_state(uuid) == "Off"
        assert bmc.guest.systems.get_boot_device(uuid) == "Hdd"
        assert not bmc.guest.systems.get_boot_image(uuid, "Cd")[0]


@pytest.mark.slow
def test_a_killed_run_lets_go_and_the_next_one_takes_over(project: Project, bmc: Emulator) -> None:
    bmc.guest.patience.clear()
    with project.start("up", "--yes", "--skip-preview") as killed:
        eventually(lambda: set(bmc.guest.looks) == set(MACHINES) and min(bmc.guest.looks.values()) > 1)
        killed.kill()
    project.pulumi("cancel", "--yes")
    before = len(bmc.writes)
    with project.start("up", "--yes", "--skip-preview") as second:
        # The installers were running: each is switched off and on again.
        eventually(lambda: len(bmc.writes) >= before + 2 * len(MACHINES))
        bmc.guest.patience.set()
        assert second.wait(COMMAND_S) == 0
    for uuid in MACHINES:
        kinds = [
            line.rsplit(".", 1)[-1] if "Actions" in line else "Boot" for line in bmc.writes[before:] if uuid in line
        ]
        assert kinds == ["Reset", "Reset", "EjectMedia", "Boot", "Reset"]
        assert bmc.guest.installs[uuid] == 1
        assert bmc.guest.is_ready(uuid)
    project.pulumi("preview", "--expect-no-changes")
    project.pulumi("destroy", "--yes", "--skip-preview")


def test_nobody_is_touched_before_all_agree(project: Project, bmc: Emulator) -> None:
    first = len(bmc.writes)
    name, uuid = list(NAMES.items())[1]
    project.site["hosts"][name]["consent"] = "SN-OF-ANOTHER"
    text = project.pulumi("up", "--yes", "--skip-preview", fails=True)
    assert f"pulumi config set --path 'consent.{name}' {uuid}" in text
    assert 'File "' not in text
    assert not bmc.guest.installs
    assert not [line for line in bmc.writes[first:] if uuid in line]


def test_a_missing_consent_fails_the_preview_without_a_bmc(project: Project, bmc: Emulator) -> None:
    asked = len(bmc.requests)
    project.site["hosts"]["okd-master-0"]["consent"] = ""
    text = project.pulumi("preview", fails=True)
    assert "pulumi config set --path 'consent.okd-master-0' <UUID>" in text
    assert bmc.requests[asked:] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ca": ""}, "bmc_ca"),
        ({"password": "wrong-of-somebody"}, "HTTP 401, the BMC refuses the credentials"),
    ],
    ids=["untrusted", "wrong-password"],
)
def test_what_an_operator_can_set_wrong_is_said_at_once(
    project: Project, bmc: Emulator, change: dict[str, str], message: str
) -> None:
    project.site |= {**change, "provision": False}
    text = project.pulumi("up", "--yes", "--skip-preview", fails=True)
    assert message in text
    assert "wrong-of-somebody" not in text
    assert 'File "' not in text
