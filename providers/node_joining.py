"""Composes what makes nodes of servers: the cluster's API, their kubelets, and where a run shows what it approves."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Protocol

from assets.contract import KUBELET_PORT
from base.clock import SYSTEM_CLOCK, utc_now
from payload.kubeconfig import Kubeconfig
from providers.joining.approvals import Joining
from providers.joining.nodes import SeenNodes
from providers.pulumi import plugin
from wires.api.https import handshake_problem
from wires.api.kubernetes import KubeApi
from wires.bmc.client import Identity


class _Host(Protocol):
    @property
    def addresses(self) -> Collection[str]: ...


class JoiningSpec(Protocol):
    """The inputs of a resource whose servers become nodes."""

    @property
    def api_name(self) -> str:
        """Name of the API."""

    @property
    def api_vip(self) -> str:
        """Address of the API."""

    @property
    def hosts(self) -> Mapping[str, _Host]:
        """The servers, by name."""

    @property
    def approve_certificates(self) -> bool:
        """Whether requests are approved here; otherwise the operator does."""

    @property
    def in_production(self) -> bool:
        """Whether the cluster is in phase production."""

    @property
    def urn(self) -> str:
        """The resource, by which its lines are shown."""


def joining_of(
    spec: JoiningSpec,
    kubeconfig: Kubeconfig,
    woken: Mapping[str, Identity] | None = None,
    together: Collection[str] = (),
    replaced: Collection[str] = (),
) -> Joining:
    """Return what makes nodes of the hosts; `woken` has the machines of those that slept; see `Joining`."""
    api = KubeApi.by(kubeconfig, spec.api_name)
    nodes = SeenNodes(
        api=api,
        vip=spec.api_vip,
        clock=SYSTEM_CLOCK,
        in_production=spec.in_production,
        replaced=replaced,
        woken={} if woken is None else woken,  # the caller may still fill it
    )
    return Joining(
        api=api,
        nodes=nodes,
        hosts={name: host.addresses for name, host in spec.hosts.items()},
        approves=spec.approve_certificates,
        kubelet=partial(handshake_problem, port=KUBELET_PORT),
        log=plugin.notes(spec.urn),
        warn=plugin.warnings(spec.urn),
        now=utc_now,
        together=together,
    )
