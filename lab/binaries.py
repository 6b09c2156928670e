"""Programs built from source: Ignition, CoreDNS, etcd and Kubernetes for guests, coreos-installer, readers of tests.

`python -m lab.binaries NAME...` builds them and prints their paths.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from boot_media.tools import cache_dir
from lab.cache import content_hash, folder_locked, prune, scratch
from lab.shell import LabError, run
from testing.checkout import ROOT

GUEST_PROGRAMS = ("coredns", "etcd", "ignition")
"""Programs in the guest's /usr/bin besides those of Debian's packages and coreos-installer."""
KUBERNETES = "kubernetes"
"""The program that only guests of a payload with a real Kubernetes have."""

_INSTALLER_SCRIPT = ROOT / "tools" / "coreos-installer"
_IGNITION = "github.com/coreos/ignition/v2"


@dataclass(frozen=True)
class _GoProgram:
    """A program of a Go module in `lab/go`, pinned by that module's go.sum."""

    module: str
    package: str
    cgo: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    """Values of string variables, set at link time."""
    minutes: int = 1
    """Time of the first build on two cores."""

    @property
    def folder(self) -> Path:
        return ROOT / "lab" / "go" / self.module

    @property
    def ldflags(self) -> str:
        return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in self.variables.items())])

    @property
    def key(self) -> str:
        sources = sorted([*self.folder.glob("go.*"), *self.folder.glob("*.go")])
        return content_hash(self.package, self.ldflags, str(self.cgo), *sources)


_GO_PROGRAMS = {
    "actionlint": _GoProgram("actionlint", "github.com/rhysd/actionlint/cmd/actionlint"),
    "coredns": _GoProgram("coredns", "."),
    "etcd": _GoProgram("etcd", "."),
    # Upstream's own, for tests of snapshots: a server that wants client certificates, and what restores.
    "etcd-server": _GoProgram("etcdutl", "go.etcd.io/etcd/server/v3"),
    "etcdutl": _GoProgram("etcdutl", "go.etcd.io/etcd/etcdutl/v3"),
    "ignition": _GoProgram(
        "ignition",
        f"{_IGNITION}/internal",
        cgo=True,  # finds filesystems with libblkid
        variables={
            f"{_IGNITION}/internal/version.Raw": "v2.24.0",
            # The guest has no SELinux, and Debian's sshd reads one plain authorized_keys file.
            f"{_IGNITION}/internal/distro.selinuxRelabel": "false",
            f"{_IGNITION}/internal/distro.writeAuthorizedKeysFragment": "false",
        },
    ),
    "ignition-validate": _GoProgram("ignition", f"{_IGNITION}/validate"),
    KUBERNETES: _GoProgram(  # 500 s of CPU, 2.3 GB of memory; 125 MB (2026-11)
        KUBERNETES, ".", variables={"k8s.io/component-base/version.gitVersion": "v1.36.3"}, minutes=6
    ),
    # For tests of snapshots in a bucket: a server of S3 over a folder.
    "versitygw": _GoProgram("versitygw", "github.com/versity/versitygw/cmd/versitygw"),
}


def ensure_binary(name: str, report: Callable[[str], None] = lambda _: None) -> Path:
    """Return the path of coreos-installer or of one of `_GO_PROGRAMS`, built where it is missing.

    Raises:
        LabError: It cannot be built; the last lines of the build are in the message.
    """
    if name == "coreos-installer":
        return _coreos_installer()
    program = _GO_PROGRAMS[name]
    target = cache_dir() / "bin" / f"{name}-{program.key}"
    if not target.exists():
        with folder_locked(target.parent):
            if not target.exists():
                report(f"{name}: building lab/go/{program.module} (about {program.minutes} min on two cores)")
                _build(program, target)
                prune(target.parent.glob(f"{name}-{'[0-9a-f]' * len(program.key)}"), keep=2)
    _link(target, target.with_name(name))
    return target


def _link(target: Path, link: Path) -> None:
    """Link the current build under its plain name, which `okd-baremetal render --check` and the tests use."""
    if link.is_symlink() and link.readlink() == Path(target.name):
        return
    with scratch(beside=link) as work:
        (work / link.name).symlink_to(target.name)
        (work / link.name).replace(link)


def _build(program: _GoProgram, target: Path) -> None:
    with scratch(beside=target) as work:
        output = work / target.name
        options = ("-mod=readonly", "-trimpath", "-ldflags", program.ldflags, "-o", output)
        run("go", "build", *options, program.package, cwd=program.folder, env={"CGO_ENABLED": str(int(program.cgo))})
        output.rename(target)


def _coreos_installer() -> Path:
    """Run the toolchain's script, whose progress goes to this process's stderr."""
    done = subprocess.run([str(_INSTALLER_SCRIPT)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{_INSTALLER_SCRIPT} ended with status {done.returncode}; the lines above say why")
    return Path(done.stdout.strip())


def coreos_installer_source(installer: Path) -> Path:
    """Return the unpacked crate of `installer`, whose `systemd/` and `scripts/` belong into the live system."""
    version = run(installer, "--version").split()[-1]
    source = cache_dir() / "lab" / f"coreos-installer-{version}-source"
    if not source.is_dir():
        with folder_locked(source.parent), scratch(beside=source) as work:
            if not source.is_dir():
                _fetch_crate("coreos-installer", version, work).rename(source)
    return source


def _fetch_crate(name: str, version: str, work: Path) -> Path:
    """Unpack one crate below `work` with cargo, which takes it from its own cache where it was built before."""
    (work / "src").mkdir()
    (work / "src" / "main.rs").write_text("fn main() {}\n")
    package = '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
    (work / "Cargo.toml").write_text(f'{package}[dependencies]\n{name} = "={version}"\n')
    run("cargo", "vendor", "--quiet", "vendor", cwd=work)
    return work / "vendor" / name


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(ensure_binary(wanted, partial(print, file=sys.stderr, flush=True)))
