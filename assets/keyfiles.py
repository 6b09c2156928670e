"""The keyfiles of the provisioning network, and the API VIP as the first DNS server of a server's other keyfiles.

On its first boot, a server fetches its config from `api-int` in the initramfs. There, only DHCP and the keyfiles of
its boot ISO name DNS servers; no Ignition config can. CoreDNS of the machine that holds the API VIP knows `api-int`.
"""

import re
from collections.abc import Mapping
from ipaddress import ip_interface

from cluster.plan import Intent, Server
from cluster.plan.model import Keyfile
from cluster.values.address import IPV4, IPV6, Address, in_any

SECTIONS = {IPV4: "ipv4", IPV6: "ipv6"}
"""Name of a keyfile's section for each family."""
DNS_PRIORITY = 10
"""The lowest number comes first: nmstate 2.2 writes 40 and 50, and NetworkManager's default is 100. A negative number
would drop the DNS servers of all other connections."""
PROVISIONING_PRIORITY, ANY_CARD_PRIORITY = -1, -2
"""Of the profiles that fit a card, NetworkManager takes the one with the highest autoconnect-priority. nmstate writes
none, which is 0: so a `networkConfig` for the card on the provisioning network is what counts. NetworkManager's own
profiles have -100 (in the initramfs) and -999."""
_ASKING = ("auto", "dhcp")
_BY_MAC = {"dhcp-duid": "ll", "dhcp-iaid": "mac"}
"""A DHCPv6 server knows the machine by its MAC, as CoreOS has it for IPv4. By default, NetworkManager shows the id of
the machine. That is another one in the live system, in the initramfs and in the installed system: so only the first
would get the address that is reserved."""


def by_dhcp() -> dict[str, dict[str, str]]:
    """Return the settings that ask DHCP and routers for the addresses of both families, by section."""
    return {"ipv4": {"method": "auto"}, "ipv6": {"method": "auto", **_BY_MAC}}


def on_provisioning_network(plan: Intent, address: Address | None) -> dict[str, dict[str, str]]:
    """Return the settings of a card on the provisioning network, by section.

    They bring neither a default route nor DNS: those are the machine network's. Hosts boot there by one family only;
    without the other, no router there can give the machine an address, a route or a DNS server.

    Args:
        plan: The plan.
        address: The machine's own address there. None: the site's DHCP has it.
    """
    family, network = IPV6 if plan.boots_over_ipv6 else IPV4, plan.provisioning.cidr
    asking = {"method": "auto", "ignore-auto-dns": "true", "ignore-auto-routes": "true"}
    if family == IPV6:
        asking |= _BY_MAC
    own = {"method": "manual", "address1": f"{address}/{network.prefixlen}"} if address and network else asking
    none = {section: {"method": "disabled"} for section in SECTIONS.values()}
    return none | {SECTIONS[family]: {**own, "never-default": "true"}}


def known_by_its_mac(keyfile: Keyfile) -> Keyfile:
    """Return the keyfile, in which DHCPv6 knows the machine by its MAC, unless it says otherwise."""
    settings = _settings(keyfile, IPV6)
    return _with(keyfile, IPV6, _BY_MAC | settings) if settings.get("method") in _ASKING else keyfile


def asking_the_vip_first(plan: Intent, server: Server) -> tuple[Keyfile, ...]:
    """Return the keyfiles of the server's `networkConfig`, in which each API VIP comes before their own DNS servers.

    The VIP is put into the keyfile with an address in a machine network or, if there is none, into each that asks
    DHCP or a router. All keyfiles stay as they are if none does so either. An interface that is down counts for none.
    """
    keyfiles = server.keyfiles
    for vip in plan.api.addresses:
        used = [keyfile for keyfile in keyfiles if "autoconnect=false" not in keyfile.text.split("\n")]
        static = {keyfile.name for keyfile in used if _holds_an_address(plan, keyfile, vip)}
        asking = {keyfile.name for keyfile in used if _settings(keyfile, vip.version).get("method") in _ASKING}
        keyfiles = tuple(
            _with_dns(keyfile, vip) if keyfile.name in (static or asking) else keyfile for keyfile in keyfiles
        )
    return keyfiles


def _holds_an_address(plan: Intent, keyfile: Keyfile, vip: Address) -> bool:
    """Return whether it sets an address of the VIP's family in a machine network."""
    values = [value for key, value in _settings(keyfile, vip.version).items() if re.fullmatch(r"address\d+", key)]
    return any(in_any(ip_interface(value).ip, list(plan.machine_networks)) for value in values)


def _with_dns(keyfile: Keyfile, vip: Address) -> Keyfile:
    old = _settings(keyfile, vip.version)
    new = old | {"dns": f"{vip};{old.get('dns', '')}", "dns-priority": str(DNS_PRIORITY)}
    return _with(keyfile, vip.version, new)


def _with(keyfile: Keyfile, version: int, settings: Mapping[str, str]) -> Keyfile:
    """Return the keyfile with these settings of a family in place of its own."""
    section = f"[{SECTIONS[version]}]\n" + "".join(f"{key}={value}\n" for key, value in settings.items())
    return keyfile.changed(text=_section(version).sub(lambda _: section, keyfile.text))


def _settings(keyfile: Keyfile, version: int) -> dict[str, str]:
    """Return the settings of a family."""
    section = _section(version).search(keyfile.text)
    return dict(line.split("=", 1) for line in section[1].split("\n") if line) if section else {}


def _section(version: int) -> re.Pattern[str]:
    return re.compile(rf"^\[{SECTIONS[version]}\]\n((?:[^\[\n].*\n)*)", re.M)
