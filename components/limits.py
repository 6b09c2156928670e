"""What a plan may say, and its files can be made of, and this program cannot install yet."""

from collections.abc import Iterator

from assets.errors import AssetError
from cluster.addresses import IPV4
from cluster.plan import Intent, Server
from cluster.problems import Problem

BARE = "platform.baremetal"


def check_installable(plan: Intent) -> None:
    """Judge a plan before anything is declared from it.

    Raises:
        AssetError: One line per setting that cannot be had yet, with what works.
    """
    if found := [str(problem) for problem in (*_vips(plan), *_machines(plan))]:
        raise AssetError("\n".join(found))


def _vips(plan: Intent) -> Iterator[Problem]:
    for path, values in ((f"{BARE}.apiVIPs", plan.api.addresses), (f"{BARE}.ingressVIPs", plan.ingress.addresses)):
        if [value.version for value in values] != [IPV4]:
            listed = ", ".join(map(str, values))
            advice = "write one of IPv4, or look with `python -m assets render`"
            yield Problem(path, f"{listed}: only IPv4 was installed from end to end yet; {advice}")


def _machines(plan: Intent) -> Iterator[Problem]:
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
