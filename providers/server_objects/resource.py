"""The class of `ServerObjects` in the graph."""

from providers.pulumi.dynamic import BaremetalResource
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.provider import ServerObjectsProvider


class ServerObjects(BaremetalResource[ServerObjectsSpec], provider=ServerObjectsProvider):
    """The BareMetalHosts and Machines of a cluster of platform baremetal."""
