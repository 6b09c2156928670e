"""Inputs and outputs of `Machines`."""

from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from base.spec import Model, Outs, Spec
from cluster.values.phase import Phase
from cluster.values.role import Role
from wires.bmc.access import BmcAccess
from wires.bmc.client import Identity
from wires.bmc.identity import MachineId

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan
    from cluster.plan.model import PlannedHost


class ListedHost(Model):
    """One host of the install-config."""

    bmc: BmcAccess
    """If its CA is empty, `MachinesSpec.ca` applies."""
    role: Role | None = None
    """None for a spare."""
    consent: str = ""
    """System UUID or serial of the one machine whose disk may be wiped; empty for a spare."""
    address: str = ""
    """The address of its node; empty if the plan has none, as for a spare."""

    @classmethod
    def of(cls, plan: "ClusterPlan", host: "PlannedHost") -> Self:
        """Build the entry of one host of a plan."""
        return cls(
            bmc=BmcAccess.of(plan.options, host, ca=""),
            role=host.role,
            consent=plan.options.consent[host.name] if host.role else "",
            address=str(host.address) if host.addresses else "",
        )


class MachinesSpec(Spec):
    """All hosts of a cluster: servers and spares."""

    hosts: dict[str, ListedHost]
    passwords: dict[str, SecretStr]
    """Passwords of the BMCs, by host."""
    ca: str = ""
    """PEM of the CA that signed the BMCs' certificates; if empty, the system's CAs apply."""
    reinstall: dict[str, str] = {}
    """The option of this name."""
    phase: Phase = Phase.BOOTSTRAP
    fenced: bool = False
    """Whether the servers of the control plane fence each other."""
    deadline_s: float = 300
    """Time for the answer of each BMC, in seconds."""

    @classmethod
    def of(cls, plan: "ClusterPlan") -> Self:
        """Build the spec of a plan."""
        return cls(
            hosts={host.name: ListedHost.of(plan, host) for host in plan.hosts},
            passwords={host.name: host.bmc.password for host in plan.hosts},
            ca=plan.bmc_ca,
            reinstall=plan.options.reinstall,
            phase=plan.options.phase,
            fenced=plan.is_fenced,
            deadline_s=plan.options.deadlines.bmc_s,
        )

    def access(self, host: str) -> BmcAccess:
        """Return the access to a host's BMC."""
        bmc = self.hosts[host].bmc
        return bmc.changed(ca=bmc.ca or self.ca)

    def changed_since(self, old: "MachinesSpec") -> tuple[str, ...]:
        """Return the hosts that are new, or whose BMC may now be that of another machine."""

        def way_to(spec: MachinesSpec, host: str) -> tuple[object, ...]:
            return spec.access(host).without_place, spec.passwords.get(host), spec.hosts[host].consent

        return tuple(host for host in self.hosts if host not in old.hosts or way_to(self, host) != way_to(old, host))


class HostMachine(MachineId):
    """The machine of a host, with all that a consent may name."""

    tag: str = ""
    """Its service tag; empty if it has none, or in the state of an older release."""

    @classmethod
    def of(cls, machine: Identity) -> Self:
        """Return the record of a machine."""
        return cls(uuid=machine.uuid, serial=machine.serial, tag=machine.tag)

    @property
    def identity(self) -> Identity:
        """The same, for comparison with what a BMC reports."""
        return Identity(self.uuid, self.serial, tag=self.tag)


class FormerMachine(MachineId):
    """A machine that was a host of this stack: it was removed, or replaced by another one."""

    host: str
    """Its last name."""
    role: Role | None = None
    """Its last role; None for a spare, or in the state of an older release."""


class MachinesOuts(Outs):
    """The machines of a stack."""

    machines: dict[str, HostMachine] = {}
    """By host."""
    former: list[FormerMachine] = []
