"""`bmc-url`: print the parts of a BMC's address."""

import argparse
import json
import re
from dataclasses import asdict
from typing import Any

from cli.shared.command import Command
from cli.shared.command_line import EXIT_INVALID, EXIT_OK
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL")


def bmc_url(options: argparse.Namespace) -> int:
    """Print the parts of each BMC's address, or why it is not valid, as one JSON object per line."""
    code = EXIT_OK
    for url in options.urls:
        parts: dict[str, Any]
        try:
            parts = asdict(parse_bmc_url(url))
        except BmcUrlError as error:
            code = EXIT_INVALID
            parts = {"url": _without_login(url), "error": str(error)}
        print(json.dumps(parts))
    return code


def _without_login(url: str) -> str:
    """Drop the login from a text that may not be a URL: all before the last @, as passwords hold any character."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", r"\1", url, flags=re.DOTALL)


COMMAND = Command(bmc_url, _add_arguments)
