"""Requests go through the proxy that the environment names."""

import base64

import pytest
from urllib3 import ProxyManager

from base.http_client import pool_for

URL = "https://images.example.com/base.iso"


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
    "environment",
    [
        pytest.param({}, id="none"),
        pytest.param({"http_proxy": "http://proxy.example.com:3128"}, id="of-another-scheme"),
        pytest.param({"https_proxy": "http://proxy.example.com:3128", "no_proxy": ".example.com"}, id="bypassed"),
    ],
)
def test_without_a_matching_proxy_a_request_goes_directly_to_the_server(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not isinstance(pool_for(URL, 1), ProxyManager)
