"""Sends a message to a web hook."""

from collections.abc import Mapping
from typing import Any

from base.bounded_answer import time_limit
from base.http_client import os_error, pool_for

TIMEOUT_S = 10
"""Limit of connect, and of each wait for a part of an answer."""
WHOLE_S = 60
"""Limit of all answers together."""
ACCEPTED = range(200, 300)
"""Statuses; a redirection is none, since the message may not go elsewhere."""
PASSES = (429, *range(500, 600))
"""Statuses after which the same message may be accepted."""


def send(url: str, content: Mapping[str, Any], *, retries: int = 0) -> None:
    """POST `content` as JSON.

    Args:
        url: Of HTTP or HTTPS; it may hold a token, so no message names it.
        content: With `text`: chats show that, and refuse what has none (github.com/ellite/Wallos/issues/1212).
        retries: The first follows at once, the next after 2 s, each further one after twice as long.

    Raises:
        OSError: It was not accepted.
    """
    from urllib3 import Retry  # noqa: PLC0415  (a preview sends no message)
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    again = Retry(
        retries,
        backoff_factor=1,
        status_forcelist=PASSES,
        allowed_methods=None,
        respect_retry_after_header=False,  # which may name hours
        raise_on_status=False,
    )
    try:
        with time_limit(WHOLE_S), pool_for(url, TIMEOUT_S) as pool:
            # Only the status counts, so the body is not read.
            answer = pool.request("POST", url, json=content, retries=again, redirect=False, preload_content=False)
            answer.close()
    except HTTPError as error:
        reason = os_error(error)
        raise ConnectionError(f"the web hook cannot be reached: {reason.strerror or reason}") from None
    if answer.status not in ACCEPTED:
        raise ConnectionError(f"the web hook answered {answer.status}")
