"""Who answers an address, asked with `arping`, `ip` and `curl`.

The program has probes of its own for these questions. Proofs that used them would hold whenever the program deceives
itself, so nothing here is the program's.
"""

import json
import re
import subprocess
import tempfile
from urllib.parse import urlsplit

from lab.shell import LabError, run

ANSWER_S = 9
"""For connect, TLS and answer: emulated machines on busy cores take seconds for each."""
_PORTS = {"http": 80, "https": 443}
_REPLY = re.compile(r"reply from \S+ \[([0-9A-Fa-f:]{17})\]")
_ANSWERED, _UNANSWERED = 0, 1
"""Statuses of arping that are no errors."""


def interface_to(address: str) -> str:
    """Name of the interface that is on the network of an address.

    Raises:
        LabError: There is no route, or none but by a gateway.
    """
    (route,) = json.loads(run("ip", "-json", "route", "get", address))
    if "gateway" in route:
        raise LabError(f"{address} is behind the gateway {route['gateway']}: ask on its own network")
    return str(route["dev"])


def answering_macs(address: str, wait_s: float = 1) -> frozenset[str]:
    """MACs that answer for an IPv4 address within `wait_s` seconds; several where several machines have it.

    Raises:
        LabError: It cannot be asked.
    """
    # -b: after a first reply, arping would ask that one machine alone. It prints every reply, and ends by a signal.
    patience = ("timeout", "--preserve-status", "--signal=INT", f"{wait_s:g}")
    command = [*patience, "arping", "-b", "-I", interface_to(address), address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (_ANSWERED, _UNANSWERED):
        raise LabError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr.strip()}")
    return frozenset(mac.lower() for mac in _REPLY.findall(done.stdout))


def status(url: str, address: str, ca_pem: str = "") -> int:
    """Status of a GET at one address, by the URL's name and with its certificate checked; 0: no answer.

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
