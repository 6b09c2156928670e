"""Rules for the servers: their number, and a unique name, network card and BMC for each."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

from base.errors import Fault, Stricter, quoted
from cluster.install_config.platform import DISABLED, Bmc, Host
from cluster.install_config.rules.names import dns_fault
from cluster.install_config.rules.pools import FENCED
from cluster.install_config.schema import InstallConfig
from cluster.values.bmc_url import UEFI_HTTP, BmcUrl, BmcUrlError, ForeignBmc, parse_bmc_url, parse_redfish_url
from cluster.values.boot_method import SECURE_BOOT
from cluster.values.mac import mac_fault, parse_mac
from cluster.values.metal3 import NO_SECURE_BOOT, VIRTUAL_MEDIA, installer_type

HOSTS = "platform.baremetal.hosts"
ROLES = ("master", "arbiter", "worker")
BOOT_MODES = ("UEFI", SECURE_BOOT, "legacy")
BY_PATH = "disk/by-path/"
UNREADABLE = Fault(
    "", "its host is no DNS name for the installer", "write letters, digits and hyphens, without a final dot"
)
LOGIN = re.compile(r"platform\.baremetal\.hosts\[\d+\]\.bmc\.(username|password)")
"""Paths of the logins, which may be in the stack's secrets instead."""


def _missing(config: InstallConfig) -> Iterator[Fault]:
    if config.baremetal.hosts is None:
        yield Fault(HOSTS, "missing", "list the servers, each with name, role, bootMACAddress and bmc")


def _counts(config: InstallConfig) -> Iterator[Fault]:
    """Check the number of hosts per role. Hosts without a role fill up the roles, in the order of `ROLES`."""
    if config.baremetal.hosts is None:
        return
    hosts = config.baremetal.hosts
    named = Counter(host.role for host in hosts)
    free = sum(count for role, count in named.items() if role not in ROLES)
    for role, (path, wanted) in _wanted(config).items():
        filled = min(free, max(0, wanted - named[role]))
        free -= filled
        if named[role] + filled < wanted:
            what = f"{named[role] + filled} of the {len(hosts)} hosts can be {role}s, but {path} is {wanted}"
            yield Fault(HOSTS, what, "add hosts, or lower it")
            return


def _roles(config: InstallConfig) -> Iterator[Fault]:
    for where, host in _hosts(config):
        if host.role not in ("", *ROLES):
            fix = f"write {', '.join(ROLES[:-1])} or {ROLES[-1]}, or remove it"
            yield Stricter(f"{where}.role", f"{host.role} is unknown", fix)


def _names(config: InstallConfig) -> Iterator[Fault]:
    used: dict[Hashable, str] = {}
    for where, host in _hosts(config):
        fault = dns_fault(host.name) if host.name else Fault("", "missing", "name the host")
        if taken := _taken(used, host.name, host.name, where):
            fault = fault or Fault(**vars(taken))
        if fault:
            yield fault.within(f"{where}.name")


def _boot_macs(config: InstallConfig) -> Iterator[Fault]:
    bare = config.baremetal
    used: dict[Hashable, str] = {
        parse_mac(bare.external_mac_address): "platform.baremetal.externalMACAddress",
        parse_mac(bare.provisioning_mac_address): "platform.baremetal.provisioningMACAddress",
    }
    absent = Fault("", "missing", "write the MAC of the card that the host boots from")
    before = set[str]()
    for where, host in _hosts(config):
        mac = host.boot_mac_address
        if not mac:
            yield absent.within(f"{where}.bootMACAddress")
        elif fault := mac_fault(mac) or _taken(used, parse_mac(mac), mac, where):
            # The installer only compares texts, and only those of hosts.
            kind = Fault if mac in before else Stricter
            yield kind(f"{where}.bootMACAddress", fault.what, fault.fix)
        before.add(mac)


def _credentials(config: InstallConfig) -> Iterator[Fault]:
    for where, host in _hosts(config):
        if host.bmc == Bmc():
            yield Fault(f"{where}.bmc", "missing", "write address, username and password")
            continue
        for key, text in (("username", host.bmc.username), ("password", host.bmc.password.get_secret_value())):
            if not text:
                path = f'["{host.name}"]' if "." in host.name else f".{host.name}"
                command = f"pulumi config set --secret --path {quoted(f'bmc_credentials{path}.{key}')}"
                fix = f"write that of the BMC's login; or give it to the stack: `{command}`"
                yield Fault(f"{where}.bmc.{key}", "missing", fix)


def _bmc_addresses(config: InstallConfig) -> Iterator[Fault]:
    used: dict[Hashable, str] = {}
    before = set[str]()
    for where, host in _hosts(config):
        if host.bmc == Bmc():
            continue
        address = host.bmc.address
        redfish = _redfish(address)
        key = redfish.server if redfish else address
        if fault := _address_fault(config, address) or _taken(used, key, address, where):
            kind = Fault if address in before else type(fault)
            yield kind(f"{where}.bmc.address", fault.what, fault.fix)
        before.add(address)


def _systems(config: InstallConfig) -> Iterator[Fault]:
    """Check that an address without a system, which means the only one of a BMC, is the only one of that BMC."""
    by_bmc: dict[Hashable, list[tuple[str, BmcUrl]]] = defaultdict(list)
    for where, host in _hosts(config):
        if url := _redfish(host.bmc.address):
            by_bmc[url.endpoint].append((where, url))
    for of_bmc in by_bmc.values():
        others = [where.removeprefix("platform.baremetal.") for where, url in of_bmc if url.system_id is not None]
        for where, url in of_bmc:
            if url.system_id is None and others:
                what = f"{url.url} names no system, and {others[0]} is on the same BMC"
                fix = "write the path of the system, or the address of this host's own BMC"
                yield Stricter(f"{where}.bmc.address", what, fix)


def _fencing(config: InstallConfig) -> Iterator[Fault]:
    pool = config.control_plane
    if pool.replicas != FENCED or pool.fencing is None or not pool.fencing.credentials:
        return
    for where, host in _hosts(config):
        address = host.bmc.address
        if host.role == "master" and "redfish" not in address and not _address_fault(config, address):
            what = f"{address} is not a Redfish address, and fencing needs one"
            yield Stricter(f"{where}.bmc.address", what, "use redfish-virtualmedia")


def _boot_modes(config: InstallConfig) -> Iterator[Fault]:
    for where, host in _hosts(config):
        if host.boot_mode not in BOOT_MODES:
            fix = f"write {', '.join(BOOT_MODES[:-1])} or {BOOT_MODES[-1]}"
            yield Fault(f"{where}.bootMode", f"{host.boot_mode} is unknown", fix)
        elif host.boot_mode == SECURE_BOOT and (fault := _secure_boot_fault(config, host)):
            yield fault.within(f"{where}.bootMode")


def _root_devices(config: InstallConfig) -> Iterator[Fault]:
    for where, host in _hosts(config):
        hints = host.root_device_hints
        if hints and (fault := _device_fault(hints.device_name)):
            yield fault.within(f"{where}.rootDeviceHints.deviceName")
        if hints and hints.min_size_gigabytes < 0:
            what, fix = f"{hints.min_size_gigabytes} is not a size", "write a number of gigabytes, or remove it"
            yield Stricter(f"{where}.rootDeviceHints.minSizeGigabytes", what, fix)


def _mtus(config: InstallConfig) -> Iterator[Fault]:
    for where, host in _hosts(config):
        interfaces = (host.network_config or {}).get("interfaces")
        for index, interface in enumerate(interfaces if isinstance(interfaces, list) else ()):
            if isinstance(interface, dict) and "mtu" in interface and not _is_whole(interface["mtu"]):
                what, fix = (
                    f"{interface['mtu']!r} is not a whole number",
                    "write one, without quotes, for example 9000",
                )
                kind = Stricter if isinstance(interface["mtu"], float) else Fault
                yield kind(f"{where}.networkConfig.interfaces[{index}].mtu", what, fix)


def _hosts(config: InstallConfig) -> list[tuple[str, Host]]:
    """Return each host with its path."""
    return [(f"{HOSTS}[{index}]", host) for index, host in enumerate(config.baremetal.hosts or ())]


def _wanted(config: InstallConfig) -> dict[str, tuple[str, int]]:
    """Return by role the path of the setting that gives the number of hosts, and that number."""
    arbiters = config.arbiter.replicas or 0 if config.arbiter else 0
    # With a pool of another name (refused elsewhere) the number is unknown: the pool of workers may be a default.
    checked = config.compute if all(pool.name == "worker" for pool in config.compute) else ()
    workers = sum(pool.replicas or 0 for pool in checked)
    counts = (
        ("controlPlane.replicas", config.control_plane.replicas or 0),
        ("arbiter.replicas", arbiters),
        ("the sum of compute[].replicas", workers),
    )
    return dict(zip(ROLES, counts, strict=True))


def _taken(used: dict[Hashable, str], key: Hashable, text: str, where: str) -> Fault | None:
    """Return the fault of a value that `used` has already; None for a new value, which is added to `used`."""
    first = used.setdefault(key, where)
    short = first.removeprefix("platform.baremetal.")
    return None if first == where else Stricter("", f"{text} is used by {short} already", "give each its own")


def _parsed(address: str) -> BmcUrl | BmcUrlError:
    try:
        return parse_bmc_url(address)
    except BmcUrlError as error:
        return error


def _redfish(address: str) -> BmcUrl | None:
    try:
        return parse_redfish_url(address)
    except BmcUrlError:
        return None


def _address_fault(config: InstallConfig, address: str) -> Fault | None:
    """Return the fault of a BMC address, or None.

    The installer reads addresses only where the provisioning network is disabled, and wants virtual media there. UEFI
    HTTP, which needs no such network either, is newer than every installer; this program serves it.
    """
    disabled = config.baremetal.provisioning_network == DISABLED
    parsed, known = _parsed(address), installer_type(address)
    if isinstance(parsed, BmcUrl):
        what = f"{parsed.kind} needs a provisioning network, and provisioningNetwork is {DISABLED}"
        if disabled and parsed.needs_provisioning_network:
            return Fault("", what, f"use {parsed.instead}")
        return UNREADABLE if disabled and known is None and parsed.kind != UEFI_HTTP else None
    if not address or (disabled and known not in VIRTUAL_MEDIA):
        return parsed.fault
    return None if isinstance(parsed, ForeignBmc) else Stricter(**vars(parsed.fault))


def _device_fault(name: str) -> Fault | None:
    if name and not name.startswith("/dev/"):
        return Fault("", f"{name} is not a device", "write its path, for example /dev/sda")
    if "/" in name.removeprefix("/dev/").removeprefix(BY_PATH):
        fix = f"write /dev/<name> or /dev/{BY_PATH}<name>, or give another root device hint"
        return Fault("", f"the installer refuses {name}", fix)
    return None


def _secure_boot_fault(config: InstallConfig, host: Host) -> Fault | None:
    kind = installer_type(host.bmc.address)
    if kind in NO_SECURE_BOOT and not _address_fault(config, host.bmc.address):
        what = f"{SECURE_BOOT} cannot be set over {kind}"
        return Fault("", what, "write UEFI, or give the host a Redfish address")
    return None


def _is_whole(number: object) -> bool:
    return type(number) is int or (isinstance(number, float) and number.is_integer())


RULES = (
    _missing,
    _counts,
    _roles,
    _names,
    _boot_macs,
    _credentials,
    _bmc_addresses,
    _systems,
    _fencing,
    _boot_modes,
    _root_devices,
    _mtus,
)
