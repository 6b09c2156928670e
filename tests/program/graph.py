"""The graph that `__main__.py` declares, under Pulumi's mocks; each provider's own `check` checks its inputs."""

import asyncio
import json
import runpy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pulumi
from pulumi.dynamic import ResourceProvider
from pulumi.runtime import config, mocks, rpc
from pulumi.runtime.proto.source_pb2 import StackTrace
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import run_pulumi_func
from pulumi.runtime.sync_await import _sync_await

from cluster.known_options import SECRETS
from providers.asleep import STACK
from providers.bmc_host.provider import BmcHostProvider
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.cluster_power.provider import ClusterPowerProvider
from providers.cluster_upgrade.provider import ClusterUpgradeProvider
from providers.destroy_guard.provider import DestroyGuardProvider
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.machines.provider import MachinesProvider
from providers.network_preflight.provider import NetworkPreflightProvider
from providers.okd_installed.provider import OkdInstalledProvider
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider
from providers.rendered_asset.provider import RenderedAssetProvider
from providers.server_objects.provider import ServerObjectsProvider
from providers.vip_handoff.provider import VipHandoffProvider
from providers.vip_held.provider import VipHeldProvider
from testing import plans
from testing.checkout import ROOT

PROVIDERS: dict[str, type[ResourceProvider]] = {
    "RenderedAsset": RenderedAssetProvider,
    "ProvisionerPreflight": ProvisionerPreflightProvider,
    "Machines": MachinesProvider,
    "BmcHost": BmcHostProvider,
    "ClusterPower": ClusterPowerProvider,
    "NetworkPreflight": NetworkPreflightProvider,
    "BootstrapVm": BootstrapVmProvider,
    "VipHandoff": VipHandoffProvider,
    "HostProvisioning": HostProvisioningProvider,
    "VipHeld": VipHeldProvider,
    "OkdInstalled": OkdInstalledProvider,
    "ServerObjects": ServerObjectsProvider,
    "ClusterUpgrade": ClusterUpgradeProvider,
    "DestroyGuard": DestroyGuardProvider,
}

STACK_TYPE = "pulumi:pulumi:Stack"

# One loop for all runs: earlier tests may have closed the thread's own, as asyncio.run does.
LOOP = asyncio.new_event_loop()


@dataclass(frozen=True)
class Declared:
    """One resource other than a component."""

    token: str
    kind: str
    name: str
    urn: str
    parent: str
    inputs: dict[str, Any]
    """The inputs that the provider gets, with secrets unwrapped."""
    secrets: frozenset[str]
    """Names of the inputs that are secret as a whole."""
    secret_outputs: frozenset[str]
    """Names of the outputs that the engine is to encrypt."""
    after: frozenset[str]
    """URNs of the resources it depends on, by its options or by its inputs."""
    protect: bool
    provider: str
    """URN and id of an explicit provider."""
    ignores: frozenset[str]
    replaced_on: frozenset[str]
    """Inputs whose changes are ignored."""
    goes_first: bool
    """Whether the old resource is deleted before its replacement is created."""
    hooks: dict[str, tuple[str, ...]]
    """Names of its hooks, by when they run."""


class Monitor(mocks.MockMonitor):
    """Records what the mocks leave out: dependencies, secrets, protection; names resources as the engine does."""

    def __init__(self, mock: mocks.Mocks) -> None:
        super().__init__(mock)
        self.declared: list[Declared] = []
        self.components: list[str] = []
        self.urns: list[str] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Build a URN with the types of all parents but the stack; the mocks would use only the nearest parent's."""
        chain = parent.split("::")[2] if parent else STACK_TYPE
        kind = type_ if chain == STACK_TYPE else f"{chain}${type_}"
        return f"urn:pulumi:{plans.STACK}::{plans.PROJECT}::{kind}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        self.urns.append(answer.urn)
        if not request.custom:
            self.components.append(request.type)
            return answer
        wire = rpc.deserialize_properties(request.object, keep_unknowns=True)
        self.declared.append(
            Declared(
                token=request.type,
                kind=request.type.rsplit(":", 1)[1],
                name=request.name,
                urn=answer.urn,
                parent=request.parent,
                inputs={key: _open(value) for key, value in wire.items() if key != "__provider"},
                secrets=frozenset(key for key, value in wire.items() if rpc.is_rpc_secret(value)),
                secret_outputs=frozenset(request.additionalSecretOutputs),
                after=frozenset(request.dependencies).union(
                    *(dependencies.urns for dependencies in request.propertyDependencies.values())
                ),
                protect=request.protect,
                provider=request.provider,
                ignores=frozenset(request.ignoreChanges),
                replaced_on=frozenset(request.replaceOnChanges),
                goes_first=request.deleteBeforeReplace,
                hooks={when.name: tuple(names) for when, names in request.hooks.ListFields()},
            )
        )
        return answer


class Checks(mocks.Mocks):
    """Creates every resource, and collects the failures that its provider's `check` returns."""

    def __init__(self, olds: dict[str, dict[str, Any]]) -> None:
        self.olds = olds
        self.refused: list[str] = []

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        provider = PROVIDERS.get(args.typ.rsplit(":", 1)[1])
        if provider:
            checked = provider().check(self.olds.get(args.name, {}), _open(args.inputs))
            self.refused += [f"{args.name}: {failure.reason}" for failure in checked.failures]
        return f"{args.name}-id", {
            **args.inputs,
            "uuid": f"uuid-of-{args.name}",
            "serial": f"serial-of-{args.name}",
            "holder": "somebody",
        }

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # type: ignore[override]
        raise NotImplementedError(args.token)


@dataclass(frozen=True)
class Graph:
    """The resources that one run of the program declared."""

    resources: dict[str, Declared]
    components: list[str]
    refused: list[str]
    exports: dict[str, Any]

    def of(self, kind: str) -> list[Declared]:
        return [resource for resource in self.resources.values() if resource.kind == kind]

    def one(self, kind: str) -> Declared:
        (resource,) = self.of(kind)
        return resource

    def after(self, resource: Declared) -> set[str]:
        """Return the names of the resources that a resource depends on directly."""
        names = {other.urn: other.name for other in self.resources.values()}
        return {names[urn] for urn in resource.after}

    def long_after(self, resource: Declared) -> set[str]:
        """Return the names of the resources that a resource depends on, directly or through others."""
        direct = self.after(resource)
        return direct.union(*(self.long_after(self.resources[name]) for name in direct))


def _main() -> None:
    runpy.run_path(str(ROOT / "__main__.py"))


def run(
    olds: Graph | None = None,
    program: Callable[[], None] = _main,
    secret: Sequence[str] = SECRETS,
    **changes: Any,
) -> Graph:
    """Run the program against the rehearsal's stack, its options changed, its state that of `olds`.

    Options in `secret` were set with `--secret`.
    """
    states = {name: old.inputs for name, old in olds.resources.items()} if olds else {}
    checks = Checks(states)
    monitor = Monitor(checks)
    exports: dict[str, Any] = {}
    with (
        _own_runtime(monitor),
        mock.patch.object(pulumi, "export", autospec=True, side_effect=exports.__setitem__),
        # Each resource records all calls above it, among them fifty of pytest: a third of a run.
        mock.patch("pulumi.runtime.resource._get_stack_trace", autospec=True, return_value=StackTrace()),
        # No engine calls a hook. Its server would be asyncio's beside the mocks' threads with loops of their own: one
        # of three runs never ended (grpcio 1.85).
        mock.patch("pulumi.runtime.resource._get_callbacks", new=_no_callbacks),
        # As the engine has it in each provider process, by the options of the run (tests/e2e/test_review.py).
        mock.patch.object(STACK, "sleeps", changes.get("power") == "off"),
    ):
        config.set_all_config(
            {f"{plans.PROJECT}:{key}": _text(value) for key, value in plans.options(**changes).items()},
            [f"{plans.PROJECT}:{key}" for key in secret],
        )
        _sync_await(run_pulumi_func(program))
    assert len(set(monitor.urns)) == len(monitor.urns), "the engine refuses a second resource of one URN"
    resources = {resource.name: resource for resource in monitor.declared}
    assert len(resources) == len(monitor.declared), "two resources of one name"
    return Graph(resources, monitor.components, checks.refused, exports)


async def _no_callbacks() -> mock.Mock:
    return mock.Mock(spec=["register_resource_hook", "register_error_hook"])


@contextmanager
def _own_runtime(monitor: Monitor) -> Iterator[None]:
    asyncio.set_event_loop(LOOP)
    SETTINGS.rpc_manager.clear()
    SETTINGS.outputs.clear()
    mocks.set_mocks(monitor.mocks, project=plans.PROJECT, stack=plans.STACK, preview=False, monitor=monitor)
    try:
        yield
    finally:
        config.set_all_config({}, [])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _open(value: Any) -> Any:
    """Unwrap the secrets at every depth."""
    if rpc.is_rpc_secret(value):
        return _open(rpc.unwrap_rpc_secret(value))
    if isinstance(value, dict):
        return {key: _open(part) for key, part in value.items()}
    return [_open(part) for part in value] if isinstance(value, list) else value
