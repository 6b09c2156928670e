"""Options that `up` needs and that are missing, or that contradict each other or the install-config."""

from collections.abc import Container, Iterator
from urllib.parse import urlsplit

from base.errors import Fault
from cluster.install_config.platform import BARE, UNMANAGED
from cluster.options import MediaOption, Options
from cluster.plan.model import Intent
from cluster.plan.refusals.fencing import refused_reinstalls
from cluster.plan.refusals.missing import MEDIA, missing
from cluster.stack_file import LOGINS, NOTIFY_URL, PULL_SECRET
from cluster.values import pull_secret, web_hook
from cluster.values.consent import missing_consent
from cluster.values.phase import Phase

OWN_MACHINE = (
    "name each host's own machine, which `okd-baremetal bmc consent <stack>` reads; if that reads one machine for "
    "both, correct the bmc.address of one of them"
)


def incomplete(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield the options that `up` needs and that are missing or contradictory."""
    yield from (value for value in missing(intent) if value.where != MEDIA)  # see _no_boot_server
    yield from _consents(intent, options)
    yield from _only_for_redfish(intent, options)
    yield from _machines_named_twice(options)
    yield from refused_reinstalls(intent, options)
    yield from _sleepless(intent, options)
    yield from _base_of_the_bootstrap(options)
    yield from _unreachable_by_plugin(intent, options)
    yield from no_base_iso(intent, options.media)
    yield from _no_boot_server(intent, options.media)
    yield from _payload_of_arbiters(intent, options)
    yield from _quorum(intent, options)


def no_base_iso(intent: Intent, media: MediaOption) -> Iterator[Fault]:
    """Yield the option of each architecture that servers are of, and that has no base ISO."""
    for architecture in sorted({*intent.architectures.values()} - media.base_isos.keys()):
        fix = f"name the SHA-256 of CoreOS' live ISO of {architecture}"
        yield Fault(f"{architecture.option}.sha256", f"missing, and servers are of {architecture}", fix)


def _no_boot_server(intent: Intent, media: MediaOption) -> Iterator[Fault]:
    """Yield the option that leaves the hosts that boot from the network without this program's server."""
    hosts = [server.name for server in intent.servers if server.fetches_installer]
    if hosts and media.url:
        what = f"a web server, but only this program serves hosts that boot from the network: {', '.join(hosts)}"
        yield Fault("media.url", what, "name media.address instead")
    there, address = intent.provisioning, intent.media.address
    alone = there.mode == UNMANAGED and intent.booted_from_network  # elsewhere, a proxy has both families
    if alone and there.cidr and address and address.version != there.cidr.version:
        what = f"{address}, but hosts boot over provisioningNetworkCIDR {there.cidr}"
        yield Fault(MEDIA, what, f"name an address of IPv{there.cidr.version} of this machine")


def secrets_over_http(intent: Intent) -> Iterator[Fault]:
    """Yield the hosts whose `networkConfig` holds a secret that would go over plain HTTP, and none of them may.

    The BMC of another host fetches it over TLS; one that cannot do so refuses the ISO when the host is installed.
    """
    for index, host in enumerate(intent.hosts):
        in_the_clear = host.fetches_installer or intent.media.url.startswith("http:")
        if not (host.role and host.holds_secret and in_the_clear) or intent.media.may_go_in_the_clear(host.name):
            continue
        what, fix = "media.url would send it over plain HTTP", "have media.url begin with https"
        if host.fetches_installer:
            what = "a host that boots from the network would get it over plain HTTP"
            fix = f"set bmc.address to {host.bmc.url.instead}"
        fix += f", remove the secret, or set media.plain_http.{host.name} to true, which sends it in the clear"
        yield Fault(f"{BARE}.hosts[{index}].networkConfig", f"holds a secret, and {what}", fix)


def plain_secrets(options: Options, plain: Container[str]) -> Iterator[Fault]:
    """Yield a fault for each of the options in `plain`, which are not encrypted, that has a secret."""
    texts = (PULL_SECRET, options.pull_secret, pull_secret.SET), (NOTIFY_URL, options.notify_url, web_hook.SET)
    for name, secret, command in texts:
        if name in plain and secret:
            what = "it is in plain text, as it would be in each commit of the stack's file"
            yield Fault(name, what, f"set it with `{command}`")
    if LOGINS in plain and options.bmc_credentials:
        fix = f"set each password with `pulumi config set --secret --path '{LOGINS}.<host>.password'`"
        yield Fault(LOGINS, "they are in plain text, as they would be in the state", fix)


def _consents(intent: Intent, options: Options) -> Iterator[Fault]:
    for server in intent.servers:
        if not options.consent.get(server.name, "").strip():
            yield missing_consent(server.name, server.bmc.address)
    names = [host.name for host in intent.hosts]
    by_host = ("consent", "wipe_disks", "bmc_credentials", "bmc_trust", "reinstall")
    named = {option: getattr(options, option) for option in by_host}
    for option, lines in {**named, "media.plain_http": options.media.plain_http}.items():
        for name in lines:
            if name not in names:
                yield Fault(f"{option}.{name}", "no such host", "remove it, or write the name of a host")


def _only_for_redfish(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield the options of hosts whose BMC speaks IPMI that say how to reach a Redfish service.

    Releases without IPMI read an address without a type as one of Redfish, so such options may belong to it.
    """
    fix = "remove it, or write redfish:// in bmc.address, if that BMC speaks Redfish"
    for name in (host.name for host in intent.hosts if host.bmc.url.speaks_ipmi):
        if name in options.bmc_trust:
            yield Fault(f"bmc_trust.{name}", "its BMC speaks IPMI, which has no certificates", fix)
        if name in options.bmc_credentials and options.bmc_credentials[name].session:
            what = "its BMC speaks IPMI, which has no sessions of Redfish"
            yield Fault(f"bmc_credentials.{name}.session", what, fix)


def _machines_named_twice(options: Options) -> Iterator[Fault]:
    """Yield the lines that allow the disk of a machine to be wiped for a second host."""
    first = dict[str, tuple[str, str]]()
    for option, lines in (("consent", options.consent), ("reinstall", options.reinstall)):
        for host, machine in lines.items():
            where, owner = first.setdefault(machine.strip().lower(), (f"{option}.{host}", host))
            if machine.strip() and owner != host:
                what = f"{machine} is named by {where} already, and a machine is one host"
                yield Fault(f"{option}.{host}", what, OWN_MACHINE)


def _sleepless(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield why the cluster cannot sleep, if it is to."""
    if options.is_asleep and options.phase is Phase.BOOTSTRAP:
        yield Fault("power", "off in phase bootstrap, in which the cluster is installed", "write on, or remove it")
    if options.is_asleep and intent.is_fenced:
        what = "off, and its two servers fence each other: a fence agent switches on what it finds off"
        yield Fault("power", what, "write on, or remove it")


def _base_of_the_bootstrap(options: Options) -> Iterator[Fault]:
    """Check that the base volume is either named, or made from an image."""
    vm, provisioner = options.bootstrap, options.provisioner
    if not provisioner.manage:
        if not vm.base_volume:
            fix = "name a qcow2 volume of the pool, or have one made with provisioner.manage: true"
            yield Fault("bootstrap.base_volume", "missing", fix)
        return
    if provisioner.base_image is None:
        fix = "name source and sha256 of the bootstrap's image"
        yield Fault("provisioner.base_image", "missing with provisioner.manage: true", fix)
    if vm.base_volume:
        what = f"{vm.base_volume} is not used: provisioner.manage: true makes a volume from base_image"
        yield Fault("bootstrap.base_volume", what, "remove it")
    if vm.base_sha256:
        what = "not used: with provisioner.manage: true, provisioner.base_image.sha256 has it"
        yield Fault("bootstrap.base_sha256", what, "remove it")


def _unreachable_by_plugin(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield what pulumi-libvirt cannot use in a URI over SSH; libvirt itself can (tried with its plugin 0.5.4)."""
    try:
        uri = urlsplit(intent.libvirt_uri)
    except ValueError:
        return  # libvirt itself refuses it
    if not (options.provisioner.manage and uri.scheme.endswith("+ssh")):
        return
    by_hand = "make pool and volume by hand (false)"
    wants = {
        "no user": (not uri.username, "write qemu+ssh://<user>@<host>/system there"),
        "a port": (":" in uri.netloc.rpartition("@")[2].rpartition("]")[2], f"have sshd listen on 22, or {by_hand}"),
        "an IPv6 address": ("[" in uri.netloc, f"write a name that resolves to it, or {by_hand}"),
    }
    for what, (is_there, fix) in wants.items():
        if is_there:
            seen = f"true, but {BARE}.libvirtURI has {what}, with which pulumi-libvirt cannot connect"
            yield Fault("provisioner.manage", seen, fix)


def _payload_of_arbiters(intent: Intent, options: Options) -> Iterator[Fault]:
    if intent.arbiters and not options.payload.arbiter:
        what = "missing: an arbiter boots from a file of its own"
        yield Fault("payload.arbiter", what, "generate the payload again: `okd-baremetal payload`")


def _quorum(intent: Intent, options: Options) -> Iterator[Fault]:
    """Check that min_ready is a majority, because etcd needs one when the bootstrap VM's member is gone."""
    wanted, members = options.handoff.min_ready, len(intent.control_plane)
    least = members // 2 + 1
    if wanted is not None and not least <= wanted <= members:
        what = f"{wanted}: a majority of the {members} control-plane hosts is wanted"
        yield Fault("handoff.min_ready", what, f"write {least} to {members}")
