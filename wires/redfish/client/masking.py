"""Masking of a BMC's traffic for logs and errors: no password, no token, no path of a boot ISO."""

import json
import re

from pydantic import SecretStr

from base.errors import one_line
from base.masking import Secrets, mask_document, mask_pairs, secret_keys

BODY_LENGTH = 2000
READ_LENGTH = 128 * 1024
"""Characters of a text that are masked: a BMC may send 4 MiB. Nobody shows more than the first `BODY_LENGTH`."""
BMC_KEYS = secret_keys("credential", "user-?name")
"""A BMC's properties that are masked. Its user names are, too: half of a login, and no line of the log needs them."""
URL = re.compile(r"(:(?://|\\/\\/))(?:[^/\\\s\"'<>@]*+@)?+([^/\\\s\"'<>]*+)([^\s\"'<>]*+)")
"""A URL in parts. The path of a boot ISO's URL is as good as a password, so all paths are masked."""
DIGEST = re.compile(r"[0-9a-f]{64}", re.I)
"""The part of a boot ISO's path that cannot be guessed, which a BMC may also repeat outside a URL."""


def shown(image: str) -> str:
    """Return the image in a drive as messages and records show it: without what makes our path a secret."""
    return DIGEST.sub("…", image)


class TrafficMask:
    """Masks the secrets in the traffic of one BMC.

    Args:
        secrets: Values that are masked wherever they appear.
    """

    def __init__(self, *secrets: SecretStr) -> None:
        # A password of any length: the operator chose it.
        self.secrets = Secrets(shortest=1)
        """These values. Only they are masked in a report to the operator, which shows paths and fingerprints."""
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: SecretStr) -> None:
        """Mask one more value from now on."""
        self.secrets.learn(secret.get_secret_value())

    def body(self, content: bytes | str | None) -> str:
        """Return the masked body of a request or answer, as one line of at most `BODY_LENGTH` characters."""
        text = content.decode(errors="replace") if isinstance(content, bytes) else content or ""
        # Whole values are masked before each cut, because half of one would not be recognized.
        return one_line(self._masked(text)[:BODY_LENGTH])[:BODY_LENGTH]

    def text(self, text: str) -> str:
        """Return the masked text, of which `READ_LENGTH` characters are left."""
        return _without_paths(self.secrets.mask(text)[:READ_LENGTH])

    def _masked(self, text: str) -> str:
        if len(text) <= READ_LENGTH:
            try:
                return json.dumps(mask_document(json.loads(text), BMC_KEYS, self.text), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass
        return _without_paths(mask_pairs(self.secrets.mask(text)[:READ_LENGTH], BMC_KEYS))


def _without_paths(text: str) -> str:
    return DIGEST.sub("…", URL.sub(_without_path, text))


def _without_path(url: re.Match[str]) -> str:
    slashes, host, path = url.groups()
    return f"{slashes}{host}{'/…' if path else ''}"
