"""The write plan of a preview: every write that its update may make, by resource. Its digest is what is approved."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from base.spec import Outs, Spec
from base.writes import Write
from providers.bmc_host import writes as bmc_host
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from providers.bootstrap_vm import writes as bootstrap_vm
from providers.bootstrap_vm.model import BootstrapVmOuts, BootstrapVmSpec
from providers.cluster_upgrade import writes as cluster_upgrade
from providers.cluster_upgrade.model import ClusterUpgradeOuts, ClusterUpgradeSpec
from providers.host_provisioning import writes as host_provisioning
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.server_objects import writes as server_objects
from providers.server_objects.model import ServerObjectsOuts, ServerObjectsSpec
from providers.vip_handoff import writes as vip_handoff
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from review.hosts import exchanged
from review.preview import Change, Preview, Step
from review.verdict import OWN

Planned = Callable[[Any, Any, Any], Iterator[Write]]
"""Yields what a change may write, from old inputs, old outputs and new inputs: `planned` beside a provider."""


@dataclass(frozen=True)
class WritePlan:
    """A write plan."""

    text: str
    """Content of its file, byte for byte: JSON in one form only."""

    @classmethod
    def of(cls, preview: Preview) -> Self:
        """Return the write plan of a preview.

        Raises:
            ValidationError: The preview was made by another release, whose inputs differ.
        """
        by_resource: dict[str, set[str]] = {}  # a spare that becomes a server is two resources of one name
        for resource, write in _writes(preview):
            by_resource.setdefault(resource, set()).add(str(write))
        writes = {resource: sorted(allowed) for resource, allowed in by_resource.items()}
        return cls(json.dumps({"steps": preview.digest, "writes": writes}, indent=2, sort_keys=True) + "\n")

    @property
    def digest(self) -> str:
        """SHA-256 of the file, which also covers everything else that the preview shows."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def _writes(preview: Preview) -> Iterator[tuple[str, Write]]:
    for kind, outs, planned in tables(preview):
        for change in preview.of(kind):
            yield from ((_resource(change.step), write) for write in _of_change(change, outs, planned))
    for step in preview.steps:
        if step.kind not in OWN:  # pulumi-libvirt's: they are listed, but leave no line in the log
            yield _resource(step), Write(f"{step.kind} {step.name}", step.operation)


def tables(preview: Preview) -> Iterator[tuple[type[Spec], type[Outs], Planned]]:
    """Yield inputs, outputs and table of each resource that writes to machines."""
    yield BmcHostSpec, BmcHostOuts, bmc_host.planned
    yield BootstrapVmSpec, BootstrapVmOuts, bootstrap_vm.planned
    yield VipHandoffSpec, VipHandoffOuts, vip_handoff.planned
    yield ServerObjectsSpec, ServerObjectsOuts, server_objects.planned
    yield ClusterUpgradeSpec, ClusterUpgradeOuts, cluster_upgrade.planned
    installed = partial(host_provisioning.planned, other_machines=exchanged(preview))
    yield HostProvisioningSpec, HostProvisioningOuts, installed


def _of_change(change: Change[Any], outs: type[Outs], planned: Planned) -> Iterator[Write]:
    if change.operation == "update":
        yield from planned(change.old, change.recorded(outs), change.spec)
        return
    if change.operation in ("delete", "replace"):
        yield from planned(change.old, change.recorded(outs), None)
    if change.operation in ("create", "replace"):
        yield from planned(None, outs(), change.spec)


def _resource(step: Step) -> str:
    """Return the name of a step's resource in the log of a run."""
    return f"{step.kind}::{step.name}"
