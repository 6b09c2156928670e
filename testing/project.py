"""A separate Pulumi project: the real engine and providers, a file backend, and servers of the BMC emulator."""

import hashlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from testing.checkout import ROOT
from testing.fakes.emulator import PASSWORD, USER, Emulator, pointer
from testing.live_iso import live_iso
from testing.processes import kill
from testing.pulumi_env import pulumi_env, resources_of, site_env

MACHINES = {
    "11111111-1111-4111-8111-111111111111": 1,
    "22222222-2222-4222-8222-222222222222": 2,
    "33333333-3333-4333-8333-333333333333": 3,
}
CROWD = {f"44444444-4444-4444-8444-{number:012}": 100 + number for number in range(12)}
NAMES = dict(zip(["okd-master-0", "okd-master-1"], MACHINES, strict=False))
MEDIA_PORT = 8080
COMMAND_S = 240
STACK = {"PULUMI_STACK": "test"}
"""In the environment, the stack that is meant."""


ROLE: dict[str, Any] = {
    "ignition_sha256": "first",
    "ours": '{"ignition":{"version":"3.2.0"},"secret":"content-of-ours"}',
    "keyfiles": {"eth0.nmconnection": "[connection]\nid=content-of-a-keyfile\n"},
}


def host_of(bmc_url: str, uuid: str, address: str, role: str = "control-plane") -> dict[str, Any]:
    return {
        "role": role,
        "bmc_url": bmc_url,
        "username": USER,
        "password": PASSWORD,
        "trust": {},
        "consent": uuid.upper(),
        "address": address,
    }


def eventually(is_true: Callable[[], bool], within_s: float = 120) -> None:
    """Wait until `is_true`."""
    until = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.05)


def texts(lines: list[dict[str, Any]], machine: str, *events: str) -> list[str]:
    """Return the texts of a log's lines about one machine, of these events."""
    return [line["text"] for line in lines if line.get("machine") == machine and line["event"] in events]


@cache
def _with_an_empty_stack() -> dict[str, bytes]:
    """Return the files of a project whose stack is new, by their paths."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(ROOT / "tests" / "e2e" / "program", folder / "program")
        command, env = ["pulumi", "stack", "init", "--non-interactive"], pulumi_env(folder) | STACK
        subprocess.run(
            [*command, STACK["PULUMI_STACK"]], cwd=folder / "program", env=env, check=True, capture_output=True
        )
        files = [path for part in ("program", ".pulumi") for path in (folder / part).rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Project:
    """A Pulumi project with one stack, in its own folder."""

    def __init__(self, folder: Path, bmc: Emulator) -> None:
        self.folder = folder
        for name, content in _with_an_empty_stack().items():
            self.write(name, content)
        self.base = base = live_iso()
        payload = pointer(bmc.authority)
        for name in ("master", "worker"):
            self.write(f"program/stacks/test/payload/{name}.ign", payload)
        self.env = site_env(folder) | STACK
        self.site: dict[str, Any] = {
            "ca": bmc.authority.pem,
            "hosts": {name: host_of(bmc.address(uuid), uuid, bmc.api(uuid)) for name, uuid in NAMES.items()},
            "spares": [],
            "bmc_deadline_s": 60,
            "roles": {"control-plane": ROLE},
            "reinstall": {},
            "media_address": bmc.media,
            "media_port": MEDIA_PORT,
            "over_tls": [],
            "base_iso_sha256": self.base_iso(base),
            "host_deadline_s": COMMAND_S,
            "payload_sha256": hashlib.sha256(payload).hexdigest(),
        }

    def base_iso(self, content: bytes) -> str:
        """Put a base ISO into the cache, and return its digest."""
        digest = hashlib.sha256(content).hexdigest()
        self.write(f"cache/okd-baremetal/images/{digest}", content)
        return digest

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
        """Kill the processes of a killed engine: language host and providers would wait forever."""
        kill(f"SITE={self.folder}/")

    def logs(self) -> list[list[dict[str, Any]]]:
        """Return the lines of each run's log, oldest first."""
        files = sorted((self.folder / "program" / "log" / "test").glob("*.jsonl"))
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    def noticed(self) -> list[str]:
        """Return what became of the notices of the first run."""
        return [line["text"] for line in self.logs()[0] if line["event"] == "notice"]

    def report(self) -> str:
        """Return the newest page of a run; empty if there is none."""
        page = self.folder / "program" / "report" / "test.html"
        return page.read_text() if page.exists() else ""

    def state(self, name: str) -> dict[str, Any]:
        """Return the state of one resource."""
        (named,) = [resource for resource in resources_of(self.folder) if resource["urn"].endswith(f"::{name}")]
        return named

    def outputs(self, name: str) -> dict[str, Any]:
        outputs: dict[str, Any] = self.state(name)["outputs"]
        return outputs
