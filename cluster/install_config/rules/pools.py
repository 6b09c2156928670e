"""Rules for the platform, its pools of machines, and the fencing of a control plane of two hosts."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from base.errors import Fault, Stricter
from cluster.install_config.platform import Platform
from cluster.install_config.schema import FencingCredential, InstallConfig, MachinePool
from cluster.values.go_url import PORTS, parse_go_url
from cluster.values.mac import mac_fault, parse_mac

BAREMETAL = "baremetal"
UNCHECKED = ("nutanix", "powervc")
"""The platforms whose settings of a pool the installer does not look at on another platform."""
SWITCH = ("Enabled", "Disabled")
ARCHITECTURES = ("amd64", "arm64", "s390x", "ppc64le")
MIXED = ("amd64", "arm64")
"""The only supported mix of architectures: of the control plane, and of compute."""
FENCED = 2
"""The number of control-plane hosts with which they fence each other."""
CREDENTIALS = "controlPlane.fencing.credentials"


class _WrittenPool(NamedTuple):
    path: str
    name: str
    """The name that this pool must have."""
    least: int
    machines: MachinePool


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
        kind = Stricter if len(platforms) == 1 else Fault
        what = f"{', '.join(platforms) or 'none'} is given, but this program installs only platform {BAREMETAL}"
        yield kind("platform", what, "describe the servers there")


def _names(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        name = pool.machines.name or ("arbiter" if pool.name == "arbiter" else "")
        if name != pool.name:
            what = f"{name} is unknown" if name else "missing"
            kind = Fault if pool.name == "worker" else Stricter  # the installer overwrites the other names
            yield kind(f"{pool.path}.name", what, f"write {pool.name}")
    workers = [pool.path for pool in _pools(config) if pool.machines.name == pool.name == "worker"]
    for path in workers[1:]:
        yield Fault(f"{path}.name", f"{workers[0]} has the name worker already", "join both pools")


def _replicas(config: InstallConfig) -> Iterator[Fault]:
    for pool in _pools(config):
        replicas = pool.machines.replicas or 0
        if replicas < pool.least:
            yield Fault(f"{pool.path}.replicas", f"{replicas} is too few", f"write {pool.least} or more")
    if config.control_plane.replicas == 1 and config.arbiter:
        yield Fault("controlPlane.replicas", "1 is too few beside an arbiter", "write 2 or remove the arbiter")


def _in_place(config: InstallConfig) -> Iterator[Fault]:
    """Refuse a node that would be its own bootstrap, as openshift-install does on baremetal (4.22, tried)."""
    if config.bootstrap_in_place is not None:
        what = f"a node on platform {BAREMETAL} cannot be its own bootstrap"
        yield Fault("bootstrapInPlace", what, "remove it: a bootstrap VM installs a single node, too")


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
                kind = Stricter if name in UNCHECKED else Fault
                yield kind(path, f"cannot be given when the cluster is on {BAREMETAL}", "remove it")
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
    """As `create manifests` does, after its validation (pkg/asset/machines/master.go, worker.go).

    It takes swap of the control plane (4.22, tried), and nothing makes that on platform none.
    """
    for pool in _pools(config):
        if kinds := {disk.get("type") for disk in pool.machines.disk_setup}:
            kind, what, fix = Fault, f"no openshift-install supports it on {BAREMETAL}", "remove it"
            if kinds == {"swap"} and pool.path == "controlPlane":
                kind, what = Stricter, "swap: nothing here makes it on the servers"
                fix = "remove it, and add a MachineConfig that does"
            yield kind(f"{pool.path}.diskSetup", what, fix)


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
            first = before[others.index(value)]
            kind = Fault if key != "macAddress" or first.mac_address == entry.mac_address else Stricter
            yield kind(f"{path}.{key}", f"credentials[{others.index(value)}] has the same", "give each host its own")


def _address_fault(address: str) -> Fault | None:
    if not address:
        return None
    url = parse_go_url(address)
    if url is None:
        return Fault("", "is not a URL", "write redfish+https://, the BMC's address, and the path of its system")
    if "redfish" not in address:
        return Fault("", "names no Redfish BMC, and IPMI cannot fence", "write a URL with redfish in it")
    if not url.port and not any(name in url.scheme for name in ("http", "redfish")):
        what = "names no port, and its scheme has no default port"
        return Fault("", what, "write redfish+https:// before the BMC's address")
    if not url.hostname or " " in address or int(url.port or 1) not in PORTS:
        return Stricter("", "names no host, or no port from 1 to 65535", "write it without blanks")
    return None


def _credentials(config: InstallConfig) -> tuple[FencingCredential, ...]:
    fencing = config.control_plane.fencing
    return fencing.credentials if fencing else ()


RULES = (
    _platform,
    _names,
    _replicas,
    _in_place,
    _values,
    _mixed_architectures,
    _settings,
    _disks,
    _fencing_place,
    _fencing_count,
    _fencing_credentials,
)
