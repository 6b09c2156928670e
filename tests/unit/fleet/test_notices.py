"""Notices to a web hook, which is a real HTTP server; the workflow that sends them is judged in tests/fleet."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from base.errors import ConfigError
from fleet.messages import Notice
from fleet.notices import URL_FILE, web_hook
from testing.fakes import web_hook as fake

WAITS = Notice("north-a", "north", "c0ffee", "bootstrap: waits for approval", "5eed")
TEXT = "north-a at north: bootstrap: waits for approval. See: okd-baremetal fleet status north-a"


@pytest.fixture
def url_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "web-hook"
    monkeypatch.setenv(URL_FILE, str(file))
    return file


def refused(url_file: Path, url: str) -> ApplicationError:
    """Return the error with which a notice is not sent."""
    url_file.write_text(url)
    with pytest.raises(ApplicationError) as caught:
        asyncio.run(web_hook().notify(WAITS))
    return caught.value


def test_a_notice_is_one_post_of_json_with_a_sentence_for_a_chat(url_file: Path) -> None:
    with fake.web_hook() as hook:
        url_file.write_text(f"{hook.url}\n")
        asyncio.run(web_hook().notify(WAITS))
    assert hook.notices == [
        {
            "text": TEXT,
            "cluster": "north-a",
            "site": "north",
            "commit": "c0ffee",
            "step": "bootstrap: waits for approval",
            "digest": "5eed",
        }
    ]


@pytest.mark.parametrize("status", [302, 404, 500])
def test_what_is_not_accepted_is_tried_again(url_file: Path, status: int) -> None:
    with fake.web_hook([status]) as hook:
        error = refused(url_file, hook.url)
    assert (error.message, error.non_retryable, hook.notices) == (f"the web hook answered {status}", False, [])


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("http://127.0.0.1:1/hidden-token", "Connection refused", id="refused"),
        pytest.param("http://hook.invalid/hidden-token", "Name or service not known", id="no-such-name"),
    ],
)
def test_an_error_does_not_name_the_url_which_may_hold_a_token(
    url_file: Path, monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    resolve = socket.getaddrinfo

    def without_a_server(host: str, *arguments: Any) -> Any:
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *arguments)

    monkeypatch.setattr("socket.getaddrinfo", without_a_server)
    error = refused(url_file, url)
    assert error.message == f"the web hook cannot be reached: {why}"
    assert "hidden-token" not in f"{error.message} {error.__cause__} {error.details}"
    assert error.__suppress_context__
    assert not error.non_retryable


def test_a_web_hook_that_does_not_answer_is_given_up(url_file: Path, timeouts: list[float | None]) -> None:
    refused(url_file, "http://127.0.0.1:1/hidden-token")
    assert timeouts == [10]


def test_a_web_hook_that_was_removed_refuses(url_file: Path) -> None:
    with fake.web_hook() as hook:
        assert refused(url_file, f"{hook.url}-of-before").message == "the web hook answered 404"
    assert hook.notices == []


def test_without_a_web_hook_no_retry_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL_FILE, raising=False)
    with pytest.raises(ApplicationError, match=f"^{URL_FILE} is not set at the worker of the workflows$") as caught:
        asyncio.run(web_hook().notify(WAITS))
    assert caught.value.non_retryable


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("hooks.example.com/hidden-token", id="no-scheme"),
        pytest.param("ftp://hooks.example.com/hidden-token", id="ftp"),
        pytest.param("https:///hidden-token", id="no-host"),
        pytest.param("https://[hidden-token", id="torn"),
    ],
)
def test_a_file_without_a_url_is_refused_and_not_quoted(url_file: Path, content: str) -> None:
    url_file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        web_hook()
    fix = "Fix: write the URL of your web hook to it, https://…, or unset the variable"
    assert str(caught.value) == f"{URL_FILE}: {url_file} is not a file with a URL. {fix}"


def test_a_missing_file_is_refused(url_file: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file with a URL"):
        web_hook()
