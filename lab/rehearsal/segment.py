"""Probes of an address with `arping`, `ip` and `curl`.

The proofs do not use the program's own probes, since a wrong probe would deceive the program and its proof alike.
"""

import json
import re
import subprocess
import tempfile
from urllib.parse import urlsplit

from lab.shell import LabError, run

ANSWER_S = 9
"""Time for connect, TLS and answer: emulated machines on busy cores take seconds for each."""
_PORTS = {"http": 80, "https": 443}
_REPLY = re.compile(r"reply from \S+ \[([0-9A-Fa-f:]{17})\]")
_ANSWERED, _UNANSWERED = 0, 1
"""Exit statuses of arping that are not errors."""


def interface_to(address: str) -> str:
    """Return the name of the interface that is on the network of an address.

    Raises:
        LabError: There is no route, or only one through a gateway.
    """
    (route,) = json.loads(run("ip", "-json", "route", "get", address))
    if "gateway" in route:
        raise LabError(f"{address} is behind the gateway {route['gateway']}; a machine of its own network is wanted")
    return str(route["dev"])


def answering_macs(address: str, wait_s: float = 1) -> frozenset[str]:
    """Return the MACs that answer for an IPv4 address within `wait_s` seconds; several if several machines have it.

    Raises:
        LabError: arping failed.
    """
    # -b: without it, arping asks only the first machine that replies. It prints every reply, and ends by a signal.
    patience = ("timeout", "--preserve-status", "--signal=INT", f"{wait_s:g}")
    command = [*patience, "arping", "-b", "-I", interface_to(address), address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (_ANSWERED, _UNANSWERED):
        raise LabError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr.strip()}")
    return frozenset(mac.lower() for mac in _REPLY.findall(done.stdout))


def status(url: str, address: str, ca_pem: str = "") -> int:
    """Return the status of a GET of `url` at `address`, with the certificate verified; 0 for no answer.

    Raises:
        LabError: curl is not installed.
    """
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}:{address}"
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as ca:
        ca.write(ca_pem)
        ca.flush()
        trust = ("--cacert", ca.name) if ca_pem else ()
        quiet = ("--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", str(ANSWER_S))
        command = ["curl", *quiet, "--noproxy", "*", "--resolve", place, *trust, url]
        try:
            return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        except FileNotFoundError as missing:
            raise LabError("curl is not installed; lab/packages.txt lists what the rehearsal needs") from missing
