"""Finds the options of a new stack: each with its value, or with what is left to do."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from base.errors import HypervisorError
from cli.start.new_stack import Option
from cli.start.openshift_install import STREAM_NAMES, Image, Release
from cli.start.site_facts import SiteFacts
from cluster.install_config.platform import DISABLED
from cluster.options import Bootstrap
from cluster.plan.model import BootstrapHost, Intent, Server
from cluster.plan.refusals import missing, option_of
from cluster.values.address import Address, in_any
from cluster.values.architecture import Architecture
from providers.pulumi.workers import WORKERS

POOL = Bootstrap().pool
IMAGES = "/var/lib/libvirt/images"
STREAM = "openshift-install coreos print-stream-json | jq '.architectures.{}.artifacts.{}'"


class Named(NamedTuple):
    """A machine without a static address, and what DNS has for its name."""

    machine: Server | BootstrapHost
    name: str
    answers: list[Address]


def found_options(intent: Intent, site: SiteFacts, stack: str, consents: Mapping[str, str]) -> Iterator[Option]:
    """Yield the options of a stack, in the order of its file.

    Args:
        intent: What its install-config alone asks for.
        site: Answers what the install-config does not say.
        stack: Its name.
        consents: The consents that are known, by host.
    """
    release = site.release() or Release()
    yield from _addresses(intent, site)
    yield from _base_volume(intent, site, release)
    for server in intent.servers:
        command = f"okd-baremetal bmc consent {stack} --write"
        yield Option(("consent", server.name), consents.get(server.name), "<UUID or serial>", command=command)
    for name in ("bootstrap", "master", "worker"):
        yield Option(("payload", name), wanted="<sha256>", command=f"okd-baremetal payload {stack}")
    image, comment = release.image or None, "of `openshift-install version`"
    yield Option(("images", "release"), image, "<name>@sha256:<digest>", comment, "openshift-install version")
    yield _media_address(intent, site)
    for architecture in sorted({*intent.architectures.values()}):
        yield from _base_iso(architecture, release.isos.get(architecture))


def _addresses(intent: Intent, site: SiteFacts) -> Iterator[Option]:
    """Yield the addresses of the machines that DHCP places, as DNS has them; the bootstrap VM's comes last."""
    lacking = {each.where for each in missing(intent)}
    everyone: list[Server | BootstrapHost] = [*intent.servers, intent.bootstrap]
    machines = [each for each in everyone if option_of(each) in lacking]
    names = [f"{'bootstrap' if each is intent.bootstrap else each.name}.{intent.domain}" for each in machines]
    with ThreadPoolExecutor(WORKERS) as threads:
        answers = threads.map(site.addresses, names)
    asked = [Named(machine, name, [*found]) for machine, name, found in zip(machines, names, answers, strict=True)]
    for each in asked:
        yield _address(intent, each, [other for other in asked if other is not each])


def _address(intent: Intent, asked: Named, others: list[Named]) -> Option:
    """Return a machine's addresses: one per family of the API VIP, in a machine network, and no other's."""
    taken = {*intent.api.addresses, *intent.ingress.addresses, *(each for other in others for each in other.answers)}
    versions = [vip.version for vip in intent.api.addresses]
    homes = [network for network in intent.machine_networks if network.version in versions]
    good = {each for each in asked.answers if in_any(each, homes) and each not in taken}
    value = sorted(good, key=lambda each: versions.index(each.version))
    path, card = ("node_addresses", asked.machine.name), "its card on the machine network"
    if isinstance(asked.machine, BootstrapHost):
        path, card = ("bootstrap", "address"), f"the VM's MAC, {asked.machine.mac}"
    elif intent.provisioning.mode == DISABLED:
        card = asked.machine.boot_mac
    if [each.version for each in value] == versions:
        return Option(path, [str(each) for each in value], comment=f"DHCP reserves it for {card}")
    seen = f"DNS has {', '.join(map(str, asked.answers))}" if asked.answers else "DNS has none"
    families = [f"<IPv{version} address>" for version in versions]
    name = Option(path).name
    command = "; ".join(f"pulumi config set --path '{name}[{index}]' '{each}'" for index, each in enumerate(families))
    comment = f"what DHCP reserves for {card}; {seen} for {asked.name}"
    return Option(path, None, f"[{', '.join(families)}]", comment, command)


def _base_volume(intent: Intent, site: SiteFacts, release: Release) -> Iterator[Option]:
    """Yield the volume that the bootstrap VM's disk is to be an overlay of, if the pool has one alone."""
    path, architecture = ("bootstrap", "base_volume"), site.architecture()
    image = release.base_volumes.get(architecture) if architecture else None
    try:
        volumes = site.base_volumes(intent.libvirt_uri, POOL)
        seen = f"the pool {POOL} has {', '.join(volumes) or 'no qcow2 that is no overlay'}"
    except HypervisorError as error:
        volumes, seen = [], error.fault.what
    if len(volumes) == 1:
        yield Option(path, volumes[0], comment=f"the only one in the pool {POOL}: is it the release's CoreOS?")
        if image:
            yield Option(
                ("bootstrap", "base_sha256"), image.sha256, comment="the release's; `up` compares the volume"
            )
        return
    command = STREAM.format(STREAM_NAMES.get(architecture or Architecture.AMD64), "qemu.formats")
    if image:
        unpack = "xz -dc" if image.url.endswith(".xz") else "gzip -dc"
        file = f"{IMAGES}/coreos-qemu.qcow2"
        command = f"curl -L {image.url} | {unpack} >{file} && virsh pool-refresh {POOL}"
    yield Option(path, None, "<qcow2 volume>", f"{seen}; {command}", command)


def _media_address(intent: Intent, site: SiteFacts) -> Option:
    """Return the address of this machine that the BMCs reach, if all reach the same."""
    sources = {server.name: site.source_to(server.bmc.url.host) for server in intent.servers}
    path, different = ("media", "address"), sorted({*sources.values()})
    if len(different) == 1 and different[0]:
        return Option(path, different[0], comment="this machine's towards the BMCs")
    seen = ", ".join(f"{name} {source or 'by no route'}" for name, source in sources.items())
    return Option(path, None, "<address>", f"this machine's, as the BMCs reach it: {seen}")


def _base_iso(architecture: Architecture, image: Image | None) -> Iterator[Option]:
    section = tuple(architecture.option.split("."))
    command = STREAM.format(STREAM_NAMES[architecture], "metal.formats.iso")
    given = {"sha256": image.sha256, "url": image.url} if image else {}
    for key in ("sha256", "url"):
        yield Option((*section, key), given.get(key), f"<{key} of the live ISO>", "" if image else command, command)
