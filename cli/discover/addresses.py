"""The addresses of BMCs as an operator names them: one, a range, a network, or a file of them."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import NamedTuple

from base.errors import ConfigError, Fault
from cluster.files import read_text
from cluster.values.address import url_host
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url

MOST = 4096
"""Addresses of one command."""
KIND = "redfish-virtualmedia"
FORMS = "write an address, a range (10.0.0.10-40), a network (10.0.0.0/26) or a bmc.address"


class BmcTarget(NamedTuple):
    """One address of a BMC."""

    address: str
    """As an install-config has it."""
    of_range: bool
    """Whether it is one of a range or network, in which not every address need have a BMC."""


def targets_of(words: Iterable[str], file: Path | None) -> list[BmcTarget]:
    """Return the addresses of a command, each once, however it is spelled, in their order.

    Args:
        words: Addresses, ranges and networks.
        file: A file with more, one per line; `#` begins a comment. None: there is none.

    Raises:
        ConfigError: One is none of these, or there are none or too many.
    """
    named = [("ADDRESS", word) for word in words]
    for number, line in enumerate(_lines(file) if file else (), start=1):
        if text := line.partition("#")[0].strip():
            named.append((f"{file}:{number}", text))
    found, faults = dict[tuple[object, ...], BmcTarget](), list[Fault]()
    for where, word in named:
        if "@" in word:  # first, because the other messages repeat the address
            fix = "take the login out of it, and write it into the file of --logins"
            faults.append(Fault(where, "credentials do not belong in an address", fix))
            continue
        try:
            for target in _targets(word):
                found.setdefault(parse_bmc_url(target.address).server, target)
        except ValueError as error:
            what = error.fault.what if isinstance(error, BmcUrlError) else error
            faults.append(Fault(where, f"{word}: {what}", FORMS))
    if not named:
        faults.append(Fault("ADDRESS", "none", f"{FORMS}, or name a file with --from"))
    if len(found) > MOST:
        faults.append(Fault("ADDRESS", f"{len(found):,} addresses, and {MOST:,} at most", "name smaller networks"))
    if faults:
        raise ConfigError(*faults)
    return [*found.values()]


def _lines(file: Path) -> list[str]:
    try:
        return read_text(file).splitlines()
    except ConfigError as error:
        fix = "name a file with an address per line"
        raise ConfigError(Fault(str(file), error.fault.what, fix)) from None


def _targets(word: str) -> Iterator[BmcTarget]:
    if "://" in word and not word.startswith(("http://", "https://")):
        if parse_bmc_url(word).speaks_ipmi:
            raise BmcUrlError("an address of IPMI, which does not tell what a server is", fix=FORMS)
        yield BmcTarget(word, of_range=False)
        return
    transport, hosts, port = _split(word)
    several = _several(hosts)
    for host in several or [hosts]:
        address = f"{KIND}+{transport}://{url_host(host)}{f':{port}' if port else ''}"
        parse_bmc_url(address)
        yield BmcTarget(address, of_range=bool(several))


def _split(word: str) -> tuple[str, str, str]:
    """Return the transport, what stands for one or several hosts, and the port; empty if none is named."""
    transport, named, rest = word.partition("://")
    transport, rest = (transport, rest.removesuffix("/")) if named else ("https", word)
    if rest.startswith("["):
        hosts, _, port = rest[1:].partition("]")
        return transport, hosts, port.removeprefix(":")
    if rest.count(":") > 1:
        return transport, rest, ""
    hosts, _, port = rest.partition(":")
    return transport, hosts, port


def _several(hosts: str) -> list[str]:
    """Return the addresses of a range or network; none if it is neither."""
    if "/" in hosts:
        network = ip_network(hosts, strict=False)
        _refuse_more_than_most(network.num_addresses)
        return [str(address) for address in network.hosts()]
    begin, hyphen, end = hosts.partition("-")
    if not hyphen or not begin.replace(".", "").isdecimal():  # else a name with a hyphen
        return []
    first, last = ip_address(begin), ip_address(end if "." in end else f"{begin.rpartition('.')[0]}.{end}")
    count = int(last) - int(first) + 1
    if count < 1:
        raise ValueError("the range ends before it begins")
    _refuse_more_than_most(count)
    return [str(first + index) for index in range(count)]


def _refuse_more_than_most(count: int) -> None:
    if count > MOST:
        raise ValueError(f"{count:,} addresses, and {MOST:,} at most")
