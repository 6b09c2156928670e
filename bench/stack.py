"""A stack of `bench/program` in its own folder, and measurements of its commands."""

import hashlib
import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from assets.ignition import Config, Resource
from bench.processes import Cost, Watch
from testing import live_iso
from testing.checkout import ROOT
from testing.fakes.fleet.certificates import API_NAME
from testing.fakes.fleet.fleet import Fleet, uuid_of
from testing.processes import kill
from testing.pulumi_env import site_env

STACK = "bench"
RESOURCE = "baremetal:"
ROLLOUT = f"{RESOURCE}HostProvisioning control-plane"
MARKS = RESOURCE, f"{ROLLOUT} creating", f"{ROLLOUT} created"
"""The engine's words when the work begins, and when the rollout begins and ends."""


@dataclass(frozen=True)
class Update:
    """Time and cost of one `pulumi up`.

    Args:
        work_s: From the engine's first "creating" of this program's resources to the "created" of the rollout.
        rollout_s: Time of only the rollout.
        whole_s: Time of the whole command.
        costs: Cost by kind of process.
    """

    work_s: float
    rollout_s: float
    whole_s: float
    costs: dict[str, Cost]


class Stack:
    """A stack that installs hosts of a fleet.

    Args:
        hosts: Numbers of the hosts.
        with_servers: Whether each has a `BmcHost`, as in the real graph.
    """

    def __init__(self, folder: Path, fleet: Fleet, hosts: list[int], *, with_servers: bool) -> None:
        self._folder = folder
        shutil.copytree(ROOT / "bench" / "program", folder / "program")
        payload = Config(certificate_authorities=(Resource.inline(fleet.ca),)).to_json().encode()
        base = live_iso.live_iso()
        base_sha256 = hashlib.sha256(base).hexdigest()
        self._write(f"program/stacks/{STACK}/payload/master.ign", payload)
        self._write(f"cache/okd-baremetal/images/{base_sha256}", base)
        site = {
            "username": fleet.options.username,
            "password": fleet.options.password,
            "ca": fleet.ca,
            "api_name": API_NAME,
            "with_servers": with_servers,
            "base_iso_sha256": base_sha256,
            "payload_sha256": hashlib.sha256(payload).hexdigest(),
            "hosts": {
                f"host-{host}": {"bmc_url": fleet.address(host), "address": fleet.node(host), "uuid": uuid_of(host)}
                for host in hosts
            },
        }
        self._write("site.json", json.dumps(site).encode())
        self._env = site_env(folder) | {"PYTHONPATH": str(ROOT), "PULUMI_STACK": STACK}  # with an operator's pip
        self._run("stack", "init", STACK)

    def preview_s(self) -> float:
        """Run a preview, and return its seconds."""
        began = time.monotonic()
        self._run("preview")
        return time.monotonic() - began

    def up(self, *words: str) -> Update:
        """Install the hosts.

        Raises:
            RuntimeError: The engine failed; the message ends with its output.
        """
        lines, times, began = [], dict[str, float](), time.monotonic()
        with self._start("up", "--yes", "--skip-preview", *words) as command:
            watch = Watch(command.pid).start()
            assert command.stdout is not None  # noqa: S101  (a pipe was asked for)
            for line in command.stdout:
                lines.append(line)
                for mark in MARKS:
                    if mark in line:
                        times.setdefault(mark, time.monotonic())
            costs = watch.stop()
        whole_s = time.monotonic() - began
        if command.returncode:
            raise RuntimeError(f"pulumi up: {''.join(lines[-40:])}")
        first, creating, created = (times[mark] for mark in MARKS)
        return Update(created - first, created - creating, whole_s, costs)

    def end(self) -> None:
        """End what still draws the report of the run, into a folder that is removed next."""
        kill(self._env["SITE"])

    def state_bytes(self) -> int:
        """Return the size of the state file."""
        return next(self._folder.glob(f".pulumi/stacks/**/{STACK}.json")).stat().st_size

    def _write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def _run(self, *words: str) -> str:
        with self._start(*words) as command:
            printed, _ = command.communicate()
        if command.returncode:
            raise RuntimeError(f"pulumi {words[0]}: {printed}")
        return printed

    def _start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *words, "--non-interactive"],
            executable=shutil.which("pulumi", path=self._env["PATH"]),
            cwd=self._folder / "program",
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
