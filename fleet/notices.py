"""Notifies people of a cluster that waits for them: a POST to their web hook, by the worker of the workflows."""

import asyncio
import os
from dataclasses import asdict
from pathlib import Path

from temporalio import activity
from temporalio.exceptions import ApplicationError

from base.errors import ConfigError, Fault
from base.files import read_file
from cluster.values.web_hook import is_url
from fleet.messages import Notice
from fleet.workflows import NOTIFY
from wires.web_hook import send

URL_FILE = "FLEET_NOTIFY_FILE"


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
            ApplicationError: It was not accepted. Without a web hook, no retry helps.
        """
        if not self._url:
            raise ApplicationError(f"{URL_FILE} is not set at the worker of the workflows", non_retryable=True)
        content = {"text": notice.text, **asdict(notice)}
        try:
            await asyncio.to_thread(send, self._url, content)
        except OSError as error:
            raise ApplicationError(str(error)) from None


def web_hook() -> WebHook:
    """Return the web hook that the environment names.

    Raises:
        ConfigError: `FLEET_NOTIFY_FILE` names no file with a URL.
    """
    name = os.environ.get(URL_FILE, "")
    if not name:
        return WebHook("")
    try:
        url = read_file(Path(name)).decode().strip()
    except (OSError, ValueError):
        url = ""
    if not is_url(url):
        fix = "write the URL of your web hook to it, https://…, or unset the variable"
        raise ConfigError(Fault(URL_FILE, f"{name} is not a file with a URL", fix))
    return WebHook(url)
