"""`vrid` and `bmc-url`: print the VRIDs of a cluster's name, and the parts of a BMC's address."""

import argparse
import json
import re
from dataclasses import asdict
from typing import Any

from base.errors import ConfigError
from cli.shared.command_line import GOOD, REFUSED
from cluster.install_config.rules.names import name_fault
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url
from cluster.values.vrrp import router_ids


def vrid(options: argparse.Namespace) -> int:
    """Print the router ids of each name."""
    faults = {name: fault for name in options.names if (fault := name_fault(name))}
    for name in options.names:
        if name not in faults:
            print(name, *router_ids(name))
    if faults:
        raise ConfigError(*faults.values())
    return GOOD


def bmc_url(options: argparse.Namespace) -> int:
    """Print the parts of each address, or why it is not valid."""
    code = GOOD
    for url in options.urls:
        found: dict[str, Any]
        try:
            found = asdict(parse_bmc_url(url))
        except BmcUrlError as error:
            code = REFUSED
            found = {"url": _without_login(url), "error": str(error)}
        print(json.dumps(found))
    return code


def _without_login(url: str) -> str:
    """Drop the login from a text that may not be a URL: all before the last @, as passwords hold any character."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", r"\1", url, flags=re.DOTALL)
