"""What this release cannot install on a cluster of platform baremetal (docs/adr/0060)."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.install_config.platform import BARE
from cluster.options import MachineOptions, Vrrp
from cluster.plan.model import Intent
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform
from cluster.values.role import Role

NONE = "`platform: none`"
OPERATORS = "the machine-config operator's keepalived on platform baremetal"


def platform_faults(intent: Intent, options: MachineOptions, file: str, config: str) -> Iterator[Fault]:
    """Yield each setting that platform baremetal excludes.

    Args:
        intent: The intent with the options applied.
        options: The options.
        file: The install-config's path.
        config: `where` of the options' faults.
    """
    if intent.platform is ClusterPlatform.NONE:
        return
    yield from (fault.within(file) for fault in (*_single_node(intent), *_network_boot(intent)))
    if intent.balancer is Balancer.OPERATOR:
        yield from (fault.within(file) for fault in _operators_keepalived(intent))
        yield from (fault.within(config) for fault in _vrrp(intent, options))


def _single_node(intent: Intent) -> Iterator[Fault]:
    """Yield a control plane of one, which openshift-install takes on platform none only (4.22, tried)."""
    if len(intent.control_plane) == 1:
        what = "1, and `create manifests` refuses a single node on platform baremetal"
        yield Fault("controlPlane.replicas", what, f"write 3, or {NONE}")


def _network_boot(intent: Intent) -> Iterator[Fault]:
    """Yield the compute hosts whose network boot the control plane would serve."""
    served = {server.name for server in intent.boot_clients(Role.COMPUTE)}
    for index, host in enumerate(intent.hosts):
        if host.name in served:
            what = "boots over the network by the control plane, which on platform baremetal serves nothing"
            yield Fault(f"{BARE}.hosts[{index}].bmc.address", what, f"use {host.bmc.url.instead}, or {NONE}")


def _operators_keepalived(intent: Intent) -> Iterator[Fault]:
    if len(intent.api.addresses) > 1:
        what = f"two, and {OPERATORS} may put them on different nodes: not supported yet"
        yield Fault(f"{BARE}.apiVIPs", what, f"write one, or {NONE}")


def _vrrp(intent: Intent, options: MachineOptions) -> Iterator[Fault]:
    """Yield the options that would differ from the operator's own settings."""
    defaults = Vrrp()
    for name in Vrrp.model_fields:
        value, wanted = getattr(options.vrrp, name), getattr(defaults, name)
        if value != wanted:
            yield Fault(f"vrrp.{name}", f"{value}, but {OPERATORS} has {wanted}", f"write {wanted}, or remove it")
    for name in ("api", "ingress"):
        if getattr(options.vrids, name):
            what = f"{OPERATORS} takes the VRID that follows from the cluster's name"
            yield Fault(f"vrids.{name}", what, f"remove it, or write {NONE}")
