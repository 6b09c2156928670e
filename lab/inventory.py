"""The rehearsal's site: the plan that the program makes of its stack, and what the lab alone needs beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from pydantic import SecretStr

from cluster.files import read_text
from cluster.install_config import read
from cluster.options import read_stack_file
from cluster.plan import Intent, Server, load_intent
from cluster.plan.refusals import missing, not_installable
from cluster.values.address import parse_address
from lab.shell import LabError
from providers.base.errors import ConfigError, Fault, one_line
from testing.checkout import ROOT

STACKS = ROOT / "stacks"
STACK = "rehearsal"
STATIC = "okd-worker-1"
"""The server that DHCP leaves alone: the rehearsal gives it a `networkConfig`."""


@dataclass(frozen=True)
class BmcListener:
    """Where the one BMC of all servers listens, and who may log in."""

    address: IPv4Address
    port: int
    username: str
    password: SecretStr


@dataclass(frozen=True)
class Site:
    """What the lab builds, and what its payload serves."""

    plan: Intent
    """Every machine has an address in it."""
    uuids: Mapping[str, str]
    """By server: its system id at the BMC, which is the UUID of its libvirt domain."""
    bmc: BmcListener
    ssh_key: str
    """Public keys of those that may log in to machines, lines of authorized_keys; empty: nobody may."""

    @property
    def names(self) -> tuple[str, ...]:
        """The bootstrap's and the servers'."""
        return (self.plan.bootstrap.name, *(server.name for server in self.plan.servers))


def load_site(stacks: Path = STACKS) -> Site:
    """Read `STACKS/rehearsal/install-config.yaml` with the options of `STACKS/Pulumi.rehearsal.yaml`.

    Raises:
        LabError: One of them is missing or wrong, or names servers that this lab cannot stand in for.
    """
    file, stack_file = stacks / STACK / "install-config.yaml", stacks / f"Pulumi.{STACK}.yaml"
    try:
        plan = load_intent(file, read_stack_file(stack_file))
        _refuse(fault.within(str(stack_file)) for fault in missing(plan))
        _refuse(fault.within(str(file)) for fault in (*not_installable(plan), *_not_emulated(plan)))
        ssh_key = read(read_text(file)).config.ssh_key
    except ConfigError as error:
        raise LabError("; ".join(one_line(str(fault)) for fault in error.faults)) from None
    uuids = {server.name: _uuid(server) for server in plan.servers}
    return Site(plan, uuids, _listener(plan), ssh_key)


def _refuse(faults: Iterator[Fault]) -> None:
    """End here when there is a fault.

    Raises:
        ConfigError: With all of them.
    """
    if found := list(faults):
        raise ConfigError(found)


def _not_emulated(plan: Intent) -> Iterator[Fault]:
    """What the program can install, and the lab's one emulator cannot be."""
    for host in plan.hosts:
        if not isinstance(host, Server):
            yield Fault(host.name, "the lab wants a role for each host", "write one, and raise its replicas")
        elif not _uuid(host):
            yield Fault(host.name, "the lab wants a system in bmc.address", "end it with /redfish/v1/Systems/<UUID>")
        elif not isinstance(parse_address(host.bmc.url.host), IPv4Address):
            yield Fault(host.name, "the lab wants an IPv4 address in bmc.address", "write one that the lab can take")
        elif not (host.bmc.username and host.bmc.password.get_secret_value()):
            yield Fault(host.name, "the lab wants a login in this file", "write bmc.username and bmc.password")
    if len({_named_bmc(server) for server in plan.servers}) != 1:
        what = "the lab has one BMC for all servers: bmc.address and its credentials must be the same"
        yield Fault("platform.baremetal.hosts", what, "write one host, one port and one login")


def _uuid(server: Server) -> str:
    return (server.bmc.url.system_id or "").rsplit("/", 1)[-1]


def _named_bmc(server: Server) -> tuple[str, int, str, SecretStr]:
    bmc = server.bmc
    return bmc.url.host, bmc.url.port, bmc.username, bmc.password


def _listener(plan: Intent) -> BmcListener:
    """The BMC that all servers name."""
    host, port, username, password = _named_bmc(plan.servers[0])
    return BmcListener(IPv4Address(host), port, username, password)
