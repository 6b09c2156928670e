"""Where servers that boot from the network reach this program's media server."""

from typing import TYPE_CHECKING

from assets.contract import BOOT_SCRIPT, PROVISIONING_PORT
from cluster.values.address import netloc
from cluster.values.role import Role

if TYPE_CHECKING:
    from cluster.plan import Intent


def boot_server(plan: "Intent", role: Role) -> str:
    """Return its URL for the servers of a role: the proxy that serves them, else the media server itself."""
    own, media = plan.provisioning, plan.media
    if plan.boot_clients(role):
        proxy = own.bootstrap_ip if role.holds_etcd else own.cluster_ip
        return f"http://{netloc(str(proxy), PROVISIONING_PORT)}"
    return f"http://{netloc(str(media.address), media.port)}"


def boot_script(plan: "Intent", role: Role) -> str:
    """Return the URL of the script that iPXE on these servers begins with."""
    return f"{boot_server(plan, role)}/{BOOT_SCRIPT}"
