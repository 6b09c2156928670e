"""Rules for the platform, its pools of machines, and the fencing of a control plane of two hosts."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from base.errors import Fault
from cluster.install_config.platform import Platform
from cluster.install_config.rules.access import parse_url
from cluster.install_config.schema import FencingCredential, InstallConfig, MachinePool
from cluster.values.mac import mac_fault, parse_mac

BAREMETAL = "baremetal"
SWITCH = ("Enabled", "Disabled")
ARCHITECTURES = ("amd64", "arm64", "s390x", "ppc64le")
MIXED = ("amd64", "arm64")
"""The only supported mix of architectures: of the control plane, and of compute."""
USER_DEFINED = "user-defined"
DISKS = {"etcd": "etcd", "swap": "swap", USER_DEFINED: "userDefined"}
"""Key of the settings of a disk, by its type."""
LONGEST_DISK_ID = 12
"""In bytes; the limit of the partition label that is derived from it."""
FENCED = 2
"""The number of control-plane hosts with which they fence each other."""
CREDENTIALS = "controlPlane.fencing.credentials"


class _WrittenPool(NamedTuple):
    path: str
    name: str
    """The name that this pool must have."""
    least: int
    machines: MachinePool


class _Disk(NamedTuple):
    kind: str
    id: str
    label: str
    """The name of the disk's partition and of its MachineConfig."""


def _pools(config: InstallConfig) -> list[_WrittenPool]:
    compute = (_WrittenPool(f"compute[{index}]", "worker", 0, pool) for index, pool in enumerate(config.compute))
    arbiter = [_WrittenPool("arbiter", "arbiter", 1, config.arbiter)] if config.arbiter else []
    return [_WrittenPool("controlPlane", "master", 1, config.control_plane), *compute, *arbiter]


def _platform(config: InstallConfig) -> Iterator[Fault]:
    platforms = [name for name, section in config.platform if section is not None]
    if platforms == [BAREMETAL]:
        return
    if BAREMETAL in platforms:
        yield Fault("platform", f"{' and '.join(platforms)} are given", f"keep only {BAREMETAL}")
    else:
        what = f"{', '.join(platforms) or 'none'} is given, but this program installs only platform {BAREMETAL}"
        yield Fault("platform", what, "describe the servers there")


def _names(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        name = pool.machines.name or ("arbiter" if pool.name == "arbiter" else "")
        if name != pool.name:
            what = f"{name} is unknown" if name else "missing"
            yield Fault(f"{pool.path}.name", what, f"write {pool.name}")
    workers = [pool.path for pool in _pools(config) if pool.machines.name == pool.name == "worker"]
    for path in workers[1:]:
        yield Fault(f"{path}.name", f"{workers[0]} has the name worker already", "join both pools")


def _replicas(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        replicas = pool.machines.replicas or 0
        if replicas < pool.least:
            yield Fault(f"{pool.path}.replicas", f"{replicas} is too few", f"write {pool.least} or more")
    if config.arbiter and config.control_plane.replicas == 1:
        yield Fault("controlPlane.replicas", "1 is too few beside an arbiter", "write 2 or remove the arbiter")


def _values(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        for key, value, known in (
            ("hyperthreading", pool.machines.hyperthreading, SWITCH),
            ("architecture", pool.machines.architecture, ARCHITECTURES),
        ):
            if value not in known:
                yield Fault(f"{pool.path}.{key}", f"{value} is unknown", f"write one of {', '.join(known)}")
        if pool.machines.management == "ClusterAPI":
            yield Fault(f"{pool.path}.management", "ClusterAPI manages machines of AWS only", "remove it")


def _mixed_architectures(config: InstallConfig) -> Iterator[Fault]:
    control_plane = config.control_plane.architecture
    for index, pool in enumerate(config.compute):
        pair = (control_plane, pool.architecture)
        if (
            pair != MIXED
            and control_plane != pool.architecture
            and all(architecture in ARCHITECTURES for architecture in pair)
        ):
            what = f"{pool.architecture} cannot be mixed with the control plane's {control_plane}"
            yield Fault(f"compute[{index}].architecture", what, f"write {control_plane}, or arm64 beside amd64")


def _settings(config: InstallConfig) -> Iterator[Fault]:
    """Refuse settings of pools: baremetal pools have none."""
    for pool in _pools(config):
        for name, settings in pool.machines.platform.items():
            path = f"{pool.path}.platform.{name}"
            if name == BAREMETAL:
                yield from _no_settings(path, settings)
            elif name in Platform.model_fields:
                yield Fault(path, f"cannot be given when the cluster is on {BAREMETAL}", "remove it")
            else:
                yield Fault(path, "unknown key", f"write {BAREMETAL}: {{}} or remove it")
    yield from _no_settings(
        f"platform.{BAREMETAL}.defaultMachinePlatform", config.baremetal.default_machine_platform or {}
    )


def _no_settings(path: str, settings: Any) -> Iterator[Fault]:
    if not isinstance(settings, dict):
        yield Fault(path, "a mapping is wanted", "write {} or remove it")
        return
    for key in settings:
        yield Fault(f"{path}.{key}", f"unknown key: a pool of {BAREMETAL} has no settings", "remove it")


def _disks(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        before: list[_Disk] = []
        for index, setup in enumerate(pool.machines.disk_setup):
            path = f"{pool.path}.diskSetup[{index}]"
            kind = str(setup.get("type", ""))
            settings = setup.get(DISKS.get(kind, ""))
            if kind not in DISKS:
                what = f"{kind} is unknown" if kind else "missing"
                yield Fault(f"{path}.type", what, f"write one of {', '.join(DISKS)}")
            elif not isinstance(settings, dict):
                yield Fault(f"{path}.{DISKS[kind]}", "missing", "name the disk with platformDiskID below it")
            elif what := _wrong_with_disk(kind, pool, before):
                yield Fault(path, what, "remove it")
            else:
                disk = _disk(kind, str(settings.get("platformDiskID", "")))
                if fault := _disk_id_fault(disk, before):
                    yield fault.within(f"{path}.{DISKS[kind]}.platformDiskID")
                else:
                    before.append(disk)


def _disk(kind: str, disk_id: str) -> _Disk:
    label = re.sub("[^A-Za-z0-9]", "", disk_id).lower() if kind == USER_DEFINED else kind
    return _Disk(kind, disk_id, label)


def _wrong_with_disk(kind: str, pool: _WrittenPool, before: list[_Disk]) -> str:
    if kind == "etcd" and pool.name != "master":
        return "only the control plane can have a disk for etcd"
    if kind == "swap" and pool.name == "master":
        return "the control plane cannot have swap"
    if kind != USER_DEFINED and any(disk.kind == kind for disk in before):
        return f"a second disk for {kind}"
    return ""


def _disk_id_fault(disk: _Disk, before: list[_Disk]) -> Fault | None:
    if disk.kind == USER_DEFINED and len(disk.id.encode()) > LONGEST_DISK_ID:
        return Fault("", f"{disk.id} is too long", f"write {LONGEST_DISK_ID} characters at most")
    if not disk.label:
        what = f"{disk.id} has neither letter nor digit" if disk.id else "missing"
        return Fault("", what, "write the disk's name, with letters or digits in it")
    if any(other.id == disk.id for other in before):
        return Fault("", f"{disk.id} is used by another disk of this pool", "give each disk its own")
    if any(other.label == disk.label for other in before):
        what = f"{disk.id} gives the label {disk.label}, which another disk of this pool has"
        return Fault("", what, "rename one of the two")
    return None


def _fencing_place(config: InstallConfig) -> Iterator[Fault]:
    for index, pool in enumerate(config.compute):
        if pool.fencing is not None:
            yield Fault(f"compute[{index}].fencing", "only the control plane is fenced", "remove it")


def _fencing_count(config: InstallConfig) -> Iterator[Fault]:
    if config.arbiter is not None:  # an arbiter replaces fencing
        return
    count = len(_credentials(config))
    if config.control_plane.replicas == FENCED and count != FENCED:
        what = f"{count} given, but a control plane of {FENCED} hosts without an arbiter needs {FENCED}"
        yield Fault(CREDENTIALS, what, f"give {FENCED} entries, one per host")
    elif config.control_plane.replicas != FENCED and count:
        what = f"{count} given, but only a control plane of {FENCED} hosts is fenced"
        yield Fault(CREDENTIALS, what, f"remove them or write replicas: {FENCED}")


def _fencing_credentials(config: InstallConfig) -> Iterator[Fault]:
    credentials = _credentials(config)
    for index, entry in enumerate(credentials):
        path = f"{CREDENTIALS}[{index}]"
        for key, value in (
            ("hostName", entry.host_name or entry.mac_address),
            ("username", entry.username.get_secret_value()),
            ("password", entry.password.get_secret_value()),
            ("address", entry.address),
        ):
            if not value:
                named = "write it, or macAddress: fencing identifies a host by one of both"
                fix = named if key == "hostName" else "write it: fencing needs the BMC of each host"
                yield Fault(f"{path}.{key}", "missing", fix)
        if entry.mac_address and (fault := mac_fault(entry.mac_address)):
            yield fault.within(f"{path}.macAddress")
        if entry.certificate_verification not in ("", *SWITCH):
            what = f"{entry.certificate_verification} is unknown"
            yield Fault(f"{path}.certificateVerification", what, f"write {' or '.join(SWITCH)}")
        if fault := _address_fault(entry.address):
            yield fault.within(f"{path}.address")
        yield from _repeated(path, entry, credentials[:index])


def _repeated(path: str, entry: FencingCredential, before: tuple[FencingCredential, ...]) -> Iterator[Fault]:
    """Yield repeated values, without quoting them: an address may hold a password."""
    for key, value, others in (
        ("hostName", entry.host_name, [other.host_name for other in before]),
        ("macAddress", parse_mac(entry.mac_address), [parse_mac(other.mac_address) for other in before]),
        ("address", entry.address, [other.address for other in before]),
    ):
        if value and value in others:
            yield Fault(f"{path}.{key}", f"credentials[{others.index(value)}] has the same", "give each host its own")


def _address_fault(address: str) -> Fault | None:
    if not address:
        return None
    url = parse_url(address)
    if url is None:
        return Fault("", "is not a URL", "write redfish+https://, the BMC's address, and the path of its system")
    if "redfish" not in address:
        return Fault("", "names no Redfish BMC, and IPMI cannot fence", "write a URL with redfish in it")
    if url.port is None and not any(name in url.scheme for name in ("http", "redfish")):
        what = "names no port, and its scheme has no default port"
        return Fault("", what, "write redfish+https:// before the BMC's address")
    return None


def _credentials(config: InstallConfig) -> tuple[FencingCredential, ...]:
    fencing = config.control_plane.fencing
    return fencing.credentials if fencing else ()


RULES = (
    _platform,
    _names,
    _replicas,
    _values,
    _mixed_architectures,
    _settings,
    _disks,
    _fencing_place,
    _fencing_count,
    _fencing_credentials,
)
