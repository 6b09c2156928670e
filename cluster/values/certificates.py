"""Bundles of certificates, as Go's encoding/pem and the installer's `CABundle` read them."""

import re
import ssl
from base64 import b64decode
from typing import NamedTuple

_LINE = re.compile(r"((?:[^\n \t\r]++|[ \t]++(?!\r?\n|\Z)|\r(?!\n))*+)[ \t]*+(?:\r?\n|\Z)")


class _Block(NamedTuple):
    content: bytes
    rest: str
    """The text after the block's last line."""


def installer_accepts(bundle: str) -> bool:
    """Return whether a bundle is nothing but certificates in PEM, with any text only before each of them."""
    rest = bundle
    while True:
        block = _first_block(rest)
        if block is None or not is_certificate(block.content):
            return False
        if not block.rest:
            return True
        rest = block.rest


def is_certificate(der: bytes) -> bool:
    """Return whether OpenSSL can read a certificate of exactly these bytes."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ValueError, ssl.SSLError):
        return False
    return len(der) == _length(der)


def _length(der: bytes) -> int:
    """Return the length of the first value of DER, with its header."""
    first = der[1] if len(der) > 1 else 0
    extra = first - 0x80 if first > 0x80 else 0  # noqa: PLR2004 (the long form)
    return 2 + extra + (int.from_bytes(der[2 : 2 + extra]) if extra else first)


def _first_block(text: str) -> _Block | None:
    """Return the first well-formed block. Like Go, skip malformed ones, and BEGIN lines without their END line."""
    at = 0
    while True:
        end = text.find("\n-----END ", at)
        if end < 0:
            return None
        begin = text.rfind("-----BEGIN ", at, end)
        following = end + len("\n-----END ")
        if begin >= 0 and (begin == at or text[begin - 1] == "\n"):
            block = _block(text, begin + len("-----BEGIN "), end, following)
            if block is not None:
                return block
        at = following


def _block(text: str, begin: int, end: int, following: int) -> _Block | None:
    """Return the block whose type starts at `begin`, whose END line is after `end`, its type at `following`."""
    kind, start = _line(text, begin)
    if not kind.endswith("-----"):
        return None
    line, after = _line(text, start)
    while ":" in line and start < end:  # a header
        start = after
        line, after = _line(text, start)
    last, rest = _line(text, following)
    content = re.sub(r"[ \t\r\n]", "", text[start : max(start, end)])
    try:
        return _Block(b64decode(content, validate=True), text[rest:]) if last == kind else None
    except ValueError:
        return None


def _line(text: str, start: int) -> tuple[str, int]:
    """Return a line without blanks at its end, and where the next one starts."""
    match = _LINE.match(text, start)
    return (match[1], match.end()) if match else ("", start)
