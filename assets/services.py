"""How the machines run keepalived, haproxy and CoreDNS: from a container image, or from the machine's own image."""

from dataclasses import dataclass

from assets import contract
from cluster.plan import Intent
from cluster.values.balancer import Balancer

CONTINUED = " \\\n    "


@dataclass(frozen=True)
class Service:
    """keepalived, haproxy or CoreDNS."""

    name: str
    """Also the name of the program, and of the field of `Images`."""
    in_release: str
    """Name of its image in a release."""
    program: str
    """Path of the program in a machine's own image."""
    arguments: tuple[str, ...]
    container: tuple[str, ...]
    """Options of podman: capabilities, limits and volumes."""

    @property
    def variable(self) -> str:
        """Name of the variable with its image in `contract.IMAGES`."""
        return f"{self.name.upper()}_IMAGE"


KEEPALIVED = Service(
    "keepalived",
    "keepalived-ipfailover",
    "/usr/sbin/keepalived",
    ("--dont-fork", "--log-console", "--vrrp", f"--use-file={contract.KEEPALIVED_CONF}"),
    (
        "--cap-add=NET_ADMIN,NET_RAW,SYS_CHROOT",
        f"--volume={contract.RUN}:{contract.RUN}",
        f"--volume={contract.STATE}:{contract.STATE}:ro",
        f"--volume={contract.BIN}:{contract.BIN}:ro",
        "--volume=/:/host:ro",  # okd-default-router.sh runs the machine's crictl
    ),
)
HAPROXY = Service(
    "haproxy",
    "haproxy-router",
    "/usr/sbin/haproxy",
    ("-W", "-db", "-f", f"{contract.CONF}/haproxy.cfg"),
    (f"--volume={contract.CONF}:{contract.CONF}:ro", "--ulimit=nofile=100000:100000"),
)
COREDNS = Service(
    "coredns",
    "coredns",
    "/usr/bin/coredns",
    ("-conf", f"{contract.CONF}/Corefile"),
    (f"--volume={contract.CONF}:{contract.CONF}:ro", f"--volume={contract.RUN}:{contract.RUN}:ro"),
)

SERVICES = {Balancer.OURS: (KEEPALIVED, HAPROXY, COREDNS), Balancer.SITE: (COREDNS,)}
"""The services that machines run, by who balances."""

PULL_SECRET_OF_BOOTSTRAP, PULL_SECRET_OF_NODE = "/root/.docker/config.json", "/var/lib/kubelet/config.json"
"""Paths of the pull secret, to which the payload writes it."""


def pull_secret(*, bootstrap: bool) -> str:
    """Return the path of a machine's pull secret."""
    return PULL_SECRET_OF_BOOTSTRAP if bootstrap else PULL_SECRET_OF_NODE


def release(plan: Intent) -> str:
    """Return the release image that the machines ask for the services' images. Empty: they need not ask."""
    return plan.images.release if plan.runtime == "podman" else ""


def command(plan: Intent, service: Service, *, bootstrap: bool) -> str:
    """Return the command that the service's unit starts."""
    if plan.runtime == "host":
        return " ".join([service.program, *service.arguments])
    options = (
        f"--name=okd-{service.name}",
        f"--authfile={pull_secret(bootstrap=bootstrap)}",
        f"--entrypoint={service.name}",
        *service.container,
    )
    # The unit's journal takes the logs. SELinux would keep a confined container from the machine's files.
    run = "/usr/bin/podman run --rm --replace --net=host --user=0 --log-driver=none --security-opt=label=disable"
    image = f"${{{service.variable}}}" if release(plan) else getattr(plan.images, service.name)
    return CONTINUED.join([run, *options, image, " ".join(service.arguments)])
