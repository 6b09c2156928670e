"""Network namespaces for tests: isolated from the machine, and gone when the test ends."""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import IPv6Address, IPv6Interface
from pathlib import Path
from typing import TypeVar

import pytest

from testing.skips import NO_ROOT

T = TypeVar("T")
CLONE_NEWNET = 0x40000000
CAPABILITY_VERSION, CAP_NET_RAW = 0x20080522, 13
SBIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# With --kill-child, processes that a script leaves behind end with it.
ISOLATED = ("--net", "--uts", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
# Processes of a killed test run die with the thread that started them.
MORTAL = ("setpriv", "--pdeathsig", "KILL")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason=NO_ROOT)


def in_own_network(work: Callable[[], T]) -> T:
    """Run `work` in a thread with a new network namespace of its own, loopback up; return its result."""

    def inside() -> T:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        ip("link set lo up")
        return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inside).result()


def give_up_raw_sockets() -> None:
    """Drop the capability for raw sockets in this thread and threads that it starts, but not in child programs."""
    libc, header = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    libc.capget(header, sets)
    sets[0] &= ~(1 << CAP_NET_RAW)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def ip(command: str) -> str:
    """Run iproute2's `ip` in this thread's network namespace, and return its output."""
    run = subprocess.run(["ip", *command.split()], check=True, capture_output=True, text=True, env={"PATH": SBIN})
    return run.stdout


def until_it_forwards(bridge: str, port: str) -> None:
    """Wait until a bridge forwards frames of a port, some moments after the port was connected."""
    until = time.monotonic() + 10
    while True:
        ((slave,), (master,)) = (json.loads(ip(f"-detail -json link show {name}")) for name in (port, bridge))
        if slave["linkinfo"]["info_slave_data"]["state"] == "forwarding" and master["operstate"] == "UP":
            return
        assert time.monotonic() < until, f"{port} of {bridge} never forwarded"
        time.sleep(0.01)


@contextmanager
def neighbour(bridge: str, port: str, mac: str, *addresses: str) -> Iterator[list[str]]:
    """Put another machine on `bridge`: a real kernel in a namespace of its own, whose eth0 has `addresses`.

    Yields the command prefix that runs a command on that machine.
    """
    command = [*MORTAL, "unshare", "--net", "sh", "-c", "echo there; exec sleep infinity"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": SBIN}) as machine:
        try:
            assert machine.stdout
            machine.stdout.readline()
            ip(f"link add {port} type veth peer name eth0 address {mac} netns {machine.pid}")
            ip(f"link set {port} master {bridge} up")
            inside = ["nsenter", f"--net=/proc/{machine.pid}/ns/net"]
            six = [address for address in addresses if ":" in address]
            for address in addresses:
                _run(inside, f"ip address add {address} dev eth0{' nodad' if address in six else ''}")
            _run(inside, "ip link set eth0 up")
            until_it_forwards(bridge, port)
            for address in six:
                _until_it_listens(inside, address)
            yield inside
        finally:
            machine.kill()


@contextmanager
def listening(inside: list[str], port: int) -> Iterator[None]:
    """Have a machine of `neighbour` accept TCP connections to a port of all its addresses."""
    listen = f"import socket; s = socket.create_server(('', {port}), family=socket.AF_INET6, dualstack_ipv6=True)"
    command = [*MORTAL, *inside, sys.executable, "-c", f"{listen}; print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout
            program.stdout.readline()
            yield
        finally:
            program.kill()


def _run(inside: list[str], command: str) -> str:
    return subprocess.check_output([*inside, *command.split()], text=True, env={"PATH": SBIN})


def _until_it_listens(inside: list[str], address: str) -> None:
    """Wait until the kernel has joined the solicited-node multicast group of a new IPv6 address."""
    group = str(IPv6Address(b"\xff\x02" + bytes(9) + b"\x01\xff" + IPv6Interface(address).packed[13:]))
    until = time.monotonic() + 10
    while group not in _run(inside, "ip maddress").split():
        assert time.monotonic() < until, f"{address} has no multicast group"
        time.sleep(0.01)


def run_on_a_machine(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a bash script as on a machine: with its own network, and with `etc` and `run` of `folder` as /etc and /run.

    /etc contains only what the host's tools need (alternatives), and the test's own files.
    """
    for name in ("etc/alternatives", "run"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    prepare = f"""set -euo pipefail
        mount --bind /etc/alternatives {folder}/etc/alternatives
        mount -o remount,bind,ro {folder}/etc/alternatives
        mount --rbind {folder}/etc /etc; mount --bind {folder}/run /run
        mkdir -p /run/okd-baremetal; ip link set lo up
        """
    command = ["unshare", *ISOLATED, "bash", "-c", prepare + script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20, env={"PATH": SBIN})
