"""Run a fleet in a separate process: it reads its options from the first line of stdin, and ends with stdin."""

import asyncio
import json
import resource
import sys
from asyncio import sslproto
from typing import Any

from testing.fakes.fleet.server import Options, serve


def _ready(endpoints: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(endpoints) + "\n")
    sys.stdout.flush()


# Each host needs three sockets, and the fleet a few more.
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
# asyncio keeps a read buffer of 256 KiB for each TLS connection; no request of the tests fills 16 KiB.
sslproto.SSLProtocol.max_size = 16 * 1024
asyncio.run(serve(Options.from_json(sys.stdin.readline()), _ready, sys.stdin.fileno()))
