"""The URL of a web hook, to which a chat takes messages. It may hold a token, so no message names it."""

from urllib.parse import urlsplit

SET = "pulumi config set --secret notify_url <FILE"
"""The command that makes it a secret of the stack."""


def is_url(text: str) -> bool:
    """Return whether the text is a URL of HTTP or HTTPS."""
    try:
        return urlsplit(text).scheme in ("http", "https") and bool(urlsplit(text).hostname)
    except ValueError:
        return False
