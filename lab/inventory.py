"""The rehearsal's site: the program's plan of the stack `rehearsal`, and the data that only the lab needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from pydantic import SecretStr

from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from cluster.options import read_stack_file
from cluster.plan import Intent, Server, load_intent
from cluster.plan.refusals import missing, not_installable
from cluster.values.address import parse_address
from lab.shell import LabError
from providers.base.errors import ConfigError, Fault, one_line
from testing.checkout import ROOT

STACKS = ROOT / "stacks"
STACK = "rehearsal"
REGISTRY = "registry.lab.test"
"""The name from which the machines pull, outside of the cluster's domain."""
STATIC = "okd-worker-1"
"""The server without a DHCP reservation: the rehearsal gives it a `networkConfig`."""


@dataclass(frozen=True)
class BmcListener:
    """Address and login of the one BMC of all servers."""

    address: IPv4Address
    port: int
    username: str
    password: SecretStr


@dataclass(frozen=True)
class Site:
    """Data from which the lab builds its machines and payload."""

    plan: Intent
    """Complete: every machine has an address."""
    uuids: Mapping[str, str]
    """UUID of the libvirt domain by server; also the server's system id at the BMC."""
    bmc: BmcListener
    config: InstallConfig
    """The install-config with its defaults."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bootstrap VM and of the servers."""
        return (self.plan.bootstrap.name, *(server.name for server in self.plan.servers))


def load_site(stacks: Path = STACKS) -> Site:
    """Read `STACKS/rehearsal/install-config.yaml` with the options of `STACKS/Pulumi.rehearsal.yaml`.

    Raises:
        LabError: One of the files is missing or wrong, or names servers that this lab cannot emulate.
    """
    file, stack_file = stacks / STACK / "install-config.yaml", stacks / f"Pulumi.{STACK}.yaml"
    try:
        plan = load_intent(file, read_stack_file(stack_file))
        _refuse(fault.within(str(stack_file)) for fault in missing(plan))
        config = read(read_text(file)).config
        _refuse(fault.within(str(file)) for fault in (*not_installable(config), *_not_emulated(plan)))
    except ConfigError as error:
        raise LabError("; ".join(one_line(str(fault)) for fault in error.faults)) from None
    uuids = {server.name: _uuid(server) for server in plan.servers}
    return Site(plan, uuids, _listener(plan), config)


def _refuse(faults: Iterator[Fault]) -> None:
    """Raise all faults, if there are any.

    Raises:
        ConfigError: There is at least one fault.
    """
    if found := list(faults):
        raise ConfigError(found)


def _not_emulated(plan: Intent) -> Iterator[Fault]:
    """Yield each setting that the program supports and the lab's single BMC emulator does not."""
    for host in plan.hosts:
        if not isinstance(host, Server):
            yield Fault(host.name, "no role; the lab needs one for each host", "write one, and raise its replicas")
        elif not _uuid(host):
            yield Fault(host.name, "no system in bmc.address", "end it with /redfish/v1/Systems/<UUID>")
        elif not isinstance(parse_address(host.bmc.url.host), IPv4Address):
            yield Fault(host.name, "no IPv4 address in bmc.address", "write the one on which the lab's BMC listens")
        elif not (host.bmc.username and host.bmc.password.get_secret_value()):
            yield Fault(host.name, "no BMC login in this file", "write bmc.username and bmc.password")
    if len({_named_bmc(server) for server in plan.servers}) != 1:
        what = "the lab has one BMC for all servers: bmc.address and its credentials must be the same"
        yield Fault("platform.baremetal.hosts", what, "write one host, one port and one login")


def _uuid(server: Server) -> str:
    return (server.bmc.url.system_id or "").rsplit("/", 1)[-1]


def _named_bmc(server: Server) -> tuple[str, int, str, SecretStr]:
    bmc = server.bmc
    return bmc.url.host, bmc.url.port, bmc.username, bmc.password


def _listener(plan: Intent) -> BmcListener:
    """Return the BMC that all servers name."""
    host, port, username, password = _named_bmc(plan.servers[0])
    return BmcListener(IPv4Address(host), port, username, password)
