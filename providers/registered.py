"""What one resource tells another, in this process: which machines `BmcHost` must not switch off.

A removal may fail, and its machine be added under another name before Pulumi repeats the deletion. And with
`--continue-on-error`, Pulumi deletes a server although what drains it was skipped.

And which control planes would get another bootstrap VM: `HostProvisioning` knows who was installed with the one that
they have, and depends on the VM, so no input of the VM can say so.

And whether a cluster has an API to ask for nodes: `VipHandoff` keeps the kubeconfig that `HostProvisioning` may lack
on another provisioner, and no resource takes a property from it. And which cluster runs: only in production is there
a `ClusterPower`, and `BmcHost`, which switches new servers off, knows no cluster. Of a run with `--target`, none of
them need be a part: then nobody has said that no cluster runs.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cluster.values.phase import Phase
from wires.bmc.client import Identity
from wires.bmc.identity import MachineId, is_one_machine


class RunningCluster(NamedTuple):
    """A cluster in production, which knows its nodes, whatever a restored state has lost."""

    stack: str
    """Its payload has the kubeconfig."""
    api_name: str
    api_vip: str


MACHINES: dict[str, MachineId] = {}
"""By host, as `Machines` has it. A run of Pulumi has one process for all resources, and deletes last."""

UNDRAINED: set[str] = set()
"""Hosts that have left a cluster in production, and may have pods. A `destroy` has none: nobody names them to it."""

NEW_VM: set[str] = set()
"""Addresses of the control planes whose bootstrap VM this run would build anew."""

NEW_VM_FIX = "revert the change of the VM, or go on to phase production; or begin again with `pulumi destroy`"
"""For a control plane that would be left without its VM: in the preview, and in the run."""

RUNNING: set[RunningCluster] = set()
"""The stack's clusters in production."""

PHASE: set[Phase] = set()
"""The phase of the stack, as `Machines` has it; empty if that is not a part of this run."""

WITH_API: set[str] = set()
"""Stacks of which `VipHandoff` has seen a kubeconfig, or may have: without one, the payload is none of OKD's."""


def register(machines: Mapping[str, MachineId], undrained: Iterable[str] = ()) -> None:
    """Take these machines for those of the stack's hosts, and name the hosts that are not to be cut off."""
    MACHINES.clear()
    MACHINES.update(machines)
    UNDRAINED.clear()
    UNDRAINED.update(undrained)


def may_have_pods(host: str) -> bool:
    """Whether a host has left a cluster in production, and nothing in this process has taken it out."""
    return host in UNDRAINED


def knows_who_left() -> bool:
    """Whether `Machines`, which knows the hosts that have left, is a part of this run."""
    return bool(PHASE)


def let_go(hosts: Iterable[str]) -> None:
    """Take note that these hosts are out of the cluster."""
    UNDRAINED.difference_update(hosts)


def other_host(host: str, machine: Identity) -> str | None:
    """Return a host other than `host` that is this machine."""
    return next((it for it, own in MACHINES.items() if it != host and is_one_machine(own.identity, machine)), None)


def note_vm(nodes: Iterable[str], *, is_new: bool) -> None:
    """Take note whether this run would build the bootstrap VM of a control plane with these addresses anew."""
    (NEW_VM.update if is_new else NEW_VM.difference_update)(nodes)


def gets_new_vm(address: str) -> bool:
    """Whether the bootstrap VM of the control plane with an address would be built anew, as another cluster."""
    return address in NEW_VM


def note_api(stack: str, *, has_one: bool) -> None:
    """Take note whether a stack's cluster has an API that knows its nodes."""
    (WITH_API.add if has_one else WITH_API.discard)(stack)


def has_api(stack: str) -> bool:
    """Whether a stack's cluster has an API that knows its nodes, also if this machine has no kubeconfig of it."""
    return stack in WITH_API


def note_running(cluster: RunningCluster) -> None:
    """Take note of a cluster in production."""
    RUNNING.add(cluster)


def note_phase(phase: Phase) -> None:
    """Take note of the phase of the stack."""
    PHASE.clear()
    PHASE.add(phase)


def running_clusters() -> frozenset[RunningCluster] | None:
    """Return the stack's clusters in production. None: nobody who knows them is a part of this run."""
    return frozenset(RUNNING) if RUNNING or Phase.BOOTSTRAP in PHASE else None
