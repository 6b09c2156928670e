"""The plan: everything that the templates, the graph and the lab need to know, in one place."""

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from cluster.errors import ConfigError
from cluster.install_config import Host as WantedHost
from cluster.install_config import InstallConfig, problems
from cluster.options import Options
from cluster.vrrp import router_ids


class Role(StrEnum):
    """What a server becomes."""

    CONTROL_PLANE = "control-plane"
    COMPUTE = "compute"


ROLES = {"master": Role.CONTROL_PLANE, "worker": Role.COMPUTE}


class Planned(BaseModel):
    """A part of the plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Vip(Planned):
    """A virtual address and its VRRP router id (1-255)."""

    address: IPv4Address
    router_id: int


class Bmc(Planned):
    """A server's BMC."""

    address: str
    username: str
    password: SecretStr
    verify: bool


class Server(Planned):
    """One server."""

    name: str
    role: Role
    address: IPv4Address
    mac: str
    root_device: str
    bmc: Bmc
    consent: str


class BootstrapHost(Planned):
    """The bootstrap VM's place in the network."""

    name: str
    address: IPv4Address
    mac: str
    bridge: str


class ClusterPlan(Planned):
    """A cluster as it shall be."""

    name: str
    domain: str
    machine_network: IPv4Network
    api: Vip
    ingress: Vip
    bootstrap: BootstrapHost
    servers: tuple[Server, ...]
    libvirt_uri: str
    options: Options

    def of(self, role: Role) -> tuple[Server, ...]:
        """The servers of one role, in the order of the install-config."""
        return tuple(server for server in self.servers if server.role is role)

    @property
    def control_plane(self) -> tuple[Server, ...]:
        """Servers of the control plane."""
        return self.of(Role.CONTROL_PLANE)

    @property
    def compute(self) -> tuple[Server, ...]:
        """Compute servers."""
        return self.of(Role.COMPUTE)


def load_plan(install_config: Path, options: dict[str, Any]) -> ClusterPlan:
    """Read, judge and join the two inputs.

    Args:
        install_config: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix.

    Raises:
        ConfigError: Every problem found, one line each; nothing was touched.
    """
    found: list[str] = []
    config = wanted = None
    try:
        config = InstallConfig.model_validate(yaml.safe_load(install_config.read_text()))
    except FileNotFoundError:
        found.append(f"{install_config}: no such file; put the cluster's install-config.yaml there")
    except yaml.YAMLError as error:
        found.append(f"{install_config}: no YAML{_place(error)}")
    except ValidationError as error:
        found += [f"install-config: {line}" for line in problems(error, InstallConfig)]
    try:
        wanted = Options.model_validate(options)
    except ValidationError as error:
        found += [f"config: {line}" for line in problems(error, Options)]
    if config is not None and wanted is not None:
        found += _disagreements(config, wanted)
        if not found:
            return _plan(config, wanted)
    raise ConfigError(found)


def _place(error: yaml.YAMLError) -> str:
    """Where a file stops being YAML. What stands there may be a secret, so the parser's own words are left out."""
    mark = getattr(error, "problem_mark", None)
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _disagreements(config: InstallConfig, options: Options) -> list[str]:
    """What each input says well and both together do not."""
    names = [host.name for host in config.platform.baremetal.hosts]
    network = config.networking.machine_network[0].cidr
    lines = [
        f"config: node_addresses.{name}: missing; name the address that DHCP reserves for it"
        for name in names
        if not options.node_addresses.get(name)
    ]
    lines += [
        f"config: consent.{name}: missing; name the serial or system UUID of the one machine whose disk may be wiped"
        for name in names
        if not options.consent.get(name)
    ]
    if not config.compute[0].replicas:
        lines.append("install-config: compute.0.replicas: 0: a cluster without compute is not supported yet")
    lines += [f"config: node_addresses.{name}: no such host" for name in options.node_addresses if name not in names]
    lines += [f"config: consent.{name}: no such host" for name in options.consent if name not in names]
    addresses = {f"node_addresses.{name}": each[0] for name, each in options.node_addresses.items() if each}
    addresses["bootstrap.address"] = options.bootstrap.address
    taken = {
        config.platform.baremetal.api_vips[0]: "the API VIP",
        config.platform.baremetal.ingress_vips[0]: "the Ingress VIP",
    }
    for path, address in addresses.items():
        if address not in network:
            lines.append(f"config: {path}: {address} is outside machineNetwork {network}")
        if owner := taken.setdefault(address, path):
            lines += [f"config: {path}: {address} is {owner} already"] if owner != path else []
    return lines


def _plan(config: InstallConfig, options: Options) -> ClusterPlan:
    bare = config.platform.baremetal
    name = config.metadata.name
    ids = router_ids(name)
    return ClusterPlan(
        name=name,
        domain=f"{name}.{config.base_domain}",
        machine_network=config.networking.machine_network[0].cidr,
        api=Vip(address=bare.api_vips[0], router_id=ids.api),
        ingress=Vip(address=bare.ingress_vips[0], router_id=ids.ingress),
        bootstrap=BootstrapHost(
            name=f"{name}-bootstrap",
            address=options.bootstrap.address,
            mac=bare.external_mac_address,
            bridge=bare.external_bridge,
        ),
        servers=tuple(_server(host, options) for host in bare.hosts),
        libvirt_uri=bare.libvirt_uri,
        options=options,
    )


def _server(host: WantedHost, options: Options) -> Server:
    bmc = host.bmc
    return Server(
        name=host.name,
        role=ROLES[host.role],
        address=options.node_addresses[host.name][0],
        mac=host.boot_mac_address,
        root_device=host.root_device_hints.device_name,
        bmc=Bmc(
            address=bmc.address,
            username=bmc.username,
            password=bmc.password,
            verify=not bmc.disable_certificate_verification,
        ),
        consent=options.consent[host.name],
    )
