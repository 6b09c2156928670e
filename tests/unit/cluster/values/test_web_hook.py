"""The URL of a web hook."""

import pytest

from cluster.values.web_hook import is_url


@pytest.mark.parametrize("text", ["https://chat.test/services/T0/x", "http://127.0.0.1:8065/hooks/x"])
def test_an_http_url_is_a_web_hook(text: str) -> None:
    assert is_url(text)


@pytest.mark.parametrize("text", ["", "chat.test/x", "ftp://chat.test/x", "https:///x", "https://[x"])
def test_anything_but_an_http_url_is_no_web_hook(text: str) -> None:
    assert not is_url(text)
