"""The part of the installer's install-config.yaml that this program reads (platform baremetal)."""

import difflib
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from cluster.bmc_url import parse_bmc_url

MAC = r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$"
DNS_LABEL = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
DNS_NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$"


class Section(BaseModel):
    """One mapping of a file an operator writes: camelCase keys, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Metadata(Section):
    """Name of the cluster."""

    name: str = Field(pattern=DNS_LABEL)


class MachineNetwork(Section):
    """A network that the machines' addresses are in."""

    cidr: IPv4Network


class ClusterNetwork(Section):
    """A network of pods; handed on by the payload, unused here."""

    cidr: IPv4Network
    host_prefix: int = 23


class Networking(Section):
    """Networks of the cluster."""

    network_type: str = "OVNKubernetes"
    machine_network: tuple[MachineNetwork, ...] = Field(min_length=1, max_length=1)
    cluster_network: tuple[ClusterNetwork, ...] = ()
    service_network: tuple[IPv4Network, ...] = ()


class MachinePool(Section):
    """Machines of one role."""

    name: Literal["master", "worker"]
    replicas: int = Field(ge=0)
    architecture: Literal["amd64"] = "amd64"
    hyperthreading: Literal["Enabled", "Disabled"] = "Enabled"
    platform: dict[str, Any] = {}


class Bmc(Section):
    """How to reach a server's BMC."""

    address: str
    username: str = Field(min_length=1)
    password: SecretStr = Field(min_length=1)
    disable_certificate_verification: bool = False

    @field_validator("address")
    @classmethod
    def _is_a_bmc_url(cls, address: str) -> str:
        parse_bmc_url(address)
        return address


class RootDeviceHints(Section):
    """Which disk is written."""

    device_name: str = Field(pattern=r"^/dev/[\w/.:-]+$")


class Host(Section):
    """One server."""

    name: str = Field(pattern=DNS_NAME)
    role: Literal["master", "worker"]
    bmc: Bmc
    boot_mac_address: str = Field(alias="bootMACAddress", pattern=MAC)
    boot_mode: Literal["UEFI", "legacy"] = "UEFI"
    root_device_hints: RootDeviceHints

    @field_validator("boot_mac_address", mode="before")
    @classmethod
    def _lower(cls, mac: object) -> object:
        return mac.lower() if isinstance(mac, str) else mac


class BareMetal(Section):
    """Platform baremetal."""

    libvirt_uri: str = Field("qemu:///system", alias="libvirtURI")
    external_bridge: str = "baremetal"
    external_mac_address: str = Field(alias="externalMACAddress", pattern=MAC)
    provisioning_network: Literal["Disabled"]
    api_vips: tuple[IPv4Address, ...] = Field(alias="apiVIPs", min_length=1, max_length=1)
    ingress_vips: tuple[IPv4Address, ...] = Field(alias="ingressVIPs", min_length=1, max_length=1)
    hosts: tuple[Host, ...]


class Platform(Section):
    """The platform; this program knows one."""

    baremetal: BareMetal


class InstallConfig(Section):
    """install-config.yaml."""

    api_version: Literal["v1"]
    metadata: Metadata
    base_domain: str = Field(pattern=DNS_NAME)
    networking: Networking
    control_plane: MachinePool
    compute: tuple[MachinePool, ...] = Field(min_length=1, max_length=1)
    platform: Platform
    pull_secret: SecretStr
    ssh_key: str = ""

    @model_validator(mode="after")
    def _hosts_fit_the_replicas(self) -> Self:
        hosts = self.platform.baremetal.hosts
        for pool, role in ((self.control_plane, "master"), (self.compute[0], "worker")):
            seen = sum(host.role == role for host in hosts)
            if seen != pool.replicas:
                raise ValueError(f"platform.baremetal.hosts: {seen} with role {role}, replicas wants {pool.replicas}")
        return self

    @model_validator(mode="after")
    def _hosts_are_distinct(self) -> Self:
        hosts = self.platform.baremetal.hosts
        for what, values in (
            ("name", [host.name for host in hosts]),
            ("bootMACAddress", [host.boot_mac_address for host in hosts]),
            ("bmc.address", [host.bmc.address for host in hosts]),
        ):
            if twice := {value for value in values if values.count(value) > 1}:
                raise ValueError(f"platform.baremetal.hosts: {what} {', '.join(sorted(twice))} stands twice")
        return self

    @model_validator(mode="after")
    def _vips_are_on_the_machine_network(self) -> Self:
        network = self.networking.machine_network[0].cidr
        bare = self.platform.baremetal
        for what, vip in (("apiVIPs", bare.api_vips[0]), ("ingressVIPs", bare.ingress_vips[0])):
            if vip not in network or vip in (network.network_address, network.broadcast_address):
                raise ValueError(f"platform.baremetal.{what}: {vip} is no host address of machineNetwork {network}")
        if bare.api_vips == bare.ingress_vips:
            raise ValueError(f"platform.baremetal.ingressVIPs: {bare.ingress_vips[0]} is the API VIP already")
        return self


def problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line per problem, `field.path: what is wrong`, without the values (they may be secret)."""
    lines = []
    for each in error.errors(include_input=False, include_url=False):
        path = ".".join(str(part) for part in each["loc"])
        text = str(each["msg"]).removeprefix("Value error, ")
        if each["type"] == "extra_forbidden":
            text = f"unknown key{_nearest(model, each['loc'])}"
        lines.append(f"{path}: {text}" if path else text)
    return lines


def _nearest(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    """The known key that an unknown one was probably meant to be."""
    known: set[str] = set()
    pending: list[Any] = [model]
    seen: set[type[BaseModel]] = set()
    while pending:
        current = pending.pop()
        if isinstance(current, type) and issubclass(current, BaseModel) and current not in seen:
            seen.add(current)
            known |= {field.alias or name for name, field in current.model_fields.items()}
            pending += [field.annotation for field in current.model_fields.values()]
        else:
            pending += getattr(current, "__args__", ())
    close = difflib.get_close_matches(str(loc[-1]), known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
