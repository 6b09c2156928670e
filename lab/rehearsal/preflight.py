"""Cause each fault of a provisioner in the lab, and prove that the real preflight refuses it.

This module runs as a program inside the site to cause them. Its argument is the project; it reads the preflight's
spec from standard input and writes the outcomes to standard output, both as JSON.
"""

import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab import site
from lab.paths import BASE_VOLUME, POOL
from lab.rehearsal.report import RehearsalError, Report, say
from lab.shell import run
from lab.site import libvirtd
from payload.kubeconfig import kubeconfig_path
from payload.reading import payload_folder
from providers.provisioner_preflight.engine import check_provisioner
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from testing.checkout import ROOT

SILENCE_S = 1.0  # in place of the program's own, longer timeout for a silent libvirtd
GOAL_MS = 2000
FIX = ". Fix: "
CauseFault = Callable[[ProvisionerPreflightSpec], AbstractContextManager[Mapping[str, Any]]]
"""Causes a fault and undoes it; yields its changes to the spec."""


@contextmanager
def _pool_gone(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    with libvirtd.connection() as connection:
        pool = connection.storagePoolLookupByName(spec.pool)
        definition = pool.XMLDesc()
        pool.destroy()
        pool.undefine()
        try:
            yield {}
        finally:
            pool = connection.storagePoolDefineXML(definition)
            pool.setAutostart(1)
            pool.create()


@contextmanager
def _pool_stopped(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    with libvirtd.connection() as connection:
        pool = connection.storagePoolLookupByName(spec.pool)
        pool.destroy()
        try:
            yield {}
        finally:
            pool.create()


@contextmanager
def _volume_changed(_: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    path, before = POOL / BASE_VOLUME, (POOL / BASE_VOLUME).stat()
    with path.open("ab") as volume:
        volume.write(b"\0")
    try:
        yield {}
    finally:
        os.truncate(path, before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextmanager
def _bridge_down(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    (bridge,) = spec.bridges.values()
    run("ip", "link", "set", bridge, "down")
    try:
        yield {}
    finally:
        run("ip", "link", "set", bridge, "up")


@contextmanager
def _port_taken(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    with socket.create_server(("", spec.media_port)):
        yield {}


@contextmanager
def _libvirtd_stopped(_: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    """Name a socket on which no process listens, as a stopped daemon leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "libvirt-sock")
        with socket.socket(socket.AF_UNIX) as unused:
            unused.bind(str(path))
        yield {"libvirt_uri": f"qemu+unix:///system?socket={path}"}


@contextmanager
def _libvirtd_silent(_: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    if (pid := libvirtd.daemon.pid) is None:
        raise RehearsalError("libvirtd does not run")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield {}
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def _payload_gone(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    path = payload_folder(spec.stack) / "worker.ign"
    moved = path.rename(path.with_suffix(".away"))
    try:
        yield {}
    finally:
        moved.rename(path)


@contextmanager
def _kubeconfig_away(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    """Move the kubeconfig's folder away; only the payload with a real Kubernetes has one."""
    folder = kubeconfig_path(spec.stack).parent
    moved = folder.rename(folder.with_name("away")) if folder.exists() else None
    try:
        yield {}
    finally:
        if moved:
            moved.rename(folder)


@contextmanager
def _kubeconfig_torn(spec: ProvisionerPreflightSpec) -> Iterator[Mapping[str, Any]]:
    path = kubeconfig_path(spec.stack)
    with _kubeconfig_away(spec):
        path.parent.mkdir()
        path.write_text("clusters:\n")
        try:
            yield {}
        finally:
            path.unlink()
            path.parent.rmdir()


def _require(**changes: Any) -> CauseFault:
    """Change the spec to require something that this host does not have."""
    return lambda _: nullcontext(changes)


@dataclass(frozen=True)
class Case:
    """Faults that are present at the same time."""

    name: str
    faults: tuple[str, ...]
    """Words that the line of each fault must contain, in order."""
    causes: tuple[CauseFault, ...] = ()
    libvirt_timeout_s: float = LocalProbe.libvirt_s


@dataclass
class Outcome:
    """The preflight's result on one case."""

    name: str
    wanted: tuple[str, ...]
    faults: list[str]
    lines: list[str] = field(default_factory=list)
    ms: float = 0


_VOLUME = f"base volume {BASE_VOLUME} of pool default: sha256 is"
_BRIDGE, _ADDRESS, _ISO = "nometal", "192.0.2.1", "f" * 64
_REFUSED, _NO_BRIDGE = "libvirt is not reachable: Failed to connect socket", f"bridge {_BRIDGE}: missing"
_NO_ISO, _FOREIGN, _TAKEN = f"{_ISO} is missing", f"{_ADDRESS}: on no interface", "media.port 8080: taken on "
_ALL_OF_ANOTHER = tuple(f"{name}.ign: of another cluster" for name in ("bootstrap", "master", "worker"))
_no_room = _require(disk_gib=1_000_000)
_no_bridge = _require(bridges={"externalBridge": _BRIDGE})
_no_address = _require(media_address=_ADDRESS)
_no_iso = _require(base_iso_sha256=_ISO)
ONE_BY_ONE = (
    Case("pool missing", ("pool default: missing",), (_pool_gone,)),
    Case("pool not active", ("pool default: not active",), (_pool_stopped,)),
    Case("no room in the pool", ("1000000.02 GiB wanted",), (_no_room,)),
    Case("base volume's digest wrong", (_VOLUME,), (_volume_changed,)),
    Case("bridge missing", (_NO_BRIDGE,), (_no_bridge,)),
    Case("bridge down", ("bridge baremetal: down",), (_bridge_down,)),
    Case("base ISO missing", (_NO_ISO,), (_no_iso,)),
    Case("media port taken", (_TAKEN,), (_port_taken,)),
    Case("media address of another machine", (_FOREIGN,), (_no_address,)),
    Case("payload incomplete", ("worker.ign: cannot be read",), (_payload_gone,)),
    Case("payload of another cluster", _ALL_OF_ANOTHER, (_kubeconfig_away, _require(domain="another.lab.test"))),
    Case(
        "kubeconfig torn",
        ("auth/kubeconfig: not one cluster with one user's",),
        (_kubeconfig_torn,),
    ),
    Case("libvirtd stopped", (_REFUSED,), (_libvirtd_stopped,)),
    Case("libvirtd silent", ("no answer within 1 s",), (_libvirtd_silent,), SILENCE_S),
)
AT_ONCE = (
    Case(
        "all at once",
        ("1000000.02 GiB wanted", _VOLUME, "bridge baremetal: down", _NO_ISO, _TAKEN),
        (_no_room, _volume_changed, _bridge_down, _no_iso, _port_taken),
    ),
    Case(
        "all at once, libvirtd stopped",
        (_REFUSED, _NO_BRIDGE, _NO_ISO, _FOREIGN),
        (_libvirtd_stopped, _no_bridge, _no_iso, _no_address),
    ),
)
FIRST, AGAIN = Case("first pass", ()), Case("pass again", ())


def refuse_each_fault(wanted: ProvisionerPreflightSpec, project: Path, report: Report) -> None:
    """Cause and undo each fault, and measure a pass without faults; the payload is in `project`.

    Raises:
        RehearsalError: The preflight missed a fault, or reported it in other words.
    """
    command, env = site.exec_command([sys.executable, "-m", "lab.rehearsal.preflight", str(project)])
    inputs = wanted.model_dump(mode="json") | {"payload_values": wanted.payload_values.get_secret_value()}
    answer = run(*command, cwd=ROOT, stdin=json.dumps(inputs), env=env)
    for outcome in (Outcome(**fields) for fields in json.loads(answer)):
        for line in outcome.lines:
            say(f"      {line}")
        if outcome.wanted:
            _prove_refusal(outcome, report)
        else:
            seen = "; ".join(outcome.faults) or "none"
            report.prove(f"preflight, {outcome.name}: faults", wanted="none", seen=seen)
            report.measure(f"preflight, {outcome.name}, ms", goal=f"under {GOAL_MS}", seen=f"{outcome.ms:.0f}")


def _prove_refusal(outcome: Outcome, report: Report) -> None:
    """Prove that each fault has one line, with the wanted words and a fix."""
    wanted, seen = outcome.wanted, outcome.faults
    in_wanted_words = len(seen) == len(wanted) and all(map(str.__contains__, seen, wanted))
    report.prove(
        f"preflight refuses: {outcome.name}",
        wanted=wanted[0] if len(wanted) == 1 else f"{len(wanted)} faults",
        seen=seen[0].partition(FIX)[0] if len(seen) == 1 else f"{len(seen)} faults",
        holds=in_wanted_words and all(FIX in line for line in seen),
    )


def _outcome(spec: ProvisionerPreflightSpec, case: Case) -> Outcome:
    with ExitStack() as faults:
        for cause in case.causes:
            spec = spec.changed(**faults.enter_context(cause(spec)))
        began = time.monotonic()
        result, _ = check_provisioner(spec, LocalProbe(lambda _: None, libvirt_s=case.libvirt_timeout_s))
        ms = (time.monotonic() - began) * 1000
    return Outcome(case.name, case.faults, [str(fault) for fault in result.faults], result.lines(), ms)


def main() -> None:
    """Run every case in turn, on this host."""
    os.chdir(sys.argv[1])
    spec = ProvisionerPreflightSpec.model_validate_json(sys.stdin.read())
    outcomes = [_outcome(spec, case) for case in (FIRST, *ONE_BY_ONE, *AT_ONCE, AGAIN)]
    json.dump([asdict(outcome) for outcome in outcomes], sys.stdout)


if __name__ == "__main__":
    main()
