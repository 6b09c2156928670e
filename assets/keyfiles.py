"""The API VIP as the first DNS server of a server's keyfiles.

On its first boot, a server fetches its config from `api-int` in the initramfs. There, only DHCP and the keyfiles of
its boot ISO name DNS servers; no Ignition config can. CoreDNS of the machine that holds the API VIP knows `api-int`.
"""

import re
from ipaddress import ip_interface

from cluster.plan import Intent, Server
from cluster.plan.model import Keyfile
from cluster.values.address import IPV4, IPV6, Address, in_any

SECTIONS = {IPV4: "ipv4", IPV6: "ipv6"}
"""Name of a keyfile's section for each family."""
DNS_PRIORITY = 10
"""The lowest number comes first: nmstate 2.2 writes 40 and 50, and NetworkManager's default is 100. A negative number
would drop the DNS servers of all other connections."""


def asking_the_vip_first(plan: Intent, server: Server) -> tuple[Keyfile, ...]:
    """Return the keyfiles of the server's `networkConfig`, in which each API VIP comes before their own DNS servers.

    The VIP is put into the keyfile with an address in a machine network or, if there is none, into each that asks
    DHCP or a router. All keyfiles stay as they are if none does so either.
    """
    keyfiles = server.keyfiles
    for vip in plan.api.addresses:
        static = {each.name for each in keyfiles if _holds_an_address(plan, each, vip)}
        asking = {each.name for each in keyfiles if _settings(each, vip).get("method") in ("auto", "dhcp")}
        keyfiles = tuple(_with_dns(each, vip) if each.name in (static or asking) else each for each in keyfiles)
    return keyfiles


def _holds_an_address(plan: Intent, keyfile: Keyfile, vip: Address) -> bool:
    """Return whether it sets an address of the VIP's family in a machine network."""
    values = [value for key, value in _settings(keyfile, vip).items() if re.fullmatch(r"address\d+", key)]
    return any(in_any(ip_interface(value).ip, list(plan.machine_networks)) for value in values)


def _with_dns(keyfile: Keyfile, vip: Address) -> Keyfile:
    old = _settings(keyfile, vip)
    new = old | {"dns": f"{vip};{old.get('dns', '')}", "dns-priority": str(DNS_PRIORITY)}
    section = f"[{SECTIONS[vip.version]}]\n" + "".join(f"{key}={value}\n" for key, value in new.items())
    return keyfile.model_copy(update={"text": _section(vip).sub(lambda _: section, keyfile.text)})


def _settings(keyfile: Keyfile, vip: Address) -> dict[str, str]:
    """Return the settings of the VIP's family."""
    found = _section(vip).search(keyfile.text)
    return dict(line.split("=", 1) for line in found[1].splitlines()) if found else {}


def _section(vip: Address) -> re.Pattern[str]:
    return re.compile(rf"^\[{SECTIONS[vip.version]}\]\n((?:[^\[\n].*\n)*)", re.M)
