"""Requests to a server: by the proxy that the environment names, within their time, and each once."""

import base64
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from urllib3 import ProxyManager

from base.http_client import pool_for
from boot_media.web_server import _head
from wires.web_hook import send

URL = "https://images.example.com/base.iso"
PROXY = "http://proxy.example.com:3128"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("proxy", ["http://proxy.example.com:3128", "proxy.example.com:3128"])
def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    pool = pool_for(URL, 1)
    assert isinstance(pool, ProxyManager)
    assert pool.proxy is not None
    assert (pool.proxy.scheme, pool.proxy.host, pool.proxy.port) == ("http", "proxy.example.com", 3128)


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_proxy_gets_its_login(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("https_proxy", f"{scheme}ann:s%40cret@proxy.example.com:3128")
    pool = pool_for(URL, 1)
    assert isinstance(pool, ProxyManager)
    assert pool.proxy_headers == {"proxy-authorization": f"Basic {base64.b64encode(b'ann:s@cret').decode()}"}


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        pytest.param(URL, {}, id="none"),
        pytest.param(URL, {"http_proxy": PROXY}, id="of-another-scheme"),
        pytest.param(URL, {"https_proxy": PROXY, "no_proxy": ".example.com"}, id="bypassed"),
        pytest.param("http://10.1.2.3:8080/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "a, 10.0.0.0/8"}, id="network"),
        pytest.param("https://[fd00::1]/x", {"https_proxy": PROXY, "no_proxy": "fd00::1"}, id="ipv6"),
    ],
)
def test_without_a_matching_proxy_a_request_goes_directly_to_the_server(
    monkeypatch: pytest.MonkeyPatch, url: str, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not isinstance(pool_for(url, 1), ProxyManager)


def test_outside_of_the_networks_in_no_proxy_the_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", PROXY)
    monkeypatch.setenv("no_proxy", "10.0.0.0/8,.example.net")
    for host in ("11.1.2.3", "images.example.com", "10.example.com"):
        assert isinstance(pool_for(f"http://{host}/x", 1), ProxyManager)


@pytest.mark.parametrize("proxy", ["", "http://proxy.example.com:3128"], ids=["directly", "by-a-proxy"])
def test_connect_and_each_wait_for_an_answer_have_the_limit(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    timeout = pool_for(URL, 7).connection_from_url(URL).timeout
    assert timeout is not None
    assert (timeout.connect_timeout, timeout.read_timeout) == (7, 7)


def test_a_server_that_asks_to_be_asked_again_gets_one_request() -> None:
    requests = list[str]()

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(503)
            self.send_header("Retry-After", "3600")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/base.iso"
        with pool_for(url, 5) as pool:
            answer = pool.request("GET", url)
        server.shutdown()
    assert (answer.status, requests) == (503, ["/base.iso"])


@pytest.mark.parametrize("ask", [lambda url: send(url, {"text": "x"}), _head], ids=["web-hook", "web-server-of-isos"])
def test_headers_that_trickle_in_end_at_the_limit(
    ask: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S10, of other wires: each byte comes in time, the last one never."""
    monkeypatch.setattr("wires.web_hook.WHOLE_S", 0.3)
    monkeypatch.setattr("boot_media.web_server.ANSWER_S", 0.3)

    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.2):
                    self.wfile.write(b"X: y\r\n")

        do_HEAD = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    over = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        began = time.monotonic()
        with pytest.raises((ConnectionError, TimeoutError)):
            ask(f"http://127.0.0.1:{server.server_address[1]}/x")
        assert time.monotonic() - began < 15, "100 headers, which http.client allows, take 20 s"
        over.set()
        server.shutdown()
