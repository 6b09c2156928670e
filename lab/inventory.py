"""The site as its two files say: the stack `rehearsal` is the only place where its machines are written down."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Literal

import yaml

from cluster.install_config import InstallConfig, read
from cluster.install_config.platform import Host
from cluster.values.bmc_url import parse_virtual_media_url
from lab.shell import LabError
from providers.base.errors import ConfigError, one_line

STACKS = Path(__file__).parent.parent / "stacks"
STACK = "rehearsal"
STATIC = "okd-worker-1"

Role = Literal["bootstrap", "master", "worker"]
ROLES: dict[str, Role] = {"master": "master", "worker": "worker"}


@dataclass(frozen=True)
class Machine:
    """A virtual machine: one of the servers, or the bootstrap, which the program itself makes."""

    name: str
    role: Role
    mac: str
    address: IPv4Address
    uuid: str = ""
    """System id at the BMC, and UUID of the libvirt domain; empty for the bootstrap."""

    @property
    def static(self) -> bool:
        """Whether DHCP leaves it alone: the rehearsal gives it a networkConfig."""
        return self.name == STATIC


@dataclass(frozen=True)
class BmcAccess:
    """Where the one BMC of all servers listens, and who may log in."""

    address: IPv4Address
    port: int
    username: str
    password: str


@dataclass(frozen=True)
class Site:
    """What the lab builds for, and what its payload serves."""

    cluster: str
    domain: str
    machine_network: IPv4Network
    api_vip: IPv4Address
    ingress_vip: IPv4Address
    bootstrap: Machine
    servers: tuple[Machine, ...]
    bmc: BmcAccess
    ssh_key: str
    """Public keys of who may log in to machines, lines of authorized_keys; empty: nobody."""

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The bootstrap and the servers."""
        return (self.bootstrap, *self.servers)

    @property
    def control_plane(self) -> tuple[Machine, ...]:
        """Servers that become members of etcd."""
        return tuple(server for server in self.servers if server.role == "master")


def load_site(stacks: Path = STACKS) -> Site:
    """Read `STACKS/rehearsal/install-config.yaml` and `STACKS/Pulumi.rehearsal.yaml`.

    Raises:
        LabError: One of them is missing, wrong, or names servers that this lab cannot stand in for.
    """
    wanted_path, config_path = stacks / STACK / "install-config.yaml", stacks / f"Pulumi.{STACK}.yaml"
    wanted = _install_config(wanted_path)
    try:
        config = yaml.safe_load(_text(config_path))["config"]
        addresses: dict[str, list[str]] = config["okd-baremetal:node_addresses"]
        return _site(wanted, addresses, config["okd-baremetal:bootstrap"]["address"])
    except (KeyError, IndexError, TypeError) as error:
        raise LabError(
            f"{config_path}: no address for {error}; node_addresses and bootstrap.address are wanted"
        ) from None
    except yaml.YAMLError as error:
        raise LabError(f"{config_path}: no YAML: {' '.join(str(error).split())}") from None
    except ValueError as error:
        raise LabError(f"{config_path}: {error}") from None


def _install_config(path: Path) -> InstallConfig:
    try:
        reading = read(_text(path))
    except ConfigError as error:
        raise LabError(f"{path}: {error}") from None
    if reading.faults:
        raise LabError(f"{path}: {'; '.join(one_line(str(fault)) for fault in reading.faults)}")
    return reading.config


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise LabError(f"{path}: cannot be read ({error.strerror})") from None


def _site(wanted: InstallConfig, addresses: dict[str, list[str]], bootstrap: str) -> Site:
    bare = wanted.baremetal
    hosts = bare.hosts or ()
    name = wanted.metadata.name
    return Site(
        cluster=name,
        domain=f"{name}.{wanted.base_domain}",
        machine_network=IPv4Network(wanted.networking.machine_network[0].cidr),
        api_vip=IPv4Address(bare.api_vips[0]),
        ingress_vip=IPv4Address(bare.ingress_vips[0]),
        bootstrap=Machine(f"{name}-bootstrap", "bootstrap", bare.external_mac_address, IPv4Address(bootstrap)),
        servers=tuple(_server(host, addresses[host.name][0]) for host in hosts),
        bmc=_bmc(hosts),
        ssh_key=wanted.ssh_key,
    )


def _server(host: Host, address: str) -> Machine:
    role, system = ROLES.get(host.role), parse_virtual_media_url(host.bmc.address).system_id
    if role is None or system is None:
        raise ValueError(f"{host.name}: the lab wants a role, and a system in bmc.address")
    return Machine(host.name, role, host.boot_mac_address, IPv4Address(address), system.rsplit("/", 1)[-1])


def _bmc(hosts: tuple[Host, ...]) -> BmcAccess:
    """One emulator serves all systems, so all hosts must name the same one."""
    urls = [parse_virtual_media_url(host.bmc.address) for host in hosts]
    seen = {
        (url.host, url.port, host.bmc.username, host.bmc.password.get_secret_value())
        for url, host in zip(urls, hosts, strict=True)
    }
    if len(seen) != 1:
        raise ValueError("the lab has one BMC for all servers: bmc.address and its credentials must be the same")
    ((address, port, username, password),) = seen
    return BmcAccess(IPv4Address(address), port, username, password)
