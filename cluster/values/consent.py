"""The option `consent`: a line per host, which names the one machine whose disk may be wiped."""

from base.errors import Fault, quoted, word
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url


def consent_command(host: str, value: str) -> str:
    """Return the command that consents to one machine, whose UUID or serial may be any text that its BMC says."""
    return f"{_setting(host)} {'-- ' if value.startswith('-') else ''}{word(value)}"


def missing_consent(host: str, address: str) -> Fault:
    """Return the fault of a host without a consent, whose BMC has this address."""
    source = f"UUID or serial as the BMC reports it ({_source(address)}, or the sticker)"
    fix = f"run `{_setting(host)} <UUID>`, with its {source}"
    return Fault(f"consent.{host}", "missing; it names the one machine whose disk may be wiped", fix)


def _setting(host: str) -> str:
    path = f'consent["{host}"]' if "." in host else f"consent.{host}"
    return f"pulumi config set --path {quoted(path)}"


def _source(address: str) -> str:
    """Return what reads the UUID of a BMC by hand. For IPMI, `-a` has ipmitool ask for the password."""
    unnamed = "/redfish/v1/Systems/<id>"
    try:
        url = parse_bmc_url(address)
    except BmcUrlError:
        return f"GET {unnamed}"
    if url.speaks_ipmi:
        return f"`ipmitool -I lanplus -H {word(url.host)} -p {word(url.port)} -U <user> -a mc guid`"
    return f"GET {url.base}{url.system_id or unnamed}"
