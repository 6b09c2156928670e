"""Masking of what leaves this machine: documents by their keys, texts by their forms, all by the known values."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

MASKED = "[masked]"
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]+-----")
_SECRETS = (
    re.compile(r"(?P<keep>(?i:authorization)\"?\s*[:=]\s*).*"),
    re.compile(
        r"(?P<keep>(?i:\b\w*(?:password|passwd|passphrase|secret|token|auth)\w*)\"?\s*[:=]\s*)(?:\"[^\"]*\"|\S+)"
    ),
    re.compile(r"(?P<keep>\b(?:ssh-[a-z0-9]+|ecdsa-sha2-[a-z0-9]+|sk-[a-z0-9@.-]+)\s+)[A-Za-z0-9+/=]{16,}"),
    re.compile(r"(?P<keep>://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"(?P<keep>\$(?:2[aby]|5|6|y)\$)\S+"),
    re.compile(r"(?P<keep>data:[^,\s]*;base64,)[A-Za-z0-9+/=]+"),
)
_KEY = re.compile(
    r"pass(word|phrase|wd)|(^|-)(psk|cak)$|secret|private-?_?key|preshared|token|key-data|^encryption(salt|key)$"
    r"|^encryptedkey$|^auth$|^secure$|(^|:)notify_url$",
    re.I,
)
"""Keys whose values are secret. A username is masked with them, and alone is no secret."""
_USER = re.compile(r"^user-?name$", re.I)
_CREDENTIALS = re.compile(r"(://)([^/\s:@]*):([^/\s@]+)@")
_SHORTEST = 4
"""Length from which a value is searched for in all texts; a shorter one would be found in most words."""


class Secrets:
    """The values that no text may have, of whatever source."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def learn(self, *values: str) -> None:
        """Mask these values from now on."""
        for value in values:
            self._values |= {value, json.dumps(value)[1:-1], base64.b64encode(value.encode()).decode()}

    def learn_document(self, document: Any) -> None:
        """Mask from now on what is secret in a document."""
        self.learn(*_secrets_in(document))

    def mask(self, text: str) -> str:
        """Return the text without them, the longest first, since one may be a part of another."""
        for value in sorted(self._values, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                text = text.replace(value, MASKED)
        return text


def mask_document(value: Any) -> Any:
    """Return the same document, with what is secret masked by its keys."""
    match value:
        case dict():
            return {
                key: MASKED if _KEY.search(str(key)) or _USER.search(str(key)) else mask_document(each)
                for key, each in value.items()
            }
        case list():
            return [mask_document(each) for each in value]
        case str():
            return _CREDENTIALS.sub(rf"\1{MASKED}@", value)
        case _:
            return value


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts of a document, and those of the JSON documents in it."""
    match value:
        case dict() | list():
            for each in value.values() if isinstance(value, dict) else value:
                yield from texts_in(each)
        case str():
            yield value
            with suppress(ValueError):
                if isinstance(nested := json.loads(value), dict):
                    yield from texts_in(nested)
        case int() if not isinstance(value, bool):
            yield str(value)


def _secrets_in(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, each in value.items():
                yield from _spelled(texts_in(each)) if _KEY.search(str(key)) else _secrets_in(each)
        case list():
            for each in value:
                yield from _secrets_in(each)
        case str():
            yield from (found[3] for found in _CREDENTIALS.finditer(value))


def _spelled(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text and, if it is the base64 of `user:password`, as in a pull secret, also that password."""
    for text in texts:
        yield text
        with suppress(ValueError):
            user, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
            if user and colon:
                yield password


def mask(text: str) -> list[str]:
    """Split `text` into lines, and remove control characters, PEM blocks, passwords, keys and tokens."""
    found: list[str] = []
    in_block = False
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = _CONTROL.sub("", _ESCAPE.sub("", raw)).rstrip()
        if not in_block and (begin := _PEM_BEGIN.search(line)):
            found.append(line[: begin.start()] + MASKED)
            in_block = not _PEM_END.search(line, begin.end())
        elif in_block:
            in_block = not _PEM_END.search(line)
        elif line:
            found.append(_mask_line(line))
    return found


def _mask_line(line: str) -> str:
    for secret in _SECRETS:
        line = secret.sub(rf"\g<keep>{MASKED}", line)
    return line
