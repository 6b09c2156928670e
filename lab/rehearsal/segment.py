"""Probes of an address with `arping`, `ndisc6`, `ip` and `curl`.

The proofs do not use the program's own probes, since a wrong probe would deceive the program and its proof alike.
"""

import json
import re
import subprocess
import tempfile
from ipaddress import ip_address
from urllib.parse import urlsplit

from cluster.values.address import IPV4
from lab.shell import LabError, run

ANSWER_S = 9
"""Time for connect, TLS and answer: emulated machines on busy cores take seconds for each."""
_PORTS = {"http": 80, "https": 443}
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b")


def interface_to(address: str) -> str:
    """Return the name of the interface that is on the network of an address.

    Raises:
        LabError: There is no route, or only one through a gateway.
    """
    (route,) = json.loads(run("ip", "-json", "route", "get", address))
    if "gateway" in route:
        raise LabError(
            f"{address} is behind the gateway {route['gateway']}; wanted an address on a network of this machine"
        )
    return str(route["dev"])


def answering_macs(address: str, wait_s: float = 1) -> frozenset[str]:
    """Return the MACs that answer for an address within `wait_s` seconds: several if several machines have it.

    Raises:
        LabError: arping or ndisc6 failed.
    """
    probe = _arping if ip_address(address).version == IPV4 else _ndisc6
    command, unanswered = probe(address, wait_s)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, unanswered):
        raise LabError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr.strip()}")
    return frozenset(mac.lower() for mac in _MAC.findall(done.stdout))


def _arping(address: str, wait_s: float) -> tuple[list[str], int]:
    """Return the command, and its exit status if no machine answers."""
    # -b: without it, arping asks only the first machine that replies. It prints every reply, and ends by a signal.
    limit = ("timeout", "--preserve-status", "--signal=INT", f"{wait_s:g}")
    return [*limit, "arping", "-b", "-I", interface_to(address), address], 1


def _ndisc6(address: str, wait_s: float) -> tuple[list[str], int]:
    """Return the command, and its exit status if no machine answers."""
    limit = ("-r", "1", "-w", f"{wait_s * 1000:.0f}")
    # -m: without it, ndisc6 ends at the first machine that replies. It refuses two long options together.
    return ["ndisc6", "-q", "-m", *limit, address, interface_to(address)], 2


def status(url: str, address: str, ca_pem: str = "") -> int:
    """Return the status of a GET of `url` at `address`, with the certificate verified; 0 for no answer.

    Raises:
        LabError: curl is not installed.
    """
    parts = urlsplit(url)
    host = f"[{address}]" if ":" in address else address
    resolved = f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}:{host}"
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as ca:
        ca.write(ca_pem)
        ca.flush()
        trust = ("--cacert", ca.name) if ca_pem else ()
        quiet = ("--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", str(ANSWER_S))
        command = ["curl", *quiet, "--noproxy", "*", "--resolve", resolved, *trust, url]
        try:
            return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        except FileNotFoundError as missing:
            raise LabError("curl is not installed; lab/packages.txt lists what the rehearsal needs") from missing
