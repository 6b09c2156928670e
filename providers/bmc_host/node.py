"""Asks a cluster in production whether a server that runs, and that the state does not know, is one of its nodes.

A restored state may be older than the server: taken over as a new one, it would be switched off with all its pods.
"""

from base.clock import Clock
from base.errors import Fault, word
from base.progress import Report
from payload.kubeconfig import PUT_THERE, kubeconfig_path, read_kubeconfig
from providers.joining.nodes import Nodes
from providers.patience import patiently
from providers.registered import RunningCluster
from wires.api.kubernetes import KubeApi
from wires.api.resources import NODE_LIST, answer_first, unasked
from wires.bmc.client import Identity

KEEP = "set import_production for one `pulumi up`, as after a restored state (docs/how-to/recover.md): it stays on"
ANOTHER_NAME = (
    "name it {0} in the install-config; or, if it is to be {1}, drain node {0}, have it leave etcd if it is of the "
    "control plane (docs/how-to/replace-a-control-plane-server.md#by-hand), `oc delete node {0}`, and switch it off; "
    "then run `pulumi up` again"
)
"""An import would record it, and wait in vain for a node of the other name."""


def node_fault(host: str, machine: Identity, cluster: RunningCluster, clock: Clock, report: Report) -> Fault | None:
    """Return why a server that is on must stay so. None: it is no node.

    Raises:
        PayloadError: The kubeconfig cannot be read.
    """

    def unknown(why: str, fix: str) -> Fault:
        what = f"it runs, and may be a node: {why}; nothing was changed"
        return Fault(host, what, f"{fix}; or, if it is none, switch it off; then run `pulumi up` again")

    if (kubeconfig := read_kubeconfig(cluster.stack)) is None:
        path = kubeconfig_path(cluster.stack)
        return unknown(f"the API cannot be asked without {path}", PUT_THERE)
    api = KubeApi.by(kubeconfig, cluster.api_name)
    try:
        nodes = patiently(lambda: api.get(cluster.api_vip, NODE_LIST, Nodes), clock, report) or Nodes()
    except OSError as error:
        return unknown(unasked(cluster.api_vip, error), answer_first(error))
    own = next((node.metadata.name for node in nodes.items if node.runs_on(machine)), None)
    if own is None:
        untold = next((node.untold(machine) for node in nodes.items if node.metadata.name == host), None)
        return unknown(untold, KEEP) if untold else None
    fix = KEEP if own == host else ANOTHER_NAME.format(word(own), word(host))
    return Fault(host, f"it runs as node {own}, which the state does not know; nothing was changed", fix)
