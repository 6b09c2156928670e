"""Masking of a BMC's traffic for logs and errors: no password, no token, no path of a boot ISO."""

import json
import re
from typing import Any

from pydantic import SecretStr

from base.errors import one_line

MASK = "***"
BODY_LENGTH = 2000
SECRET_KEY = re.compile("password|passphrase|username|token|secret|credential|authorization|privatekey", re.I)
"""Properties whose values are always masked."""
QUOTED = re.compile(
    rf'("[^"\\]*(?:{SECRET_KEY.pattern})[^"\\]*"\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s",}}\]]+)', re.I | re.S
)
"""The same properties in text that is not valid JSON, such as an answer that was cut off."""
URL = re.compile(r"([a-z][a-z0-9+.-]{0,30}:(?://|\\/\\/))(?:[^/\\\s\"'<>@]*@)?([^/\\\s\"'<>]*)([^\s\"'<>]*)", re.I)
"""A URL in parts. The path of a boot ISO's URL is as good as a password, so all paths are masked."""
DIGEST = re.compile(r"[0-9a-f]{64}", re.I)
"""The part of a boot ISO's path that cannot be guessed, which a BMC may also repeat outside a URL."""


def shown(image: str) -> str:
    """Return the image in a drive as messages and records show it: without what makes our path a secret."""
    return DIGEST.sub("…", image)


class Mask:
    """Masks the secrets in the traffic of one BMC.

    Args:
        secrets: Values that are masked wherever they appear.
    """

    def __init__(self, *secrets: SecretStr) -> None:
        self._secrets = list(secrets)

    def learn(self, secret: SecretStr) -> None:
        """Mask one more value from now on."""
        self._secrets.append(secret)

    def body(self, content: bytes | str | None) -> str:
        """Return the masked body of a request or answer, as one line of at most `BODY_LENGTH` characters."""
        text = content.decode(errors="replace") if isinstance(content, bytes) else content or ""
        try:
            masked = json.dumps(self._document(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            masked = self.text(QUOTED.sub(rf'\g<1>"{MASK}"', text))
        # Cut last, because a secret that is cut in half would not be recognized.
        return one_line(masked)[:BODY_LENGTH]

    def text(self, text: str) -> str:
        """Return the masked text."""
        return DIGEST.sub("…", URL.sub(_without_path, self.secrets(text)))

    def secrets(self, text: str) -> str:
        """Return the text with only the secret values masked: a row for the operator shows paths and fingerprints."""
        for secret in self._secrets:
            if value := secret.get_secret_value():
                text = text.replace(value, MASK).replace(json.dumps(value)[1:-1], MASK)
        return text

    def _document(self, value: Any) -> Any:
        match value:
            case dict():
                return {
                    self.text(key): MASK if SECRET_KEY.search(key) else self._document(each)
                    for key, each in value.items()
                }
            case list():
                return [self._document(each) for each in value]
            case str():
                return self.text(value)
            case _:
                return value


def _without_path(url: re.Match[str]) -> str:
    scheme, host, path = url.groups()
    return f"{scheme}{host}{'/…' if path else ''}"
