"""A separate Pulumi project: the real engine, our providers, a file backend, and servers of the BMC emulator."""

import hashlib
import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from testing import live_iso
from testing.checkout import ROOT
from testing.fakes.emulator import PASSWORD, USER, Emulator, pointer
from testing.processes import kill
from testing.pulumi_env import site_env

MACHINES = {
    "11111111-1111-4111-8111-111111111111": "127.0.77.1",
    "22222222-2222-4222-8222-222222222222": "127.0.77.2",
    "33333333-3333-4333-8333-333333333333": "127.0.77.3",
}
NAMES = dict(zip(["okd-master-0", "okd-master-1"], MACHINES, strict=False))
COMMAND_S = 120


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


class Project:
    """A Pulumi project with one stack, in its own folder."""

    def __init__(self, folder: Path, bmc: Emulator) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "tests" / "e2e" / "program", folder / "program")
        self.base = base = live_iso.live_iso()
        payload = pointer(bmc.authority)
        for name in ("master", "worker"):
            self.write(f"program/stacks/test/payload/{name}.ign", payload)
        self.env = site_env(folder)
        self.site: dict[str, Any] = {
            "ca": bmc.authority.pem,
            "hosts": {name: host_of(bmc.address(uuid), uuid, MACHINES[uuid]) for name, uuid in NAMES.items()},
            "bmc_deadline_s": 20,
            "roles": {"control-plane": ROLE},
            "reinstall": {},
            "media_port": free_port(),
            "base_iso_sha256": self.base_iso(base),
            "payload_sha256": hashlib.sha256(payload).hexdigest(),
        }
        self.pulumi("stack", "init", "test")

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
        """Kill the processes that a killed engine left behind: language host and providers would wait forever."""
        kill(f"SITE={self.folder}/")

    def state(self, name: str, *words: str) -> dict[str, Any]:
        """Return the state of one resource."""
        resources = json.loads(self.pulumi("stack", "export", *words))["deployment"]["resources"]
        found: dict[str, Any]
        (found,) = [each for each in resources if each["urn"].endswith(f"::{name}")]
        return found

    def outputs(self, name: str) -> dict[str, Any]:
        outputs: dict[str, Any] = self.state(name)["outputs"]
        return outputs


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
