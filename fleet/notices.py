"""Tells people where a cluster waits for them: a POST to their web hook, by the worker of the workflows."""

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from temporalio import activity
from temporalio.exceptions import ApplicationError

from fleet.messages import Notice
from fleet.workflows import NOTIFY
from providers.base.errors import ConfigError, Fault
from wires.api.https import os_error

URL_FILE = "FLEET_NOTIFY_FILE"
TIMEOUT_S = 10
"""Limit of connect and of answer."""
ACCEPTED = range(200, 300)
"""Statuses; a redirection is none, since the notice may not go elsewhere."""


class WebHook:
    """Where notices go.

    Args:
        url: It may hold a token, so no message names it. Empty: nowhere.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    @activity.defn(name=NOTIFY)
    async def notify(self, notice: Notice) -> None:
        """Send one notice.

        Raises:
            ApplicationError: It was not accepted; no retry mends a worker without a web hook.
        """
        if not self._url:
            raise ApplicationError(f"{URL_FILE} is not set at the worker of the workflows", non_retryable=True)
        await asyncio.to_thread(self._send, notice)

    def _send(self, notice: Notice) -> None:
        # Chats show `text`, and refuse what has none (github.com/ellite/Wallos/issues/1212).
        content = {"text": notice.text, **asdict(notice)}
        with urllib3.PoolManager() as pool:
            try:
                answer = pool.request("POST", self._url, json=content, timeout=TIMEOUT_S, retries=False)
            except urllib3.exceptions.HTTPError as error:
                reason = os_error(error)
                raise ApplicationError(f"the web hook cannot be reached: {reason.strerror or reason}") from None
        if answer.status not in ACCEPTED:
            raise ApplicationError(f"the web hook answered {answer.status}")


def web_hook() -> WebHook:
    """Return the web hook that the environment names.

    Raises:
        ConfigError: `FLEET_NOTIFY_FILE` names no file with a URL.
    """
    name = os.environ.get(URL_FILE, "")
    if not name:
        return WebHook("")
    try:
        url = Path(name).read_text(encoding="utf-8").strip()
        is_url = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except (OSError, ValueError):
        is_url = False
    if not is_url:
        fix = "write the URL of your web hook to it, https://…, or unset the variable"
        raise ConfigError([Fault(URL_FILE, f"{name} is no file with a URL", fix)])
    return WebHook(url)
