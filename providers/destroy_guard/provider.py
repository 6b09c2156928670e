"""Pulumi's calls for `DestroyGuard`."""

from base.errors import ConfigError, Fault
from base.spec import Outs
from providers.destroy_guard.model import DestroyGuardSpec
from providers.pulumi.dynamic import Provider

DESTROY = "to destroy it nevertheless, run `pulumi config set destroyable true && pulumi up`, then `pulumi destroy`"


class DestroyGuardProvider(Provider[DestroyGuardSpec, Outs]):
    """Create and update record whether the cluster may be destroyed; delete refuses if not. No machine is asked."""

    def _create(self, spec: DestroyGuardSpec) -> tuple[str, Outs]:
        return spec.cluster, Outs()

    def _update(self, old: DestroyGuardSpec, outs: Outs, new: DestroyGuardSpec) -> Outs:
        return outs

    def _delete(self, spec: DestroyGuardSpec, outs: Outs) -> None:
        if spec.protected:
            what = "the cluster is in production and not destroyable; no server was touched"
            raise ConfigError(Fault(spec.cluster, what, DESTROY))
