"""The site as its two files say: the stack `rehearsal` is the only place where its machines are written down."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from cluster.bmc_url import parse_bmc_url
from cluster.install_config import Host, InstallConfig, problems
from lab.shell import LabError

STACKS = Path(__file__).parent.parent / "stacks"
STACK = "rehearsal"

Role = Literal["bootstrap", "master", "worker"]


@dataclass(frozen=True)
class Machine:
    """A virtual machine: one of the servers, or the bootstrap, which the program itself makes."""

    name: str
    role: Role
    mac: str
    address: IPv4Address
    uuid: str = ""
    """System id at the BMC, and UUID of the libvirt domain; empty for the bootstrap."""


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
    try:
        wanted = InstallConfig.model_validate(_yaml(wanted_path))
    except ValidationError as error:
        raise LabError(f"{wanted_path}: {'; '.join(problems(error, InstallConfig))}") from None
    try:
        config = _yaml(config_path)["config"]
        addresses: dict[str, list[str]] = config["okd-baremetal:node_addresses"]
        return _site(wanted, addresses, config["okd-baremetal:bootstrap"]["address"])
    except (KeyError, IndexError, TypeError) as error:
        raise LabError(
            f"{config_path}: no address for {error}; node_addresses and bootstrap.address are wanted"
        ) from None
    except ValueError as error:
        raise LabError(f"{config_path}: {error}") from None


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text())
    except OSError as error:
        raise LabError(f"{path}: cannot be read ({error.strerror})") from None
    except yaml.YAMLError as error:
        raise LabError(f"{path}: no YAML: {' '.join(str(error).split())}") from None


def _site(wanted: InstallConfig, addresses: dict[str, list[str]], bootstrap: str) -> Site:
    bare = wanted.platform.baremetal
    name = wanted.metadata.name
    return Site(
        cluster=name,
        domain=f"{name}.{wanted.base_domain}",
        machine_network=wanted.networking.machine_network[0].cidr,
        api_vip=bare.api_vips[0],
        ingress_vip=bare.ingress_vips[0],
        bootstrap=Machine(f"{name}-bootstrap", "bootstrap", bare.external_mac_address, IPv4Address(bootstrap)),
        servers=tuple(_server(host, addresses[host.name][0]) for host in bare.hosts),
        bmc=_bmc(bare.hosts),
    )


def _server(host: Host, address: str) -> Machine:
    system = parse_bmc_url(host.bmc.address).system_path.rsplit("/", 1)[-1]
    return Machine(host.name, host.role, host.boot_mac_address, IPv4Address(address), system)


def _bmc(hosts: tuple[Host, ...]) -> BmcAccess:
    """One emulator serves all systems, so all hosts must name the same one."""
    seen = {
        (parse_bmc_url(host.bmc.address).base, host.bmc.username, host.bmc.password.get_secret_value())
        for host in hosts
    }
    if len(seen) != 1:
        raise ValueError("the lab has one BMC for all servers: bmc.address and its credentials must be the same")
    ((base, username, password),) = seen
    url = urlsplit(base)
    return BmcAccess(IPv4Address(url.hostname or ""), url.port or 443, username, password)
