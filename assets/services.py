"""How the machines run keepalived, haproxy, CoreDNS and dnsmasq: from a container image, or from their own image."""

from dataclasses import dataclass

from assets import contract
from cluster.plan import Intent, Role, Server
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform
from cluster.values.role import BOOTSTRAP, MachineRole

CONTINUED = " \\\n    "
_OF_THE_FILE = ("NET_BIND_SERVICE",)
"""What haproxy's file has in the release's image (openshift/origin, images/router/haproxy/Dockerfile: setcap).

A container without it could not start that file."""


@dataclass(frozen=True)
class Service:
    """A program that machines run, and its unit."""

    name: str
    """Name of its unit and of its container, without `okd-`."""
    image: str
    """Name of the program, and of the field of `Images`; dnsmasq has none there."""
    in_release: str
    """Name of its image in a release."""
    program: str
    """Path of the program in a machine's own image."""
    arguments: tuple[str, ...]
    capabilities: tuple[str, ...]
    """All that its container has of root's powers."""
    container: tuple[str, ...]
    """Further options of podman: limits and volumes."""

    @property
    def variable(self) -> str:
        """Name of the variable with its image in `contract.IMAGES`."""
        return f"{self.image.upper()}_IMAGE"


KEEPALIVED = Service(
    "keepalived",
    "keepalived",
    "keepalived-ipfailover",
    "/usr/sbin/keepalived",
    ("--dont-fork", "--log-console", "--vrrp", f"--use-file={contract.KEEPALIVED_CONF}"),
    # Without KILL, SETUID and SETGID it runs no check script (2.2.7); SYS_CHROOT is for crictl, see below.
    ("NET_ADMIN", "NET_RAW", "SYS_CHROOT", "KILL", "SETUID", "SETGID"),
    (
        f"--volume={contract.RUN}:{contract.RUN}",
        f"--volume={contract.STATE}:{contract.STATE}:ro",
        f"--volume={contract.BIN}:{contract.BIN}:ro",
        "--volume=/:/host:ro",  # okd-default-router.sh runs the machine's crictl
    ),
)
HAPROXY = Service(
    "haproxy",
    "haproxy",
    "haproxy-router",
    "/usr/sbin/haproxy",
    ("-W", "-db", "-f", f"{contract.CONF}/haproxy.cfg"),
    _OF_THE_FILE,
    (f"--volume={contract.CONF}:{contract.CONF}:ro", "--ulimit=nofile=100000:100000"),
)
COREDNS = Service(
    "coredns",
    "coredns",
    "coredns",
    "/usr/bin/coredns",
    ("-conf", f"{contract.CONF}/Corefile"),
    ("NET_BIND_SERVICE",),
    (f"--volume={contract.CONF}:{contract.CONF}:ro", f"--volume={contract.RUN}:{contract.RUN}:ro"),
)
DNSMASQ = Service(
    "provisioning-dnsmasq",
    "dnsmasq",
    "ironic",
    "/usr/sbin/dnsmasq",
    ("--keep-in-foreground", f"--conf-file={contract.CONF}/dnsmasq.conf"),
    ("NET_ADMIN", "NET_RAW", "NET_BIND_SERVICE", "SETUID", "SETGID"),
    (f"--volume={contract.CONF}:{contract.CONF}:ro",),
)
PROXY = Service(
    "provisioning-proxy",
    "haproxy",
    "haproxy-router",
    "/usr/sbin/haproxy",
    ("-W", "-db", "-f", f"{contract.CONF}/provisioning.cfg"),
    _OF_THE_FILE,
    (f"--volume={contract.CONF}:{contract.CONF}:ro",),
)


def services(plan: Intent, role: MachineRole) -> tuple[Service, ...]:
    """Return the services that the machines of a role run."""
    of_boots = (DNSMASQ, PROXY) if boot_clients_of(plan, role) else ()
    if plan.platform is ClusterPlatform.BAREMETAL:
        holds_the_vip = role == BOOTSTRAP and plan.balancer is Balancer.OPERATOR
        return (*((KEEPALIVED,) if holds_the_vip else ()), *of_boots)
    if role is Role.ARBITER:
        return (COREDNS,)
    if plan.balancer is Balancer.SITE:
        claims = role is Role.CONTROL_PLANE and plan.vips_of(role)
        return (*((KEEPALIVED,) if claims else ()), COREDNS, *of_boots)
    return (KEEPALIVED, HAPROXY, COREDNS, *of_boots)


def boot_clients_of(plan: Intent, role: MachineRole) -> tuple[Server, ...]:
    """Return the servers whose network boot the machines of a role serve."""
    if role == BOOTSTRAP:
        return plan.clients_of_bootstrap
    return plan.boot_clients(Role.COMPUTE) if role is Role.CONTROL_PLANE else ()


PULL_SECRET_OF_BOOTSTRAP, PULL_SECRET_OF_NODE = "/root/.docker/config.json", "/var/lib/kubelet/config.json"
"""Paths of the pull secret, to which the payload writes it."""


def pull_secret(role: MachineRole) -> str:
    """Return the path of a machine's pull secret."""
    return PULL_SECRET_OF_BOOTSTRAP if role == BOOTSTRAP else PULL_SECRET_OF_NODE


def release(plan: Intent) -> str:
    """Return the release image that the machines ask for the services' images. Empty: they need not ask."""
    return plan.images.release if plan.runtime == "podman" else ""


def command(plan: Intent, service: Service, role: MachineRole) -> str:
    """Return the command that the service's unit starts on the machines of a role."""
    if plan.runtime == "host":
        return " ".join([service.program, *service.arguments])
    options = (
        f"--name=okd-{service.name}",
        f"--authfile={pull_secret(role)}",
        f"--entrypoint={service.image}",
        "--cap-drop=all",
        f"--cap-add={','.join(service.capabilities)}",
        *service.container,
    )
    # The unit's journal takes the logs. SELinux would keep a confined container from the machine's files.
    run = "/usr/bin/podman run --rm --replace --net=host --user=0 --log-driver=none --security-opt=label=disable"
    image = f"${{{service.variable}}}" if release(plan) else getattr(plan.images, service.image)
    return CONTINUED.join([run, *options, image, " ".join(service.arguments)])
