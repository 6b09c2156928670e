"""A stand-in for the web hook of a chat: a real HTTP server that records the notices it gets.

It is as strict as a chat's: a body that is not JSON with `text` gets 400 (github.com/ellite/Wallos/issues/1212), and
another path 404. No chat's own server has been tried.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from testing.fakes.serving import serving

PATH = "/services/T0/hidden-token"


@dataclass
class FakeWebHook:
    """Its URL, its answers, and the notices that it got.

    Args:
        url: The URL with a token, like that of a chat.
        statuses: The statuses of the first answers; all others are 200.
    """

    url: str
    statuses: list[int]
    notices: list[dict[str, Any]] = field(default_factory=list)
    """The accepted notices."""


@contextmanager
def web_hook(statuses: Sequence[int] = ()) -> Iterator[FakeWebHook]:
    """Run a web hook on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = hook.statuses.pop(0) if hook.statuses else 200
            if self.path != PATH:
                status = 404
            elif self.headers["Content-Type"] != "application/json" or not content.get("text"):
                status = 400
            if status == 200:
                hook.notices.append(content)
            self.send_response(status)
            self.send_header("Location", hook.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook = FakeWebHook(f"http://127.0.0.1:{server.server_port}{PATH}", list(statuses))
    with serving(server):
        yield hook
