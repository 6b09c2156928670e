"""What is secret, and how it is masked: documents by their keys, texts by their forms, both by the known values.

The texts come from BMCs and from the logs of any program. So each pattern reads a text in one pass: repetitions are
possessive or have a bound.
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

MASK = "[masked]"
_WORDS = (
    *("pass(?:word|phrase|wd)", "secret", "token", "authorization", "private[-_]?key", "preshared", "key-data"),
    *("(?:^|[-_])(?:psk|cak)$", "^auth$", "^encryption(?:salt|key)$", "^encryptedkey$", "^secure$"),
    "(?:^|:)notify_url$",  # who knows the URL of a web hook can post to it
)


def secret_keys(*more: str, without: Collection[str] = ()) -> re.Pattern[str]:
    """Return the pattern of the names of secret properties.

    Args:
        more: Patterns of names that are secret only there.
        without: Words of the list that are not secret there.
    """
    return re.compile("|".join((*(word for word in _WORDS if word not in without), *more)), re.I)


SECRET_KEYS = secret_keys()
_MASKED_KEYS = secret_keys("^user-?name$")
"""A document is masked with its user names, but no other text: `admin` is part of many words."""
_TEXT_KEYS = secret_keys("auth")
"""In a text, which may come from any program, also names such as `HTTP_AUTH`."""
_PAIR = re.compile(r"""(?:"(?P<quoted>[^"\\]*+)"|(?<![\w-])(?P<bare>[\w-]++)(?:\\*+["'])?+)\s*+[:=]\s*+""")
"""The name of a property up to its value, which may be quoted within a quoted text."""
_VALUE = re.compile(re.escape(MASK) + r"""|[{\[].*+|\\++"[^"]*+"?+|"(?:[^"\\]|\\.)*+"?+|'[^']*+'?+|\S*+""", re.S)
"""A value; all that follows if it is an object or a list, since its end cannot be found in a text that is cut off."""
_QUOTED_VALUE = re.compile(r':\s*+"([^"\\]*+)"')
_REST_OF_LINE = re.compile(r"[^\n]*+")
_URL = re.compile(r'(?:(?<=://)|(?<=:\\/\\/))(?:\\.|[^\s"\\])++')
"""What follows the slashes of a URL, up to its end: a password may have any other character."""
_HOST_AND_PORT = re.compile(r"(?:\[[^\]/@]*+\]|[^/?#@:]*+)(?::\d*+)?+(?:[/?#]|\Z)")
"""A URL without login. One with a login can have this form only if its password begins with digits and a slash."""
_QUERY = re.compile(r"([?&][\w.-]{1,64}=)([^&\s\"']++)")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*+[A-Za-z]|[()][A-Z0-9])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{1,64}-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{1,64}-----")
_FORMS = (
    re.compile(r"(\b(?:ssh-[a-z0-9]{1,32}|ecdsa-sha2-[a-z0-9]{1,32}|sk-(?:ssh|ecdsa)-[a-z0-9@.-]{1,64})\s{1,8})"
               r"[A-Za-z0-9+/=]{16,}+"),
    re.compile(r"(\$(?:2[aby]|5|6|y)\$)\S++"),
    re.compile(r"(data:[^,:\s]{0,64};base64,)[A-Za-z0-9+/=]++"),
)  # fmt: skip
"""SSH keys, password hashes, data URLs."""


class Secrets:
    """The values that no text may show.

    Args:
        values: Some of them.
        shortest: Number of characters from which a value is masked. A shorter one would be found in most words.
    """

    def __init__(self, *values: str, shortest: int = 4) -> None:
        self._shortest = shortest
        self._spellings: tuple[str, ...] = ()
        self.learn(*values)

    def learn(self, *values: str) -> None:
        """Mask these values from now on, also as JSON and base64 spell them."""
        new = {spelling for value in values if len(value) >= self._shortest for spelling in _spellings(value)}
        # The longest first: of two values that begin alike, the rest of the longer one would stay.
        # A new tuple, since another thread may be masking.
        self._spellings = tuple(sorted(new.union(self._spellings), key=lambda each: (-len(each), each)))

    def learn_document(self, document: Any) -> None:
        """Mask from now on what is secret in a document."""
        self.learn(*_secrets_in(document))

    def learn_text(self, text: str) -> None:
        """Mask from now on the values of the secret properties in a text that no parser accepts."""
        for line in text.splitlines():
            for start, end in _values_in(line, _TEXT_KEYS):
                value = line[start:end].strip("\"',")
                self.learn(*_with_passwords((value, *_QUOTED_VALUE.findall(value))))

    def mask(self, text: str) -> str:
        """Return the text with these values masked."""
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        return text


def mask_logins(text: str) -> str:
    """Return the text with the logins in its URLs masked."""
    return _URL.sub(_without_login, text)


def passwords_in(text: str) -> Iterator[str]:
    """Yield the password of each URL in a text: that of its login, and those in its query."""
    for url in _URL.finditer(text):
        if login := _login(url[0]):
            yield login.partition(":")[2]
        yield from (query[2] for query in _QUERY.finditer(url[0]) if SECRET_KEYS.search(query[1]))


def _login(url: str) -> str:
    """Return the login of a URL, without what is before it; empty if it has none with a password.

    A password may have an @ or a slash that should be encoded, so its end is the last @.
    """
    login = url.rpartition("@")[0]
    return login if ":" in login and not _HOST_AND_PORT.match(url) else ""


def _without_login(found: re.Match[str]) -> str:
    url = found[0]
    if login := _login(url):
        url = f"{MASK}{url[len(login) :]}"
    return _QUERY.sub(lambda query: f"{query[1]}{MASK}" if SECRET_KEYS.search(query[1]) else query[0], url)


def mask_document(
    document: Any, keys: re.Pattern[str] = _MASKED_KEYS, mask_text: Callable[[str], str] = mask_logins
) -> Any:
    """Return the document, masked.

    Args:
        document: Of JSON or YAML.
        keys: The names of the properties whose values are masked.
        mask_text: Masks all other texts.
    """
    match document:
        case dict():
            return {
                mask_text(key) if isinstance(key, str) else key: MASK
                if keys.search(str(key))
                else mask_document(value, keys, mask_text)
                for key, value in document.items()
            }
        case list():
            return [mask_document(value, keys, mask_text) for value in document]
        case str():
            return mask_text(document)
        case _:
            return document


def mask_pairs(text: str, keys: re.Pattern[str] = _TEXT_KEYS) -> str:
    """Return the text with the values of the properties masked that it has in the form `name: value` or `name=value`.

    Args:
        text: Of any form, such as JSON that was cut off.
        keys: The names of these properties.
    """
    parts, done = list[str](), 0
    for start, end in _values_in(text, keys):
        parts += text[done:start], MASK
        done = end
    return "".join((*parts, text[done:]))


def _values_in(text: str, keys: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield where the value of each such property begins and ends."""
    done = 0
    for pair in _PAIR.finditer(text):
        name = pair["quoted"] or pair["bare"] or ""
        if pair.start() >= done and keys.search(name):
            value = (_REST_OF_LINE if "authorization" in name.lower() else _VALUE).match(text, pair.end())
            done = value.end() if value else pair.end()
            yield pair.end(), done


def mask_lines(text: str) -> list[str]:
    """Split the text into lines, and remove control characters, PEM blocks, passwords, keys and tokens."""
    lines: list[str] = []
    in_block = False
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = _CONTROL.sub("", _ESCAPE.sub("", raw)).rstrip()
        if not in_block and (begin := _PEM_BEGIN.search(line)):
            lines.append(line[: begin.start()] + MASK)
            in_block = not _PEM_END.search(line, begin.end())
        elif in_block:
            in_block = not _PEM_END.search(line)
        elif line:
            lines.append(_mask_line(line))
    return lines


def texts_in(document: Any) -> Iterator[str]:
    """Yield all texts of a document, and those of the JSON documents in it."""
    match document:
        case dict() | list():
            for value in document.values() if isinstance(document, dict) else document:
                yield from texts_in(value)
        case str():
            yield document
            with suppress(ValueError, RecursionError):
                if isinstance(nested := json.loads(document), dict):
                    yield from texts_in(nested)
        case int() if not isinstance(document, bool):
            yield str(document)


def _mask_line(line: str) -> str:
    line = mask_logins(mask_pairs(line))
    for form in _FORMS:
        line = form.sub(rf"\g<1>{MASK}", line)
    return line


def _secrets_in(document: Any) -> Iterator[str]:
    match document:
        case dict():
            for key, value in document.items():
                is_secret = SECRET_KEYS.search(str(key))
                yield from _with_passwords(texts_in(value)) if is_secret else _secrets_in(value)
        case list():
            for value in document:
                yield from _secrets_in(value)
        case str():
            yield from passwords_in(document)


def _with_passwords(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text and, if it is the base64 of `user:password`, as in a pull secret, also that password."""
    for text in texts:
        yield text
        with suppress(ValueError):
            user, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
            if user and colon:
                yield password


def _spellings(value: str) -> Iterator[str]:
    yield value
    yield base64.b64encode(value.encode()).decode()
    for ensure_ascii in (True, False):
        yield json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
