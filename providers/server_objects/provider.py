"""Pulumi's calls for `ServerObjects`."""

from collections.abc import Collection

from base.clock import SYSTEM_CLOCK
from base.errors import PayloadError
from payload.kubeconfig import needed, read_kubeconfig
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsOuts, ServerObjectsSpec
from wires.api.kubernetes import KubeApi


class ServerObjectsProvider(Provider[ServerObjectsSpec, ServerObjectsOuts]):
    """Create and update make and link the objects; read compares them; delete leaves them to the cluster.

    A deletion of them would drain and delete the nodes of a cluster that a `destroy` may never get to.
    """

    outputs_are_inputs = True

    def _create(self, spec: ServerObjectsSpec) -> tuple[str, ServerObjectsOuts]:
        _ensure(spec, ())
        return spec.api_name, ServerObjectsOuts()

    def _update(self, old: ServerObjectsSpec, outs: ServerObjectsOuts, new: ServerObjectsSpec) -> ServerObjectsOuts:
        _ensure(new, [name for name in old.objects if name not in new.objects])
        return ServerObjectsOuts()

    def _read(self, spec: ServerObjectsSpec, outs: ServerObjectsOuts) -> ServerObjectsOuts:
        warn = warnings(spec.urn)
        try:
            drift = _engine(spec).drift()
        except (OSError, PayloadError) as error:
            warn(f"no object was compared, since the API at {spec.api_vip} was not asked: {error}")
            return outs
        for line in drift:
            warn(line)
        return ServerObjectsOuts(drift=drift)


def _ensure(spec: ServerObjectsSpec, gone: Collection[str]) -> None:
    _engine(spec).ensure(gone, deadline_s=spec.deadline_s)


def _engine(spec: ServerObjectsSpec) -> ServerObjectsEngine:
    kubeconfig = needed(spec.stack, read_kubeconfig(spec.stack), "wait: install")
    api = KubeApi.by(kubeconfig, spec.api_name)
    return ServerObjectsEngine(api, spec, SYSTEM_CLOCK, row(spec.urn), warnings(spec.urn))
