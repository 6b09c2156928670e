"""What a good install-config may say and this release cannot do; `check`, the installer's verdict, leaves it out."""

from collections.abc import Iterator

from cluster.bmc_url import BmcUrlError, parse_virtual_media_url
from cluster.install_config import InstallConfig
from cluster.install_config.platform import DISABLED
from cluster.install_config.rules.vips import DEFAULT_BALANCER, USER_MANAGED, user_managed
from cluster.plan.intent import replicas, roles
from cluster.plan.model import Role
from cluster.problems import Problem

BARE = "platform.baremetal"


def unsupported(config: InstallConfig) -> Iterator[Problem]:
    """Each such setting, with the one that works."""
    yield from _networks(config)
    yield from _pools(config)
    yield from _hosts(config)


def _networks(config: InstallConfig) -> Iterator[Problem]:
    mode = config.baremetal.provisioning_network
    if mode != DISABLED:
        yield Problem(f"{BARE}.provisioningNetwork", f"{mode}: hosts boot from virtual media only; write {DISABLED}")
    if user_managed(config):
        text = f"{USER_MANAGED}: this program brings the load balancer; write {DEFAULT_BALANCER}"
        yield Problem(f"{BARE}.loadBalancer.type", text)


def _pools(config: InstallConfig) -> Iterator[Problem]:
    pools = {f"compute[{index}]": pool for index, pool in enumerate(config.compute)}
    for path, pool in {"controlPlane": config.control_plane, **pools}.items():
        if pool.architecture != "amd64":
            yield Problem(f"{path}.architecture", f"{pool.architecture}: not supported yet; write amd64")
    if config.control_plane.fencing is not None:
        text = "a control plane of two is not supported yet; take it out, and have one host or three"
        yield Problem("controlPlane.fencing", text)
    if config.arbiter is not None:
        yield Problem("arbiter", "not supported yet; take it out, and have three control-plane hosts")
    if config.bootstrap_in_place is not None:
        yield Problem("bootstrapInPlace", "not supported: this program starts a bootstrap VM; take it out")


def _hosts(config: InstallConfig) -> Iterator[Problem]:
    for index, host in enumerate(config.baremetal.hosts or ()):
        try:
            parse_virtual_media_url(host.bmc.address)
        except BmcUrlError as error:
            yield Problem(f"{BARE}.hosts[{index}].bmc.address", str(error))
        if host.role == "arbiter":
            yield Problem(f"{BARE}.hosts[{index}].role", "arbiter: not supported yet; write master or worker")
    for role, wanted in replicas(config).items():
        if (seen := roles(config).count(role)) > wanted:
            pool = "controlPlane" if role is Role.CONTROL_PLANE else "compute"
            text = f"{seen} with role {role.pool}, but {pool} wants {wanted}; take hosts out, or raise its replicas"
            yield Problem(f"{BARE}.hosts", text)
