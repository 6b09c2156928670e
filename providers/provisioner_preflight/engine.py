"""Checks the provisioner: reports at once everything on which `up` would fail later, with a fix for each fault."""

import errno
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from base.errors import Fault, HypervisorError, word
from boot_media.architecture import another_architecture
from boot_media.base_image import ISO_URLS, NAMES
from boot_media.disk_image import QCOW2
from boot_media.tools import COREOS_INSTALLER_VERSION, SCRIPTS
from cluster.values.architecture import Architecture
from cluster.values.phase import Phase
from providers.preflight import Finding, NotProbed, PreflightResult, PreflightWarning
from providers.provisioner_preflight.findings import GIB, digest_faults, too_large, unreadable
from providers.provisioner_preflight.image import image_findings, image_path
from providers.provisioner_preflight.model import Bridge, ProvisionerPreflightSpec, ProvisionerProbe
from wires.libvirt.hypervisor import NO_ACCESS, HostFacts, Pool, Volume

HOW_TO = "docs/how-to/prepare-a-provisioner.md"
IGNITION_ROOM = 16 * 1024**2  # bytes; the Ignition config of a bootstrap VM has 0.3 to 1.4 MB
MANAGED_VOLUME = re.compile(r"-base-[0-9a-f]{12}\.qcow2$")  # as `BaseImage.volume` names it
OLDEST_LIBVIRT = (9, 0, 0)  # the oldest version that this program was tested with
# Measured with Debian 12, QEMU 7.2, systemd in 256 MiB on one of two cores, from power on to multi-user: n=5 and n=2,
# 2026.
EMULATION_COSTS = "a small system took 6 s to boot on two cores, 28 s beside five others; a real one was not tried"


def check_provisioner(
    spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, *, again: bool = False
) -> tuple[PreflightResult, HostFacts | None]:
    """Check everything that the phase needs, even after a finding; `again` leaves out the media port.

    Returns:
        The result, and libvirt's report of its host; None if the phase needs no libvirt, or libvirt did not answer.
    """
    facts, findings = None, list[Finding]()
    if spec.phase is Phase.BOOTSTRAP:
        volumes = frozenset({spec.base_volume, *_own_volumes(spec)})
        try:
            facts = probe.hypervisor(spec.libvirt_uri, spec.pool, volumes)
            findings += [*_host(spec, facts), *_storage(spec, probe, facts.pool)]
        except HypervisorError as error:
            findings += _no_libvirt(spec, error)
        findings += [*_image(spec, probe, facts), *_bridges(spec, probe)]
    findings += [
        *_coreos_installer(probe),
        *_base_isos(spec, probe),
        *(() if again else _media(spec, probe)),
        *spec.stack_payload.faults(probe),
    ]
    return PreflightResult(tuple(findings)), facts


def has_base_volume(spec: ProvisionerPreflightSpec, facts: HostFacts | None) -> bool:
    """Return whether the pool has the base volume, as far as libvirt reported it."""
    return bool(facts and facts.pool and spec.base_volume in facts.pool.volumes)


def dotted(version: tuple[int, int, int]) -> str:
    """Return a version as `9.0.0`."""
    return ".".join(map(str, version))


def _no_libvirt(spec: ProvisionerPreflightSpec, error: HypervisorError) -> Iterator[Finding]:
    fix = f"`virsh -c {word(spec.libvirt_uri)} version` shows why; else correct platform.baremetal.libvirtURI"
    if _is_local(spec) and error.fault.fix == NO_ACCESS:
        fix = NO_ACCESS
    elif _is_local(spec):
        fix = (
            "`systemctl restart libvirtd` (modular daemons: `systemctl restart virtqemud virtstoraged`), or correct "
            "platform.baremetal.libvirtURI"
        )
    yield Fault(error.fault.where, error.fault.what, fix)
    things = "KVM" if spec.manage else f"KVM, pool {spec.pool}, base volume {spec.base_volume}"
    yield NotProbed(f"{things}: only libvirt can report them")


def _host(spec: ProvisionerPreflightSpec, facts: HostFacts) -> Iterator[Finding]:
    if facts.version < OLDEST_LIBVIRT:
        version, oldest = dotted(facts.version), dotted(OLDEST_LIBVIRT)
        what = f"{version} is older than {oldest}, the oldest that this program was tested with"
        yield PreflightWarning(Fault("libvirt", what))
    if spec.emulated:
        there = "though this host has KVM" if facts.kvm else "without KVM"
        yield PreflightWarning(
            Fault("bootstrap.emulated", f"the VM runs in QEMU's emulation, {there}: {EMULATION_COSTS}")
        )
    elif not facts.kvm:
        yield Fault(
            "KVM",
            "libvirt offers none for x86-64 guests, but the bootstrap VM needs it",
            "`modprobe kvm_intel` or `modprobe kvm_amd` (virtualization must be on in the firmware), then restart "
            "libvirt; for a rehearsal `pulumi config set --path bootstrap.emulated true`",
        )


def _storage(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, pool: Pool | None) -> Iterator[Finding]:
    if pool is None and spec.manage:
        yield from _pool_to_come(spec, probe)
    elif pool is None:
        yield Fault(
            f"pool {spec.pool}",
            "missing",
            f"correct bootstrap.pool to one of `{_virsh(spec)} pool-list --all`, or make it there: `pool-define-as "
            f"{word(spec.pool)} dir --target /var/lib/libvirt/{word(spec.pool)}`, `pool-build {word(spec.pool)}` and "
            f"`pool-start {word(spec.pool)}`",
        )
    elif not pool.active:
        yield Fault(f"pool {spec.pool}", "not active", f"`{_virsh(spec)} pool-start {word(spec.pool)}`")
    else:
        own = sum(pool.volumes[name].allocation for name in _own_volumes(spec) if name in pool.volumes)
        base = pool.volumes.get(spec.base_volume)
        upload = _upload(spec, probe, base.allocation if base else 0)
        yield from _room(spec, pool.free + own, pool.path, upload)
        if not spec.manage:
            yield from _base_volume(spec, probe, pool)
        return
    if not spec.manage:
        yield NotProbed(f"base volume {spec.base_volume} and room: both are in pool {spec.pool}")


def _pool_to_come(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Iterator[Finding]:
    """Check the folder of a pool that the run creates: libvirt keeps the pool even if it cannot make the folder."""
    if not _is_local(spec):
        yield NotProbed(f"room for pool {spec.pool}: it will be {_on_host(spec).strip()}")
        return
    try:
        yield from _room(spec, probe.free(Path(spec.pool_path)), spec.pool_path, _upload(spec, probe, 0))
    except OSError as error:
        what = f"{error.filename} is in the way ({error.strerror})"
        yield Fault(f"provisioner.pool_path {spec.pool_path}", what, "name another folder, or move that aside")


def _room(spec: ProvisionerPreflightSpec, free: int, path: str, upload: int) -> Iterator[Finding]:
    """Check the room for all that the run puts into the pool, in bytes; `free` includes what the VM has there."""
    wanted = spec.disk_gib * GIB + IGNITION_ROOM + upload
    if free < wanted:
        parts = f"bootstrap.disk_gib is {spec.disk_gib}, and Ignition"
        parts += f", and {upload / GIB:.2f} GiB of base image" if upload else ""
        yield Fault(
            f"pool {spec.pool}",
            f"{free / GIB:.2f} GiB free, {wanted / GIB:.2f} GiB wanted: {parts}",
            f"free space on the file system of {path}{_on_host(spec)}, or lower bootstrap.disk_gib",
        )


def _upload(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, uploaded: int) -> int:
    """Return how many bytes of the base image the run uploads: 0 if it uploads none, or does not have it yet."""
    if not spec.manage:
        return 0
    try:
        return max(0, probe.disk_image(image_path(spec, probe)).size - uploaded)
    except OSError:
        return 0  # a finding of its own


def _base_volume(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, pool: Pool) -> Iterator[Finding]:
    where, volume = f"base volume {spec.base_volume} of pool {spec.pool}", pool.volumes.get(spec.base_volume)
    if volume is None:
        copy = f"`cp <qcow2> {word(f'{pool.path}/{spec.base_volume}')}`{_on_host(spec)}"
        fix = f"{copy} and `{_virsh(spec)} pool-refresh {word(spec.pool)}`, or correct bootstrap.base_volume"
        yield Fault(where, "missing", fix)
        return
    yield from _fits(spec, where, volume)
    if MANAGED_VOLUME.search(spec.base_volume):
        clone = f"`{_virsh(spec)} vol-clone --pool {word(spec.pool)} {word(spec.base_volume)} <name>`"
        what = "a stack with provisioner.manage has made it, and deletes it with its next image"
        yield PreflightWarning(Fault(where, what, f"{clone}, and set bootstrap.base_volume to that name"))
    if not _is_local(spec):
        yield NotProbed(f"{where}: its digest, and whether it can be read: it is {_on_host(spec).strip()}")
    elif spec.base_sha256:
        yield from digest_faults(probe, where, Path(volume.path), spec.base_sha256, "bootstrap.base_sha256")
    else:
        yield from _readable(probe, where, Path(volume.path))
        yield NotProbed(f"{where}: its digest: bootstrap.base_sha256 is not set")


def _fits(spec: ProvisionerPreflightSpec, where: str, volume: Volume) -> Iterator[Finding]:
    if volume.format != QCOW2:
        yield Fault(
            where,
            f"libvirt reports its format as {volume.format or 'unknown'}, wanted {QCOW2}",
            "unpack it (`unxz`, `gunzip`), or `qemu-img convert -O qcow2`; "
            f"`qemu-img info {word(volume.path)}` shows it",
        )
    elif volume.capacity > spec.disk_gib * GIB:
        yield too_large(where, volume.capacity, spec.disk_gib)


def _image(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, facts: HostFacts | None) -> Iterator[Finding]:
    """Check the image that the run uploads, or the volume that an earlier run made of it."""
    if not spec.manage:
        return
    volume = facts.pool.volumes.get(spec.base_volume) if facts and facts.pool else None
    if volume is None:
        yield from image_findings(spec, probe)
    elif volume.format == QCOW2 and volume.capacity > spec.disk_gib * GIB:
        yield too_large(f"base volume {spec.base_volume} of pool {spec.pool}", volume.capacity, spec.disk_gib)


def _bridges(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Iterator[Finding]:
    for key, name in spec.bridges.items():
        if _is_local(spec):
            yield from _bridge(f"bridge {name}", key, name, probe.bridge(name))
        else:
            yield NotProbed(f"bridge {name} (platform.baremetal.{key}): it is {_on_host(spec).strip()}")


def _bridge(where: str, key: str, name: str, bridge: Bridge | None) -> Iterator[Finding]:
    named = f"platform.baremetal.{key}"
    if bridge is None:
        make = f"`nmcli connection add type bridge con-name {word(name)} ifname {word(name)}`"
        yield Fault(where, "missing", f"{make}, and a port for it as in {HOW_TO}; or correct {named}")
    elif not bridge.is_bridge:
        fix = f"`ip -br link show type bridge`, then correct {named}"
        yield Fault(where, "an interface that is not a bridge", fix)
    elif not bridge.up:
        yield Fault(where, "down", f"`nmcli connection up {word(name)}`, or `ip link set {word(name)} up`")
    elif not bridge.linked:
        fix = f"make the card of the machine network its port, as in {HOW_TO}: the card's address moves to the bridge"
        yield PreflightWarning(Fault(where, "none of its ports has a link", fix))


def _coreos_installer(probe: ProvisionerProbe) -> Iterator[Finding]:
    tool, where = probe.coreos_installer(), "coreos-installer"
    build = f"`{word(SCRIPTS / where)}`"
    if tool is None:
        yield Fault(where, "neither on PATH nor built", f"{build}, or install its package")
    elif not tool.version:
        yield Fault(where, f"{tool.path} cannot be run", f"{build}, or reinstall its package")
    elif tool.version != COREOS_INSTALLER_VERSION:
        what = f"version {tool.version} at {tool.path}: this program was tested with {COREOS_INSTALLER_VERSION}"
        yield PreflightWarning(Fault(where, what))


def _base_isos(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Iterator[Finding]:
    for architecture, sha256, url in (
        (Architecture.AMD64, spec.base_iso_sha256, spec.base_iso_url),
        (Architecture.ARM64, spec.base_iso_arm64_sha256, spec.base_iso_arm64_url),
    ):
        if not sha256:
            continue
        path = probe.cached(sha256)
        if findings := [*_cached_iso(probe, sha256, ISO_URLS[architecture], url)]:
            yield from findings
        elif fault := another_architecture(path, probe.architecture(path), architecture):
            yield fault


def _cached_iso(probe: ProvisionerProbe, sha256: str, option: str, url: str) -> Iterator[Finding]:
    """Check a base ISO of the cache. A missing one is fetched from `url` when a server is installed."""
    where, path, (parent, _, _) = NAMES[option], probe.cached(sha256), option.rpartition(".")
    try:
        digest = probe.sha256(path)
    except FileNotFoundError:
        if url:
            yield NotProbed(f"{where}: not in the cache; {option} is fetched when a server is installed")
        else:
            fix = f"`cp <live ISO> {word(path)}`, or `pulumi config set --path {option} <its URL>`"
            yield Fault(where, f"{path} is missing", fix)
    except OSError as error:
        yield unreadable(where, path, error)
    else:
        if digest != sha256:
            what = f"sha256 is {digest}, {parent}.sha256 wants the one in its name"
            fix = f"`rm {word(path)}`, then put the right one there, or set {option}"
            yield Fault(f"{where} {path}", what, fix)


def _media(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Iterator[Finding]:
    address, port = spec.media_address, spec.media_port
    if not address:
        yield NotProbed("media.url: asked for each server's boot ISO when it is installed")
        return
    try:
        probe.listen(address, port)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            fix = "`pulumi config set --path media.address <address>`, one of `ip -br address` that the BMCs reach"
            yield Fault(f"media.address {address}", "on no interface of this host", fix)
            yield NotProbed(f"media.port {port}: media.address is not of this host")
        elif error.errno == errno.EADDRINUSE:
            fix = f"`ss -ltnp 'sport = :{port}'` shows by whom: set media.port to another one"
            yield Fault(f"media.port {port}", f"taken on {address}", fix)
        else:
            what = f"cannot be opened on {address} ({error.strerror})"
            yield Fault(f"media.port {port}", what, "run as root, or set media.port to one from 1024 on")


def _readable(probe: ProvisionerProbe, where: str, path: Path) -> Iterator[Finding]:
    try:
        probe.read(path)
    except OSError as error:
        yield unreadable(where, path, error)


def _is_local(spec: ProvisionerPreflightSpec) -> bool:
    return urlsplit(spec.libvirt_uri).hostname is None


def _on_host(spec: ProvisionerPreflightSpec) -> str:
    host = urlsplit(spec.libvirt_uri).hostname
    return f" on {host}" if host else ""


def _virsh(spec: ProvisionerPreflightSpec) -> str:
    return f"virsh -c {word(spec.libvirt_uri)}"


def _own_volumes(spec: ProvisionerPreflightSpec) -> tuple[str, str]:
    return f"{spec.vm}.qcow2", f"{spec.vm}.ign"
