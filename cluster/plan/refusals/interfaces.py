"""Parts of a networkConfig that nmstate accepts without a machine, and that no machine can apply."""

import re
from collections.abc import Hashable, Iterator

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.install_config.platform import DISABLED
from cluster.plan.network_config import NetworkConfig, NetworkInterface

LONGEST = 15
"""Characters of an interface's name (Linux, IFNAMSIZ)."""
IDS = {"vlan": 4094, "vxlan": 2**24 - 1}
"""The highest id."""
ON_A_RUNNING_HOST = "sriov:"
"""nmstate's name of a virtual function, which a plan refuses with the reason (boot_media/keyfiles.py)."""
OVS_BRIDGE = "ovs-bridge"
"""Its name, and those of its ports, are Open vSwitch's own: of any length, and one may be an interface's as well."""


def refused_interfaces(config: InstallConfig) -> Iterator[Fault]:
    """Yield the names and ids of interfaces that Linux does not take, and what nmstate leaves out without a word."""
    yield from _keys(config)
    for index, host in enumerate(config.baremetal.hosts or ()):
        network, at = NetworkConfig.of(host.network_config), f"platform.baremetal.hosts[{index}].networkConfig"
        for fault in (*_names(network), *_ids(network), *_twice(network), *_left_out(network, host.name)):
            yield Fault(f"{at}.{fault.where}", fault.what, fault.fix)


def _keys(config: InstallConfig) -> Iterator[Fault]:
    bare = config.baremetal
    of_provisioning = {
        "provisioningBridge": bare.provisioning_bridge,
        "provisioningNetworkInterface": bare.provisioning_network_interface,
    }
    keys = {"externalBridge": bare.external_bridge}
    for key, name in (keys if bare.provisioning_network == DISABLED else keys | of_provisioning).items():
        if name and (what := _unusable(name)):
            yield Fault(f"platform.baremetal.{key}", what, "write its name as `ip link` shows it")


def _names(network: NetworkConfig) -> Iterator[Fault]:
    profiles = {interface.name for interface in network.interfaces if interface.by_mac}
    named = [
        (f"{interface.path}.name", interface.name)
        for interface in network.interfaces
        if interface.name and not interface.by_mac and interface.type != OVS_BRIDGE
    ]
    lower = [
        (each.path, each.name)
        for interface in network.interfaces
        for each in interface.lower
        if each.name not in profiles and interface.type != OVS_BRIDGE
    ]
    for path, name in (*named, *lower):
        if not name.startswith(ON_A_RUNNING_HOST) and (what := _unusable(name)):
            yield Fault(path, what, "choose another name for a VLAN, bond or bridge; write a card's own")


def _unusable(name: str) -> str:
    """Return why Linux or NetworkManager does not take a name for an interface; empty if they do."""
    if len(name.encode()) > LONGEST:
        return f"{name} has {len(name)} characters, and an interface's name has at most {LONGEST}"
    if name in ("", ".", "..", "all", "default", "bonding_masters") or re.search(r"[\s/:%]", name):
        return f"{name!r} is not an interface's name"
    return ""


def _ids(network: NetworkConfig) -> Iterator[Fault]:
    for tunnel in (tunnel for interface in network.interfaces for tunnel in interface.ids):
        if not 1 <= tunnel.number <= IDS[tunnel.kind]:
            what = f"{tunnel.number} is not the id of a {tunnel.kind.upper()}"
            yield Fault(tunnel.path, what, f"write 1 to {IDS[tunnel.kind]}, as the network has it")


def _twice(network: NetworkConfig) -> Iterator[Fault]:
    first = dict[Hashable, str]()
    for interface in network.interfaces:
        for key, path, text in _identities(interface):
            if (other := first.setdefault(key, interface.path)) != interface.path:
                what = f"{text} is {other} already, and a machine has it once"
                yield Fault(path, what, "write all of it in one entry")
                break


def _identities(interface: NetworkInterface) -> Iterator[tuple[Hashable, str, str]]:
    """Yield what only one interface of a machine can have: a key, the path and the text."""
    if interface.name:
        yield (interface.name, interface.type == OVS_BRIDGE), f"{interface.path}.name", interface.name
    if interface.by_mac and interface.mac:
        yield interface.mac, f"{interface.path}.mac-address", interface.mac
    base = ", ".join(lower.name for lower in interface.lower)
    for tunnel in interface.ids:
        yield (tunnel.kind, tunnel.number, base), tunnel.path, f"{tunnel.kind.upper()} {tunnel.number} of {base}"


def _left_out(network: NetworkConfig, host: str) -> Iterator[Fault]:
    if network.hostname and network.hostname != host:
        yield Fault("hostname", f"{network.hostname} is ignored: the node has the host's name, {host}", "remove it")
    for section in network.only_running:
        what = "is what nmstate reports, and it applies only `config`"
        yield Fault(f"{section}.running", what, "write what the machine needs below `config`")
