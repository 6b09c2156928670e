"""The commands of recover.md, on a real libvirtd in the states that pulumi-libvirt leaves behind."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testing.documents import DOCS
from testing.namespaces import SBIN, needs_root

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--pdeathsig", "KILL")
"""libvirtd of another user than root manages nothing but what that user has."""
NETWORK = '<network><name>baremetal</name><forward mode="bridge"/><bridge name="baremetal"/></network>'
POOL = "virsh pool-define-as okd dir --target {folder}/pool"
BASE = "okd-base-0123456789ab.qcow2"


class Session:
    """A libvirtd of its own user, with its own folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        homes = {name: str(folder) for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
        self.env = {**homes, "PATH": SBIN, "LIBVIRT_DEFAULT_URI": "qemu:///session", "LC_ALL": "C"}

    def __call__(self, commands: str, code: int = 0) -> str:
        """Run a line of shell, and return what it prints."""
        shell = [*NOBODY, "bash", "-c", commands.format(folder=self.folder)]
        done = subprocess.run(shell, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def running(self) -> Iterator["Session"]:
        log = self.folder / "libvirtd.log"
        with (
            log.open("w") as stderr,
            subprocess.Popen([*NOBODY, "libvirtd"], env=self.env, cwd=self.folder, stderr=stderr) as daemon,
        ):
            try:
                # virsh waits for the daemon itself once its socket is there.
                while not (self.folder / "libvirt/libvirt-sock").exists():
                    assert daemon.poll() is None, log.read_text()
                    time.sleep(0.05)
                yield self
            finally:
                daemon.terminate()


@pytest.fixture(scope="module")
def libvirt() -> Iterator[Session]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, 65534, 65534)
        with Session(Path(folder)).running() as session:
            yield session


def commands(symptom: str) -> str:
    """Return the virsh commands of the row of recover.md that begins with a symptom, for this test's names."""
    (row,) = [
        line for line in (DOCS / "how-to/recover.md").read_text().splitlines() if line.startswith(f"| {symptom}")
    ]
    line: str
    (line,) = re.findall(r"`(virsh [^`]*)`", row)
    names = {"<pool>": "okd", "<network>": "baremetal", "<cluster>-base-<digits>.qcow2": BASE}
    for name, value in names.items():
        line = line.replace(name, value)
    assert "<" not in line
    return line


@needs_root
@pytest.mark.parametrize("state", ["inactive", "active"])
def test_a_pool_that_the_state_lacks_is_removed(libvirt: Session, state: str) -> None:
    """D4, D5: a pool whose folder could not be made is inactive, and refuses to be stopped."""
    libvirt(POOL)
    if state == "active":
        libvirt("virsh pool-build okd; virsh pool-start okd; touch {folder}/pool/kept")
    libvirt(commands("`storage pool '…' already exists`"))
    assert "okd" not in libvirt("virsh pool-list --all")
    if state == "active":
        assert (libvirt.folder / "pool/kept").exists()
        libvirt("rm -r {folder}/pool")


@needs_root
@pytest.mark.parametrize("state", ["inactive", "active"])
def test_a_network_that_the_state_lacks_is_removed(libvirt: Session, state: str) -> None:
    """D3, D5."""
    (libvirt.folder / "network.xml").write_text(NETWORK)
    libvirt("virsh net-define network.xml" + ("; virsh net-start baremetal" if state == "active" else ""))
    libvirt(commands("`network '…' already exists`"))
    assert "baremetal" not in libvirt("virsh net-list --all")


@needs_root
def test_a_network_that_is_not_active_is_started(libvirt: Session) -> None:
    """D13."""
    (libvirt.folder / "network.xml").write_text(NETWORK)
    libvirt("virsh net-define network.xml")
    libvirt(commands("`network '…' is not active`"))
    assert re.search(r"baremetal +active", libvirt("virsh net-list"))
    libvirt("virsh net-destroy baremetal; virsh net-undefine baremetal")


@needs_root
def test_a_torn_volume_that_the_state_lacks_lets_the_pool_go(libvirt: Session) -> None:
    """N11: as the plugin, stop the pool, then remove its folder, then its definition."""
    remove = "virsh pool-destroy okd && virsh pool-delete okd && virsh pool-undefine okd"
    libvirt(f"{POOL}; virsh pool-build okd; virsh pool-start okd; virsh vol-create-as okd {BASE} 1M --format qcow2")
    assert "Directory not empty" in libvirt(remove, code=1)
    libvirt(commands("`failed to remove pool …: Directory not empty`"))
    libvirt(remove)
    assert not (libvirt.folder / "pool").exists()
