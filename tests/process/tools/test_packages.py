"""`tools/packages` with stand-ins for the tools of RHEL and Fedora, and with none."""

import shutil
import subprocess
from pathlib import Path

import pytest

from testing.checkout import ROOT

TOOLS = ("awk", "bash", "comm", "cut", "dirname", "mktemp", "paste", "rm", "sed", "sleep", "sort", "tail")
RPM = """#!/usr/bin/env bash
[[ $* == "--query --whatprovides curl" ]] && echo curl-minimal
"""
DNF = """#!/usr/bin/env bash
echo "$@" >>"${0%/*}/asked"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder that is all of PATH, with a list of packages that only Debian has."""
    for name in TOOLS:
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    (tmp_path / "list").write_text("isc-dhcp-client  # Debian's alone\n")
    return tmp_path


def packages(machine: Path) -> subprocess.CompletedProcess[str]:
    command = [str(machine / "bash"), str(ROOT / "tools" / "packages"), str(machine / "list")]
    env = {"PATH": str(machine), "HOME": str(machine)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def add(machine: Path, name: str, script: str) -> None:
    (machine / name).write_text(script.replace("/usr/bin/env bash", str(machine / "bash")))
    (machine / name).chmod(0o755)


def test_dnf_installs_what_rpm_does_not_have(machine: Path) -> None:
    add(machine, "rpm", RPM)
    add(machine, "dnf", DNF)
    done = packages(machine)
    assert done.returncode == 0, done.stderr
    names = (
        "gcc git haproxy keepalived libvirt-devel libvirt-libs libzstd-devel nftables openssl-devel "
        "pkgconf-pkg-config python3 python3-devel"
    )
    asked = f"--quiet --assumeyes --setopt=install_weak_deps=False install {names}\n"
    assert (machine / "asked").read_text() == asked


def test_a_failure_of_dnf_is_shown(machine: Path) -> None:
    add(machine, "rpm", RPM)
    add(machine, "dnf", "#!/usr/bin/env bash\necho no match for libvirt-devel; exit 1\n")
    done = packages(machine)
    assert done.returncode == 1
    assert "no match for libvirt-devel\n" in done.stderr
    assert done.stderr.endswith("packages: dnf failed, see above\n")


def test_elsewhere_the_names_are_printed(machine: Path) -> None:
    done = packages(machine)
    assert done.returncode == 1
    assert done.stderr.startswith("packages: neither apt-get nor dnf is here: install these yourself: curl gcc git ")
