"""The folders that the lab has for itself."""

import subprocess
from pathlib import Path

from lab.paths import FILES

# The machine's folders are covered first: the script makes missing ones.
COVERED = 'for folder in /etc /var; do mount -t tmpfs covered "$folder"; done; touch /etc/passwd /etc/group; "$@"'
LIKE_LIBVIRTD = "ls -A /run && touch /run/lock/LCK..channel && echo here > /run/libvirt/libvirt-sock"


def test_a_machines_libvirtd_keeps_its_pid_file(tmp_path: Path) -> None:
    """Issue 40, 5: libvirtd locks /run/libvirtd.pid, and the machine's own one may have it.

    It also locks the channel of a VM, in /run/lock, when the handoff opens it.
    """
    for name in ("etc", "lib", "run", "log", "cache"):
        (tmp_path / name).mkdir()
    for name in ("passwd", "group"):
        (tmp_path / name).touch()
    private = (FILES / "private-mounts.sh", tmp_path, tmp_path / "cache", "sh", "-c", LIKE_LIBVIRTD)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", COVERED, "sh", *map(str, private)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} <= {"libvirt", "lock", "mount"}, "nothing of the machine's own /run"
    assert (tmp_path / "run" / "libvirt-sock").read_text() == "here\n", "which the lab's clients reach"


def test_a_twin_neither_reads_nor_leaves_marks_of_this_machines_servers(tmp_path: Path) -> None:
    """A twin has the addresses of its stack's servers: by their marks, its bootstrap VM would be refused."""
    own, machines = tmp_path / "operator" / "marks", tmp_path / "cache" / "installed"
    machines.mkdir(parents=True)
    (machines / "of-metal.json").touch()
    inside = (FILES / "bound.sh", own, machines, "sh", "-c", f"ls {machines}; touch {machines}/of-the-twin.json")
    done = subprocess.run(["unshare", "--mount", *map(str, inside)], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert [[each.name for each in folder.iterdir()] for folder in (own, machines)] == [
        ["of-the-twin.json"],
        ["of-metal.json"],
    ]
