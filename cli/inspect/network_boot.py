"""`network-boot`: print what a site's DHCP hands out on an Unmanaged provisioning network."""

import argparse
import json
from collections.abc import Callable

from assets.boot_server import boot_script
from assets.contract import TFTP
from assets.render import TEMPLATES
from base.errors import ConfigError, Fault
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cluster.install_config.platform import BARE, UNMANAGED
from cluster.plan import Intent, Role, load_intent
from cluster.plan.model import RESERVED
from cluster.plan.refusals.missing import MEDIA
from cluster.stack_file import read_stack_file
from cluster.values.address import IPV6

DNSMASQ = "dnsmasq"
EFI, EFI_HTTP = "option[93].hex == 0x0007 or option[93].hex == 0x0009", "option[93].hex == 0x0010"
IPXE = "option[175].exists"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--server", choices=SERVERS, default=DNSMASQ, help="the DHCP server")


def network_boot(options: argparse.Namespace) -> int:
    """Print the configuration of the site's DHCP server for a stack with provisioningNetwork Unmanaged.

    It is ready to paste: the files that firmware and iPXE boot, and the cards that need an address. With Managed, the
    cluster's own machines serve them.
    """
    intent = load_intent(install_config(options.stack), read_stack_file(stack_file(options.stack)))
    if intent.boots_over_ipv6 and options.server != DNSMASQ:
        what, fix = f"{options.server}: not known for a network of IPv6", f"write --server {DNSMASQ}"
        raise ConfigError(Fault("--server", what, fix))
    print(SERVERS[options.server](intent, _script(intent, options.stack)), end="")
    return EXIT_OK


def _script(intent: Intent, stack: str) -> str:
    """Return the URL of the script that every iPXE of the site fetches.

    Raises:
        ConfigError: Not the site's DHCP serves the hosts, or the stack does not name this program's address.
    """
    mode = intent.provisioning.mode
    if mode != UNMANAGED:
        what = f"{mode}: the site's DHCP hands out nothing for the boot of its servers"
        fault = Fault(f"{install_config(stack)}: {BARE}.provisioningNetwork", what, f"write {UNMANAGED}")
        raise ConfigError(fault)
    if intent.media.address is None:
        what = "missing: this program serves there what the hosts boot"
        raise ConfigError(Fault(f"{stack_file(stack)}: {MEDIA}", what, "name the address of this machine"))
    return boot_script(intent, Role.COMPUTE)


def _dnsmasq(intent: Intent, script: str) -> str:
    hosts = "".join(f"#   {server.boot_mac}  {server.name}\n" for server in intent.booted_from_network)
    needs = (
        f"/{RESERVED[IPV6]} of addresses each, such as [fd00::8/{RESERVED[IPV6]}],"
        if intent.boots_over_ipv6
        else "an address"
    )
    template = "common/boot-files-ipv6.conf.j2" if intent.boots_over_ipv6 else "common/boot-files.conf.j2"
    files = TEMPLATES.get_template(template).render(script=script, address="<address of this server>")
    return f"# For dnsmasq, which must give {needs} to these cards:\n{hosts}{files}"


def _kea(intent: Intent, script: str) -> str:
    next_server = "<address of the TFTP server>"
    classes = [
        {"name": "okd-ipxe", "test": IPXE, "boot-file-name": script},
        {"name": "okd-efi", "test": f"not {IPXE} and ({EFI})", "boot-file-name": "snponly.efi"},
        {"name": "okd-bios", "test": f"not {IPXE} and not ({EFI} or {EFI_HTTP})", "boot-file-name": "undionly.kpxe"},
    ]
    for client_class in classes[1:]:
        client_class["next-server"] = next_server
    reservations = [{"hw-address": server.boot_mac, "hostname": server.name} for server in intent.booted_from_network]
    document = {"client-classes": classes, "reservations": reservations}
    return (
        f"// For ISC Kea: merge into Dhcp4. The TFTP server has iPXE, as {TFTP} of the image ironic has.\n"
        f"{json.dumps(document, indent=2)}\n"
    )


SERVERS: dict[str, Callable[[Intent, str], str]] = {DNSMASQ: _dnsmasq, "kea": _kea}
"""By name of the DHCP server."""


COMMAND = Command(network_boot, _add_arguments)
