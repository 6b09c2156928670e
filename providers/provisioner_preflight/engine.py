"""Judgement of the provisioner: what `up` would stumble over later, told at once, each with what mends it."""

import errno
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from boot_media.iso import INSTALLER_VERSION
from payload.checks import PayloadError, check_payload, payload_folder
from payload.kubeconfig import check_kubeconfig
from providers.base.errors import HypervisorError
from providers.base.verdict import Caution, Finding, Note, Unseen, Verdict, dotted
from providers.provisioner_preflight.model import Bridge, Looks, Spec
from wires.libvirt.facts import HostFacts, Pool, Volume

HOW_TO = "docs/how-to/prepare-a-provisioner.md"
GIB = 1024**3
IGNITION_ROOM = 16 * 1024**2  # bytes; a bootstrap's config has 0.3 to 1.4 MB
OLDEST_LIBVIRT = (9, 0, 0)  # the oldest that this program was tried with
# Debian 12, QEMU 7.2, systemd in 256 MiB on one of two cores, from power on to multi-user: n=5 and n=2, 2026.
EMULATION_COSTS = "a small system took 6 s to boot on two cores, 28 s beside five others; a real one was not tried"


def judge(spec: Spec, looks: Looks) -> Verdict:
    """Look at everything that the phase needs, whatever is found on the way."""
    facts, notes = None, list[Note]()
    if spec.phase == "bootstrap":
        volumes = frozenset({spec.base_volume, *_own_volumes(spec)})
        try:
            facts = looks.hypervisor(spec.libvirt_uri, None if spec.manage else spec.pool, volumes)
            notes += [*_host(spec, facts), *_storage(spec, looks, facts.pool)]
        except HypervisorError as error:
            notes += _no_libvirt(spec, error)
        notes += [*_image(spec, looks), *_bridges(spec, looks)]
    notes += [*_installer(looks), *_base_iso(spec, looks), *_media(spec, looks), *_payload(spec, looks)]
    return Verdict(tuple(notes), facts)


def _no_libvirt(spec: Spec, error: HypervisorError) -> Iterator[Note]:
    mend = f"`virsh -c {shlex.quote(spec.libvirt_uri)} version` shows why; else mend platform.baremetal.libvirtURI"
    if _is_local(spec):
        mend = (
            "`systemctl restart libvirtd` (modular daemons: `systemctl restart virtqemud virtstoraged`), or mend "
            "platform.baremetal.libvirtURI"
        )
    yield Finding(f"{error.where}: {error.what}", mend)
    things = "KVM" if spec.manage else f"KVM, pool {spec.pool}, base volume {spec.base_volume}"
    yield Unseen(f"{things}: libvirt tells of them")


def _host(spec: Spec, facts: HostFacts) -> Iterator[Note]:
    if facts.version < OLDEST_LIBVIRT:
        seen, oldest = dotted(facts.version), dotted(OLDEST_LIBVIRT)
        yield Caution(f"libvirt {seen} is older than {oldest}, the oldest that this program was tried with")
    if spec.emulated:
        there = "though this host has KVM" if facts.kvm else "without KVM"
        yield Caution(f"bootstrap.emulated: the VM runs in QEMU's emulation, {there}: {EMULATION_COSTS}")
    elif not facts.kvm:
        yield Finding(
            "KVM: libvirt offers none for x86-64 guests, and the bootstrap VM wants it",
            "`modprobe kvm_intel` or `modprobe kvm_amd` (virtualization must be on in the firmware), then restart "
            "libvirt; for a rehearsal `pulumi config set --path bootstrap.emulated true`",
        )


def _storage(spec: Spec, looks: Looks, pool: Pool | None) -> Iterator[Note]:
    if spec.manage:
        yield Unseen(f"room in pool {spec.pool}: this run makes it (provisioner.manage)")
        return
    if pool is None:
        yield Finding(
            f"pool {spec.pool}: not there",
            f"`{_virsh(spec)} pool-define-as {spec.pool} dir --target /var/lib/libvirt/images` and "
            f"`{_virsh(spec)} pool-start {spec.pool}`, or mend bootstrap.pool",
        )
    elif not pool.active:
        yield Finding(f"pool {spec.pool}: not active", f"`{_virsh(spec)} pool-start {spec.pool}`")
    else:
        yield from _room(spec, pool)
        yield from _base_volume(spec, looks, pool)
        return
    yield Unseen(f"base volume {spec.base_volume} and room: they are in pool {spec.pool}")


def _room(spec: Spec, pool: Pool) -> Iterator[Note]:
    own = sum(pool.volumes[name].allocation for name in _own_volumes(spec) if name in pool.volumes)
    wanted = spec.disk_gib * GIB + IGNITION_ROOM
    if (free := pool.free + own) < wanted:
        yield Finding(
            f"pool {spec.pool}: {free / GIB:.2f} GiB free, {wanted / GIB:.2f} GiB wanted: bootstrap.disk_gib is "
            f"{spec.disk_gib}, and Ignition",
            f"free room where `df -h {pool.path}` shows it{_on_host(spec)}, or lower bootstrap.disk_gib",
        )


def _base_volume(spec: Spec, looks: Looks, pool: Pool) -> Iterator[Note]:
    what, volume = f"base volume {spec.base_volume} of pool {spec.pool}", pool.volumes.get(spec.base_volume)
    if volume is None:
        mend = f"`cp <qcow2> {shlex.quote(f'{pool.path}/{spec.base_volume}')}`{_on_host(spec)} and "
        yield Finding(
            f"{what}: not there", f"{mend}`{_virsh(spec)} pool-refresh {spec.pool}`, or mend bootstrap.base_volume"
        )
        return
    yield from _fits(spec, what, volume)
    if not _is_local(spec):
        yield Unseen(f"{what}: its digest, and whether it can be read: it lies {_on_host(spec).strip()}")
    elif spec.base_sha256:
        yield from _digest(looks, what, Path(volume.path), spec.base_sha256, "bootstrap.base_sha256")
    else:
        yield from _readable(looks, what, Path(volume.path))
        yield Unseen(f"{what}: its digest: bootstrap.base_sha256 is not set")


def _fits(spec: Spec, what: str, volume: Volume) -> Iterator[Note]:
    if volume.format != "qcow2":
        yield Finding(
            f"{what}: libvirt takes it for {volume.format or 'nothing it knows'}, a qcow2 is wanted",
            f"unpack it (`unxz`, `gunzip`), or `qemu-img convert -O qcow2`; `qemu-img info {volume.path}` shows it",
        )
    elif volume.capacity > spec.disk_gib * GIB:
        least = -(-volume.capacity // GIB)
        yield Finding(
            f"{what}: its virtual size is {volume.capacity / GIB:.2f} GiB, bootstrap.disk_gib only {spec.disk_gib}",
            f"`pulumi config set --path bootstrap.disk_gib {least}`",
        )


def _image(spec: Spec, looks: Looks) -> Iterator[Note]:
    if not spec.manage:
        return
    if spec.image_source.startswith("/"):
        what, path = f"provisioner.base_image.source {spec.image_source}", Path(spec.image_source)
        yield from _digest(looks, what, path, spec.image_sha256, "provisioner.base_image.sha256")
    else:
        yield Unseen("provisioner.base_image: source is a URL, fetched later in this run")


def _bridges(spec: Spec, looks: Looks) -> Iterator[Note]:
    for key, name in spec.bridges.items():
        if _is_local(spec):
            yield from _bridge(f"bridge {name}", key, name, looks.bridge(name))
        else:
            yield Unseen(f"bridge {name} (platform.baremetal.{key}): it is {_on_host(spec).strip()}")


def _bridge(what: str, key: str, name: str, seen: Bridge | None) -> Iterator[Note]:
    named = f"platform.baremetal.{key}"
    if seen is None:
        mend = f"`nmcli connection add type bridge con-name {name} ifname {name}`, and a port for it as in {HOW_TO}"
        yield Finding(f"{what}: not there", f"{mend}; or mend {named}")
    elif not seen.is_bridge:
        yield Finding(
            f"{what}: no bridge, but another interface", f"`ip -br link show type bridge`, then mend {named}"
        )
    elif not seen.up:
        yield Finding(f"{what}: down", f"`nmcli connection up {name}`, or `ip link set {name} up`")
    elif not seen.linked:
        yield Caution(f"{what}: none of its ports has a link; `ip link set <interface> master {name}` gives it one")


def _installer(looks: Looks) -> Iterator[Note]:
    found = looks.installer()
    if found is None:
        yield Finding(
            "coreos-installer: neither on PATH nor built", "`tools/coreos-installer`, or install its package"
        )
    elif not found.version:
        yield Finding(
            f"coreos-installer: {found.path} cannot be run", "`tools/coreos-installer`, or mend its package"
        )
    elif found.version != INSTALLER_VERSION:
        yield Caution(
            f"coreos-installer {found.version} at {found.path}: this program was tried with {INSTALLER_VERSION}"
        )


def _base_iso(spec: Spec, looks: Looks) -> Iterator[Note]:
    path = looks.base_iso(spec.base_iso_sha256)
    try:
        seen = looks.sha256(path)
    except FileNotFoundError:
        if spec.base_iso_url:
            yield Unseen("base ISO: not in the cache; media.base_iso.url is fetched when a server is installed")
        else:
            mend = f"`cp <live ISO> {path}`, or `pulumi config set --path media.base_iso.url <its URL>`"
            yield Finding(f"base ISO: {path} is not there", mend)
    except OSError as error:
        yield _unreadable("base ISO", path, error)
    else:
        if seen != spec.base_iso_sha256:
            what = f"base ISO {path}: sha256 is {seen}, media.base_iso.sha256 wants the one in its name"
            yield Finding(what, f"`rm {path}`, then put the right one there, or set media.base_iso.url")


def _media(spec: Spec, looks: Looks) -> Iterator[Note]:
    address, port = spec.media_address, spec.media_port
    if not address:
        yield Unseen("media.url: asked for each server's boot ISO when it is installed")
        return
    try:
        looks.listen(address, port)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            mend = "`pulumi config set --path media.address <address>`, one of `ip -br address` that the BMCs reach"
            yield Finding(f"media.address {address}: on no interface of this host", mend)
            yield Unseen(f"media.port {port}: media.address is not of this host")
        elif error.errno == errno.EADDRINUSE:
            mend = f"`ss -ltnp 'sport = :{port}'` shows by whom: end it, or set media.port to another one"
            yield Finding(f"media.port {port}: taken on {address}", mend)
        else:
            mend = "run as root, or set media.port to one from 1024 on"
            yield Finding(f"media.port {port}: cannot be had on {address} ({error.strerror})", mend)


def _payload(spec: Spec, looks: Looks) -> Iterator[Note]:
    contents = dict[str, bytes]()
    wrong = list[PayloadError]()
    # In production bootstrap.ign is of no use: it may be gone, and its certificates last for a day.
    for name in ("bootstrap", "master", "worker") if spec.phase == "bootstrap" else ("master", "worker"):
        try:
            contents[name] = looks.payload(spec.stack, name, spec.payload[name])
        except PayloadError as error:
            wrong.append(error)
    wrong += check_payload(payload_folder(spec.stack), contents, spec.domain, looks.now())
    wrong += _kubeconfig(spec, looks, None if wrong else contents.get("bootstrap"))
    for each in wrong:
        yield Finding(each.what, each.mend)


def _kubeconfig(spec: Spec, looks: Looks, bootstrap: bytes | None) -> Iterator[PayloadError]:
    try:
        check_kubeconfig(spec.stack, bootstrap, spec.domain, looks.kubeconfig(spec.stack))
    except PayloadError as error:
        yield error


def _digest(looks: Looks, what: str, path: Path, wanted: str, option: str) -> Iterator[Note]:
    try:
        seen = looks.sha256(path)
    except OSError as error:
        yield _unreadable(what, path, error)
        return
    if seen != wanted:
        mend = f"put the right one there, or `pulumi config set --path {option} {seen}`"
        yield Finding(f"{what}: sha256 is {seen}, {option} wants {wanted}", mend)


def _readable(looks: Looks, what: str, path: Path) -> Iterator[Note]:
    try:
        looks.read(path)
    except OSError as error:
        yield _unreadable(what, path, error)


def _unreadable(what: str, path: Path, error: OSError) -> Finding:
    return Finding(
        f"{what}: cannot be read ({error.strerror})", f"`ls -l {path}`, `chmod a+r {path}`, or run as root"
    )


def _is_local(spec: Spec) -> bool:
    return urlsplit(spec.libvirt_uri).hostname is None


def _on_host(spec: Spec) -> str:
    host = urlsplit(spec.libvirt_uri).hostname
    return f" on {host}" if host else ""


def _virsh(spec: Spec) -> str:
    return f"virsh -c {shlex.quote(spec.libvirt_uri)}"


def _own_volumes(spec: Spec) -> tuple[str, str]:
    return f"{spec.vm}.qcow2", f"{spec.vm}.ign"
