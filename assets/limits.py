"""What a plan may say and these templates, and the hosts' boot ISO, cannot yet."""

from collections.abc import Iterator

from assets.errors import AssetError
from cluster.plan import Intent, Server
from cluster.problems import Problem

BARE = "platform.baremetal"
IPV4 = 4


def check_renderable(plan: Intent) -> None:
    """Judge a plan before anything is rendered from it.

    Raises:
        AssetError: One line per setting that cannot be had yet, with what works.
    """
    if found := [str(problem) for problem in (*_networks(plan), *_machines(plan))]:
        raise AssetError("\n".join(found))


def _networks(plan: Intent) -> Iterator[Problem]:
    for path, values in (
        ("networking.machineNetwork", plan.machine_networks),
        (f"{BARE}.apiVIPs", plan.api.addresses),
        (f"{BARE}.ingressVIPs", plan.ingress.addresses),
    ):
        if [value.version for value in values] != [IPV4]:
            listed = ", ".join(map(str, values))
            yield Problem(path, f"{listed}: only IPv4 is supported yet, and one entry; write one of IPv4")
    if plan.bootstrap.static:
        text = "the bootstrap VM asks DHCP for its address yet; take the three bootstrapExternalStatic keys out"
        yield Problem(f"{BARE}.bootstrapExternalStaticIP", f"{text}, and reserve one for {plan.bootstrap.mac}")


def _machines(plan: Intent) -> Iterator[Problem]:
    if not plan.compute:
        yield Problem("compute[0].replicas", "0: a cluster without compute is not supported yet; write 1 or more")
    for index, host in enumerate(plan.hosts):
        if isinstance(host, Server):
            yield from _host(f"{BARE}.hosts[{index}]", host)


def _host(path: str, host: Server) -> Iterator[Problem]:
    hints = host.root_device_hints.model_dump(by_alias=True, exclude_defaults=True)
    if hints.keys() != {"deviceName"}:
        said = f"{', '.join(hints)}: only" if hints else "missing: only"
        yield Problem(f"{path}.rootDeviceHints", f"{said} deviceName is supported yet; write that one alone")
    if host.boot_mode == "UEFISecureBoot":
        yield Problem(f"{path}.bootMode", "UEFISecureBoot: not switched on by this program yet; write UEFI")
    if host.network_config is not None:
        yield Problem(
            f"{path}.networkConfig", "not supported yet: hosts ask DHCP; take it out, and reserve addresses"
        )
