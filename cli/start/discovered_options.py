"""Finds the options of a new stack: each with its value, or with what is left to do."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from base.errors import HypervisorError, word
from cli.shared.interrupts import threads
from cli.start.new_stack import Option
from cli.start.openshift_install import NAME, OVERRIDE, STREAM_NAMES, Image, Release, print_stream
from cli.start.site_facts import SiteFacts
from cluster.install_config.platform import DISABLED
from cluster.options import Bootstrap
from cluster.plan.model import BootstrapHost, Intent, Server
from cluster.plan.refusals.missing import missing, option_of
from cluster.values.address import Address, in_any, parse_address
from cluster.values.architecture import Architecture
from cluster.values.phase import Phase
from providers.pulumi.workers import WORKERS

POOL = Bootstrap().pool
IMAGES = "/var/lib/libvirt/images"


class Reservation(NamedTuple):
    """A machine that lacks addresses, and what NetBox or DNS has for its name."""

    machine: Server | BootstrapHost
    families: list[int]
    """The families of which it lacks one, the primary one first; the others are static."""
    source: str
    """`NetBox` or `DNS`."""
    name: str
    addresses: list[Address]


class NewStack(NamedTuple):
    """The stack that gets the options."""

    name: str
    options: Mapping[str, Any]
    """Those that it has. An encrypted one is `{"secure": …}`."""
    consents: Mapping[str, str]
    """The consents that are known, by host."""
    os_image_stream: str
    """That of its install-config; empty: the release's."""
    primary_ips: Mapping[str, list[Address]] = {}
    """Those that NetBox has, by host: what it has for one counts in place of DNS."""

    @property
    def base_volume(self) -> object:
        """The base volume that it names, if any."""
        bootstrap = self.options.get("bootstrap")
        return bootstrap.get("base_volume") if isinstance(bootstrap, Mapping) else None

    def stream_command(self, architecture: Architecture, artifact: str) -> str:
        """Return the command that prints an image of CoreOS."""
        stream = " ".join((NAME, *print_stream(self.os_image_stream)))
        return f"{stream} | jq '.architectures.{STREAM_NAMES[architecture]}.artifacts.{artifact}'"


def discover_options(intent: Intent, site: SiteFacts, stack: NewStack) -> Iterator[Option]:
    """Yield the options of a stack, in the order of its file. One is always known: Pulumi drops an empty section.

    Args:
        intent: What its install-config asks for.
        site: Answers what the install-config does not say.
        stack: The stack.
    """
    release = site.release(stack.os_image_stream) or Release()
    yield Option(("phase",), Phase.BOOTSTRAP)
    yield from _addresses(intent, site, stack.primary_ips)
    yield from _base_volume(intent, site, stack, release)
    for server in intent.servers:
        command = f"okd-baremetal bmc consent {word(stack.name)} --write"
        yield Option(("consent", server.name), stack.consents.get(server.name), "<UUID or serial>", command=command)
    for name in intent.payload_files:
        yield Option(("payload", name), wanted="<sha256>", command=f"okd-baremetal payload {word(stack.name)}")
    image, tool = release.image or None, f"${OVERRIDE}" if release.is_overridden else f"{NAME} version"
    yield Option(("images", "release"), image, "<name>@sha256:<digest>", f"of `{tool}`" if image else "", tool)
    yield _media_address(intent, site)
    for architecture in sorted({*intent.architectures.values()}):
        yield from _base_iso(architecture, release.isos.get(architecture), stack)


def _addresses(intent: Intent, site: SiteFacts, primary_ips: Mapping[str, list[Address]]) -> Iterator[Option]:
    """Yield the addresses of the machines that DHCP configures, as NetBox or DNS has them; the VM's comes last."""
    lacking = dict[str, list[int]]()
    for option in missing(intent):
        if option.version:
            lacking.setdefault(option.where, []).append(option.version)
    everyone: list[Server | BootstrapHost] = [*intent.servers, intent.bootstrap]
    machines = [machine for machine in everyone if option_of(machine) in lacking]
    hosts = ["bootstrap" if machine is intent.bootstrap else machine.name for machine in machines]
    with threads(WORKERS) as pool:
        answers = pool.map(
            lambda host: (
                ("NetBox", host, primary_ips[host])
                if primary_ips.get(host)
                else ("DNS", *_in_dns(site, host, intent.domain))
            ),
            hosts,
        )
    known = [
        Reservation(machine, lacking[option_of(machine)], *answer)
        for machine, answer in zip(machines, answers, strict=True)
    ]
    for answer in known:
        yield _address(intent, answer, [other for other in known if other is not answer])


def _in_dns(site: SiteFacts, host: str, domain: str) -> tuple[str, list[Address]]:
    """Return the name by which DNS knows a host, and its addresses. A host's name with a dot may be complete."""
    names = [host, f"{host}.{domain}"] if "." in host else [f"{host}.{domain}"]
    answers = ((name, site.addresses(name)) for name in names)
    return next((answer for answer in answers if answer[1]), (names[0], []))


def _address(intent: Intent, answer: Reservation, others: list[Reservation]) -> Option:
    """Return the addresses that a machine lacks: one per family, in a machine network, and no other's."""
    taken = {*intent.api.addresses, *intent.ingress.addresses}
    taken |= {address for other in others for address in other.addresses}
    versions = answer.families
    networks = [network for network in intent.machine_networks if network.version in versions]
    usable = {address for address in answer.addresses if in_any(address, networks) and address not in taken}
    value = sorted(usable, key=lambda address: versions.index(address.version))
    path, card = ("node_addresses", answer.machine.name), "its card on the machine network"
    if isinstance(answer.machine, BootstrapHost):
        path, card = ("bootstrap", "address"), f"the VM's MAC, {answer.machine.mac}"
    elif intent.provisioning.mode == DISABLED:
        card = answer.machine.boot_mac
    if [address.version for address in value] == versions:
        return Option(path, [str(address) for address in value], comment=f"DHCP reserves it for {card}")
    known = f"{answer.source} has {', '.join(map(str, answer.addresses)) or 'none'}"
    families = [f"<IPv{version} address>" for version in versions]
    name = Option(path).name
    commands = [f"pulumi config set --path '{name}[{index}]' '{family}'" for index, family in enumerate(families)]
    comment = f"what DHCP reserves for {card}; {known} for {answer.name}"
    return Option(path, None, f"[{', '.join(families)}]", comment, "; ".join(commands))


def _base_volume(intent: Intent, site: SiteFacts, stack: NewStack, release: Release) -> Iterator[Option]:
    """Yield the volume that the bootstrap VM's disk is to be an overlay of, and its digest.

    It is the release's, if `_download` has put that into the pool; else the only one in the pool.
    """
    path, architecture = ("bootstrap", "base_volume"), site.architecture()
    image = release.base_volumes.get(architecture) if architecture else None
    digest = (
        [Option(("bootstrap", "base_sha256"), image.sha256, comment="the release's; `up` compares the volume")]
        if image
        else []
    )
    if stack.base_volume:
        yield from digest if image and stack.base_volume == _volume(image) else ()
        return
    try:
        volumes = site.base_volumes(intent.libvirt_uri, POOL)
        what = f"the pool {POOL} has {', '.join(volumes) or 'no qcow2 volume without a backing file'}"
    except HypervisorError as error:
        volumes, what = [], error.fault.what
    if image and _volume(image) in volumes:
        yield Option(path, _volume(image), comment="the release's CoreOS")
        yield from digest
    elif len(volumes) == 1:
        yield Option(path, volumes[0], comment=f"the only one in the pool {POOL}: is it the release's CoreOS?")
        yield from digest
    else:
        command = stack.stream_command(architecture or Architecture.AMD64, "qemu.formats")
        yield Option(path, None, "<qcow2 volume>", what, _download(image) if image else command)


def _volume(image: Image) -> str:
    """Return the name of a release's base volume: a download must not overwrite that of another, which may run."""
    return f"coreos-{image.sha256[:12]}.qcow2"


def _download(image: Image) -> str:
    """Return the commands that put a base volume into the pool, and name it and its digest."""
    unpack = "xz -dc" if image.url.endswith(".xz") else "gzip -dc"
    steps = (
        f"curl -fL {word(image.url)} | {unpack} >{IMAGES}/{word(_volume(image))}",
        f"virsh pool-refresh {POOL}",
        f"pulumi config set --path bootstrap.base_volume {word(_volume(image))}",
        f"pulumi config set --path bootstrap.base_sha256 {word(image.sha256)}",
    )
    return " && ".join(steps)


def _media_address(intent: Intent, site: SiteFacts) -> Option:
    """Return the address of this machine that the BMCs reach, if all reach the same."""
    sources = {server.name: site.source_to(server.bmc.url.host) for server in intent.servers}
    path, different = ("media", "address"), sorted({*sources.values()})
    if len(different) == 1 and parse_address(different[0]):
        return Option(path, different[0], comment="this machine's towards the BMCs")
    addresses = ", ".join(f"{name} {source}" for name, source in sources.items())
    return Option(path, None, "<address>", f"this machine's, as the BMCs reach it: {addresses}")


def _base_iso(architecture: Architecture, image: Image | None, stack: NewStack) -> Iterator[Option]:
    section = tuple(architecture.option.split("."))
    command = stack.stream_command(architecture, "metal.formats.iso")
    known = {"sha256": image.sha256, "url": image.url} if image else {}
    for key in ("sha256", "url"):
        yield Option((*section, key), known.get(key), f"<{key} of the live ISO>", command=command)
