"""Requests to sushy-emulator, which is behind all BMCs; only from inside the site."""

import base64
import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from lab.twin import PASSWORD

PORT = 8000
"""Of the emulator, on the loopback of the namespace."""
LAB_USERNAME = "lab"
"""Of the lab's own login, which no drill changes."""
RESET = "/Actions/ComputerSystem.Reset"
_ANSWER_S = 30


def ask(method: str, uuid: str, below: str = "", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Send a request about a system, and return the answer; empty if it has none.

    Args:
        method: Of HTTP.
        uuid: The system's.
        below: The path below the system.
        body: Sent as JSON.

    Raises:
        OSError: The emulator does not answer, or refuses the request.
    """
    login = base64.b64encode(f"{LAB_USERNAME}:{PASSWORD}".encode()).decode()
    headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{PORT}/redfish/v1/Systems/{uuid}{below}"
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310
        return dict(json.loads(answer.read() or "{}"))
