"""The root file system that every guest shares, as a squashfs."""

import shutil
from pathlib import Path

from boot_media.tools import cache_dir
from lab.cache import content_hash, prune, scratch, words_of
from lab.images.containers import add_release
from lab.images.parts import GUEST, Parts
from lab.shell import run

CHRONYD = "chronyd"
"""The chronyd of guests and site. Its package, installed here, would replace this machine's time service."""
_SUITE = "bookworm"
_IPXE = Path("/usr/lib/ipxe")
_IPXE_FILES = ("undionly.kpxe", "snponly.efi")  # for BIOS and UEFI; the release's image `ironic` has both there
# No guest reads these paths. dpkg skips them, which also makes the tar smaller.
_EXCLUDED = (
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/info/*",
    "/usr/share/zoneinfo/*",
)


def debian_tar() -> Path:
    """Return a tar of the guest's Debian packages. Only this part needs a package mirror (25 s on two cores)."""
    packages = words_of(GUEST / "packages.txt")
    options = [f"--dpkgopt=path-exclude={path}" for path in _EXCLUDED]
    options += ['--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"']
    folder = cache_dir() / "lab"
    target = folder / f"debian-{content_hash(_SUITE, *packages, *options)}.tar"
    if not target.exists():
        with scratch(beside=target) as work:
            include = f"--include={','.join(packages)}"
            run("mmdebstrap", "--variant=minbase", "--mode=root", include, *options, _SUITE, work / "root.tar")
            (work / "root.tar").rename(target)
        prune(folder.glob("debian-*.tar"), keep=2)
    return target


def build_squashfs(parts: Parts, work: Path) -> Path:
    """Build `work`/root.squashfs of packages, guest's files, programs and release, and `work`/chronyd."""
    root, image = work / "root", work / "root.squashfs"
    root.mkdir()
    run("tar", "--extract", "--file", debian_tar(), "--directory", root)
    for pattern in words_of(GUEST / "pruned-paths.txt"):
        for path in root.glob(pattern):
            _remove(path)
    shutil.copy(root / "usr/sbin" / CHRONYD, work)
    _copy_tree(GUEST / "root", root)
    _add_programs(parts, root)
    (root / "tftpboot").mkdir()
    for name in _IPXE_FILES:
        shutil.copy(_IPXE / name, root / "tftpboot")
    add_release(root, work)
    _set_up_units(root)
    # lz4 decompresses fastest, which matters most under emulation.
    run("mksquashfs", root, image, "-comp", "lz4", "-Xhc", "-noappend", "-quiet", "-no-progress")
    shutil.rmtree(root)
    return image


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _copy_tree(source: Path, target: Path) -> None:
    """Copy files; make those that start with `#!` executable, whatever their mode in the checkout."""
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o755 if file.read_bytes().startswith(b"#!") else 0o644)


def _add_programs(parts: Parts, root: Path) -> None:
    """Add the programs built from source, and coreos-installer's units where its Makefile installs them."""
    for name, path in parts.programs.items():
        shutil.copy(path, root / "usr/bin" / name)
    crate, units = parts.installer_source, root / "usr/lib/systemd/system"
    for unit in (*crate.glob("systemd/*.service"), *crate.glob("systemd/*.target")):
        shutil.copy(unit, units)
    for script in crate.glob("scripts/*"):
        _copy_executable(script, root / "usr/libexec")
    _copy_executable(crate / "systemd/coreos-installer-generator", root / "usr/lib/systemd/system-generators")
    # One of its scripts appends to this file.
    (root / "etc/lvm").mkdir(exist_ok=True)
    (root / "etc/lvm/lvm.conf").touch()


def _copy_executable(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder)
    (folder / source.name).chmod(0o755)


def _set_up_units(root: Path) -> None:
    units, wanted = root / "usr/lib/systemd/system", root / "usr/lib/systemd/system/multi-user.target.wants"
    for name in words_of(GUEST / "masked-units.txt"):
        (root / "etc/systemd/system" / name).symlink_to("/dev/null")
    wanted.mkdir(exist_ok=True)
    for unit in units.glob("guest-*.service"):
        (wanted / unit.name).symlink_to(f"../{unit.name}")
    # Below /usr: coreos-installer's generator overrides it in /run, but a file in /etc would win over that.
    (units / "default.target").unlink(missing_ok=True)
    (units / "default.target").symlink_to("multi-user.target")
    run("chroot", root, "systemctl", "enable", "--quiet", *words_of(GUEST / "enabled-units.txt"))
    # The initrd has loaded all modules already, so modprobe may do nothing when Ignition or the kernel calls it.
    modprobe = root / "usr/sbin/modprobe"
    modprobe.unlink(missing_ok=True)
    modprobe.symlink_to("/bin/true")
    # A live CoreOS finds osmet objects below this folder.
    (root / "sysroot").mkdir(exist_ok=True)
