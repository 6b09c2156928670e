"""Small outputs of `pulumi preview --json`, in the form in which the engine prints them.

The inputs of this program's resources come from their specs, by the code that declares the resources.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from assets.file import Reader, RenderedFile
from assets.render import render
from base.spec import Outs, Spec, state_names
from cluster.plan import ClusterPlan, Role
from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec, VmBase
from providers.host_provisioning.model import (
    HostProvisioningOuts,
    HostProvisioningSpec,
    InstallationRecord,
)
from providers.pulumi.dynamic import inputs_of
from providers.rendered_asset.model import RenderedAssetSpec
from providers.vip_handoff.model import VipHandoffSpec
from review.preview import SECRET, UNKNOWN
from testing import plans
from wires.bmc.identity import MachineId

ROOT = f"urn:pulumi:{plans.STACK}::{plans.PROJECT}::baremetal:cluster:Cluster"
STACK = {"op": "update", "urn": f"urn:pulumi:{plans.STACK}::{plans.PROJECT}::pulumi:pulumi:Stack::{plans.STACK}"}
NOT_KNOWN = MachineId(uuid=UNKNOWN, serial=UNKNOWN)
"""The identity that a preview prints of a host whose `BmcHost` changes."""

Values = Mapping[str, Any]


def step(
    operation: str,
    name: str,
    old: Spec | None = None,
    new: Spec | None = None,
    *,
    outs: Outs | None = None,
    inside: str = "okd",
) -> dict[str, Any]:
    """Return one step on a resource of this program; `inside` is the component that it belongs to."""
    kind = type(new or old).__name__.removesuffix("Spec")
    before, after = (None if spec is None else printed(spec) for spec in (old, new))
    printed_step = step_of(operation, kind, name, before, after, outs=outs.props() if outs else {}, inside=inside)
    if old and new:
        names = state_names(type(new))
        printed_step["diffReasons"] = sorted(
            in_state for name, in_state in names.items() if getattr(old, name) != getattr(new, name)
        )
    return printed_step


def step_of(
    operation: str,
    kind: str,
    name: str,
    old: Values | None,
    new: Values | None,
    *,
    outs: Values | None = None,
    inside: str = "okd",
) -> dict[str, Any]:
    """Return one step on a resource, with its inputs as the engine prints them."""
    urn = f"{ROOT}$baremetal:servers:{inside}$pulumi-python:dynamic/baremetal:{kind}::{name}"
    return step_on(operation, urn, f"{ROOT}::okd", old, new, outs=outs)


def step_on(
    operation: str, urn: str, parent: str, old: Values | None, new: Values | None, *, outs: Values | None = None
) -> dict[str, Any]:
    """Return one step on a resource, by its URN and that of its parent."""
    printed_step: dict[str, Any] = {"op": operation, "urn": urn, "detailedDiff": None}
    if old is not None:
        inputs = {"__provider": "gASV", **old, "urn": urn}
        printed_step["oldState"] = {
            "urn": urn,
            "parent": parent,
            "inputs": inputs,
            "outputs": {**old, **(outs or {})},
        }
    if new is not None:
        inputs = {"__provider": "gASV", **new, "urn": urn}
        printed_step["newState"] = {"urn": urn, "parent": parent, "inputs": inputs}
    if old is not None and new is not None:
        printed_step["diffReasons"] = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return printed_step


def printed(spec: Spec) -> dict[str, Any]:
    """Return the inputs that the engine prints of a spec: without nulls, and `[secret]` for each secret."""

    async def inputs() -> dict[str, Any]:  # the Output of a secret needs a loop
        return {
            name: SECRET if isinstance(value, pulumi.Output) else value for name, value in inputs_of(spec).items()
        }

    return {name: value for name, value in asyncio.run(inputs()).items() if value is not None}


def preview(*steps: Mapping[str, Any], diagnostics: Sequence[Values] = (), **options: Any) -> str:
    """Return the output of `pulumi preview --json` for these steps and options; the engine sorts all keys."""
    config = {
        f"{plans.PROJECT}:{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in options.items()
    }
    document = {"config": config, "steps": [STACK, *steps], "duration": 1, "changeSummary": {}}
    return json.dumps(document | ({"diagnostics": diagnostics} if diagnostics else {}), sort_keys=True)


def file(folder: str, path: str, old: str | None, new: str | None, *, secret: bool = False) -> dict[str, Any]:
    """Return the step on one rendered file: its text before and after, None if there is none."""
    operation = "create" if old is None else "delete" if new is None else "update"
    name = f"okd-{folder.replace('/', '-')}-{path.rpartition('/')[2]}"
    before, after = (
        None if text is None else RenderedAssetSpec.of(RenderedFile(path, text, Reader.SYSTEMD, secret))
        for text in (old, new)
    )
    return step(operation, name, before, after)


def bmc_host(plan: ClusterPlan, host: str) -> BmcHostSpec:
    """Return the inputs of a `BmcHost`."""
    (planned,) = (planned for planned in plan.hosts if planned.name == host)
    return BmcHostSpec.of(plan, planned)


def bootstrap_vm(plan: ClusterPlan) -> BootstrapVmSpec:
    """Return the inputs of the `BootstrapVm`."""
    vm = plan.options.bootstrap
    base = VmBase(vm.pool, vm.base_volume, vm.base_sha256, network="")
    return BootstrapVmSpec.of(plan, render(plan).bootstrap, base, f"{plans.PROJECT}/{plans.STACK}", plans.STACK)


def handoff(plan: ClusterPlan) -> VipHandoffSpec:
    """Return the inputs of the `VipHandoff`."""
    return VipHandoffSpec.of(plan, plans.STACK)


def installation(
    plan: ClusterPlan, role: Role = Role.CONTROL_PLANE, identities: Mapping[str, MachineId] | None = None
) -> HostProvisioningSpec:
    """Return the inputs of a `HostProvisioning`.

    Its hosts have the identities in their consents, except those in `identities`.
    """
    spec = HostProvisioningSpec.of(plan, role, render(plan), plans.STACK)
    known = {host: MachineId(uuid=plan.options.consent[host]) for host in spec.hosts}
    return spec.changed(identities={**known, **(identities or {})})


def records(plan: ClusterPlan, *hosts: str) -> HostProvisioningOuts:
    """Return the outputs of a `HostProvisioning` that has installed these hosts."""
    machines = {host: MachineId(uuid=plan.options.consent[host]).own for host in hosts}
    return HostProvisioningOuts(
        installed={host: InstallationRecord(uuid=uuid, iso_sha256="", at="") for host, uuid in machines.items()}
    )
