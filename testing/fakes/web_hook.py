"""A stand-in for the web hook of a chat: a real HTTP server that keeps what it is sent.

It is as strict as a chat's: what is not JSON with `text` gets 400 (github.com/ellite/Wallos/issues/1212), and another
path 404. No chat's own server has been tried.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATH = "/services/T0/hidden-token"


@dataclass
class FakeWebHook:
    """What was sent, and how it answers.

    Args:
        url: With a token, as those of chats have.
        statuses: Of the first answers; all further ones are 200.
    """

    url: str
    statuses: list[int]
    notices: list[dict[str, Any]] = field(default_factory=list)
    """Those that were accepted."""


@contextmanager
def web_hook(statuses: Sequence[int] = ()) -> Iterator[FakeWebHook]:
    """Run it on loopback."""

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

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hook = FakeWebHook(f"http://127.0.0.1:{server.server_port}{PATH}", list(statuses))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hook
        finally:
            server.shutdown()
            thread.join()
