"""A machine of its own for the tests of one process: network, host name, mounts, top level of the shared folders.

Nothing that the tests do there reaches the real machine, and nothing that others do on the real machine shows there.
So whatever has changed there at the end, one of the tests has left.
"""

import ctypes
import os
import select
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from testing.namespaces import CLONE_NEWNET, SBIN

_CLONE_NEWNS, _CLONE_NEWUTS = 0x00020000, 0x04000000
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/netns", "/var/lib", "/etc/netns")  # noqa: S108
"""The folders in which programs leave things."""
_HIDDEN = (Path("/run/libvirt"), Path("/var/lib/okd-lab"))
"""What leads to the real machine's virtual machines: libvirt's sockets, and the lab. The own machine has neither."""
_LINK, _ADDRESS, _ROUTE, _RULE = 1 << 0, 1 << 4 | 1 << 8, 1 << 6 | 1 << 10, 1 << 7 | 1 << 18
_NETFILTER, _NFTABLES = 12, 1 << 6
_NEWS = ((socket.NETLINK_ROUTE, _LINK | _ADDRESS | _ROUTE | _RULE), (_NETFILTER, _NFTABLES))
"""Families of netlink and their groups that tell of changes (linux/rtnetlink.h, linux/netfilter/nfnetlink.h)."""
_LISTED = (
    ("link", "ip -brief link"),
    ("address", "ip -brief address"),
    ("route", "ip route show table all"),
    ("route", "ip -6 route show table all"),
    ("rule", "ip rule"),
    ("nft", "nft list ruleset"),  # with the rules of iptables
)
_libc = ctypes.CDLL(None, use_errno=True)


def enter_own_machine() -> "OwnMachine | None":
    """Move this thread to a machine of its own, and all threads and programs that it starts from now on.

    Return None if this process may not: it is not root, or a container forbids it.
    """
    return None if _libc.unshare(_CLONE_NEWNS | _CLONE_NEWUTS | CLONE_NEWNET) else OwnMachine()


class OwnMachine:
    """The machine in new namespaces of network, host name and mounts."""

    def __init__(self) -> None:
        """Set it up, so that what programs leave on it shows."""
        _mount("none", "/", _RECURSIVE | _PRIVATE)
        _mount("sysfs", "/sys", 0, "sysfs")  # it shows the devices of the network in which it is mounted
        self._base = Path(tempfile.mkdtemp(prefix="okd-baremetal-tests-"))
        self._fresh: dict[Path, Path] = {}
        with _same_working_directory():
            for folder in dict.fromkeys(map(Path, (*_FOLDERS, tempfile.gettempdir()))):
                if folder == Path("/run/netns"):  # the first `ip netns add` makes it, and no command removes it
                    folder.mkdir(exist_ok=True)
                if folder.is_dir() and not folder.is_symlink():
                    self._own(folder)
            Path("/run/mount").mkdir(exist_ok=True)  # the first mount(8) makes it, and no command removes it
        self._known = {folder: {*os.listdir(folder)} for folder in self._fresh}
        self._mount_file, self._mounts_changed = os.open("/proc/thread-self/mounts", os.O_RDONLY), select.poll()
        self._mounts_changed.register(self._mount_file, select.POLLPRI)
        self._mounts = _own_file("mounts")
        _printed("ip link set lo up")
        _printed("ip link add eth0 type bridge")  # a card that can do multicast, for keepalived's check of its config
        self._sockets, self._news, self._changes = [_subscribed(*news) for news in _NEWS], select.poll(), 0
        for news in self._sockets:
            self._news.register(news, select.POLLIN)

    def end(self) -> None:
        """Return to the real folders; safe to repeat. Network, host name and mounts end with the process."""
        if not self._base.exists():
            return
        os.close(self._mount_file)
        for news in self._sockets:
            news.close()
        with _same_working_directory():
            for folder in reversed(self._fresh):
                _check(_libc.umount2(str(folder).encode(), _DETACH), folder)
        shutil.rmtree(self._base)  # without its mounts, it has only what the tests left

    def fingerprint(self) -> object:
        """Return what changes with the state. It is cheap enough for each test.

        The kernel tells whether mounts (proc_pid_mounts(5)) or the network have changed: to read both takes a
        millisecond, and counters of traffic, which /proc has beside the network's state, are no change.
        """
        if self._mounts_changed.poll(0):
            self._mounts = _own_file("mounts")
        while ready := self._news.poll(0):
            self._changes += 1
            for news, _ in ready:
                with suppress(OSError):  # the kernel had to drop some
                    os.read(news, 1 << 16)
        return os.uname().nodename, self._mounts, self._changes, *self._new_files()

    def state(self) -> set[str]:
        """Return a line for each thing on it."""
        return {" ".join(line.split()) for line in self._state()}

    def _state(self) -> Iterator[str]:
        yield f"host name {os.uname().nodename}"
        yield from (f"file {path}" for path in self._new_files())
        for line in _own_file("mounts").splitlines():
            source, target, kind, *_ = line.split()
            yield f"mount {target} of {kind} {source}"
        for kind, command in _LISTED:
            yield from (f"{kind} {line}" for line in _printed(command).splitlines())

    def _new_files(self) -> list[Path]:
        return [
            folder / name for folder, known in self._known.items() for name in os.listdir(folder) if name not in known
        ]

    def _own(self, folder: Path) -> None:
        """Give a folder a top level of its own: what it has stays in it, and what is new goes to a fresh folder."""
        fresh = self._fresh[folder] = self._base / str(len(self._fresh))
        fresh.mkdir()
        fresh.chmod(stat.S_IMODE(folder.stat().st_mode))
        below = os.open(folder, os.O_PATH | os.O_DIRECTORY)  # the folder itself, below the new mount
        try:
            _mount(fresh, folder, _BIND)
            for name in os.listdir(f"/proc/self/fd/{below}"):
                with suppress(FileNotFoundError):  # somebody removed it meanwhile
                    _keep(Path(f"/proc/self/fd/{below}", name), folder / name)
        finally:
            os.close(below)


def _keep(entry: Path, target: Path) -> None:
    """Show an entry of a real folder in the folder's own top level."""
    if target in _HIDDEN:
        return
    if entry.is_symlink():
        target.symlink_to(entry.readlink())
    else:
        target.mkdir() if entry.is_dir() else target.touch()
        _mount(entry, target, _BIND | _RECURSIVE)


@contextmanager
def _same_working_directory() -> Iterator[None]:
    """Find the working directory by its path again, on the mounts that are there then."""
    here = Path.cwd()
    try:
        yield
    finally:
        os.chdir(here)


def _mount(source: str | Path, target: str | Path, flags: int, kind: str = "none") -> None:
    _check(_libc.mount(str(source).encode(), str(target).encode(), kind.encode(), flags, None), target)


def _check(result: int, what: str | Path) -> None:
    """Raise the error of a call of the C library, if it failed."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(what))


def _subscribed(family: int, groups: int) -> socket.socket:
    """Return a socket that the kernel tells of each change of this thread's network."""
    news = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family)
    news.bind((0, groups))
    return news


def _own_file(name: str) -> str:
    """Return a file of /proc about this thread, whose namespaces may not be the process's; empty if it is missing."""
    try:
        return Path("/proc/thread-self", name).read_text()
    except OSError:
        return ""


def _printed(command: str) -> str:
    """Return what a program prints; nothing if it is missing."""
    try:
        return subprocess.run(command.split(), capture_output=True, text=True, check=False, env={"PATH": SBIN}).stdout
    except FileNotFoundError:
        return ""
