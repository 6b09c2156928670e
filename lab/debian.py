"""The root of a bare Debian 12, to run docs/how-to/prepare-a-provisioner.md on; `python -m lab.debian` builds it."""

from pathlib import Path

from boot_media.tools import cache_dir
from lab.cache import content_hash, folder_locked, prune, scratch
from lab.shell import run
from testing.documents import table

HOW_TO = "how-to/prepare-a-provisioner.md"
FIREWALLS = ("ufw", "docker.io")
"""Packages of the firewalls that the page names; they are off until a test switches them on."""

_SUITE = "bookworm"
# Its mounts and processes end with it, also where it is killed.
_PRIVATE = ("--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc")


def debian_root() -> Path:
    """Return the folder of a bare Debian 12 with the page's packages, built where it is missing (67 s of CPU).

    Raises:
        LabError: It cannot be built: mmdebstrap or the page's command failed.
    """
    (debian,) = (row for row in table(HOW_TO, "system") if row["system"] == "Debian 12")
    hooks = (
        # Whoever reads the page answers the question of apt-get.
        "echo 'APT::Get::Assume-Yes \"true\";' >$1/etc/apt/apt.conf.d/assume-yes",
        f'chroot "$1" {debian["packages"].strip("`")}',
        f'chroot "$1" apt-get install --no-install-recommends {" ".join(FIREWALLS)}',
        'chroot "$1" systemctl disable containerd docker.service docker.socket',
        # Its layers lie on an overlay here, over which it cannot lay another one.
        'echo \'{"storage-driver": "vfs"}\' >$1/etc/docker/daemon.json',
    )
    options = [
        "--variant=important",
        "--mode=root",
        "--dpkgopt=force-unsafe-io",
        '--aptopt=Acquire::Languages "none"',
    ]
    options += [f"--customize-hook={hook}" for hook in hooks]
    target = cache_dir() / "debian" / content_hash(_SUITE, *options)
    with folder_locked(target.parent):
        if not target.is_dir():
            with scratch(beside=target) as work:
                command = ["unshare", *_PRIVATE, "mmdebstrap", *options, _SUITE, str(work / "root")]
                run(*command, env={"DEBIAN_FRONTEND": "noninteractive"})
                (work / "root").rename(target)
            prune(target.parent.glob("[0-9a-f]*"), keep=1)
    return target


if __name__ == "__main__":
    print(debian_root())
