"""The class of `DestroyGuard` in the graph."""

from providers.destroy_guard.model import DestroyGuardSpec
from providers.destroy_guard.provider import DestroyGuardProvider
from providers.pulumi.dynamic import BaremetalResource


class DestroyGuard(BaremetalResource[DestroyGuardSpec], provider=DestroyGuardProvider):
    """The first resource that `pulumi destroy` would delete, since it depends on all others."""
