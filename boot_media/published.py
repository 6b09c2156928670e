"""What the media server serves, and which bytes of it a request wants."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from boot_media.iso import Iso
from boot_media.iso9660 import Span

RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)  # RFC 9110 section 14.1: in any case
DIGITS = 19  # longer numbers are beyond any file; Python refuses to read those of over 4,300 digits
ORIGIN = re.compile(r"^https?://[^/?#]*", re.IGNORECASE)


def span_of(header: str | None, size: int) -> Span | None:
    """Return the span of `size` bytes that a Range header requests, or None if it cannot be satisfied.

    Without a header the span is everything. A header that is not a single byte range counts as none, as RFC 9110
    section 14.2 allows.
    """
    match = _range(header)
    if match is None:
        return 0, size
    first, last = match.groups()
    if not first:
        return (max(0, size - number_of(last)), size) if number_of(last) else None
    end = min(number_of(last) + 1, size) if last else size
    return (number_of(first), end) if number_of(first) < end else None


def number_of(digits: str) -> int:
    """Return a number, or one that is as much too large."""
    return int(digits.lstrip("0")[:DIGITS] or "0")


def _range(header: str | None) -> re.Match[str] | None:
    match = RANGE.fullmatch((header or "").replace(" ", ""))
    return match if match and any(match.groups()) else None


def is_range(header: str | None) -> bool:
    """Return whether a Range header requests a range; see `span_of`."""
    return _range(header) is not None


def plain_path(target: str) -> str:
    """Return the path that a request target names, in origin or absolute form, percent-encoded or not.

    RFC 9112 section 3.2.2: a server accepts the absolute form. RFC 3986 section 6.2.2.2: `%2E` is `.`. What is served
    is found by its whole path, so a decoded `/../` is a path of nothing.
    """
    return unquote(ORIGIN.sub("", target))


def pieces(iso: Iso, span: Span) -> Iterator[Span | bytes]:
    """Yield the pieces of a span in order: bytes of a patch, or a span of the base ISO."""
    at, end = span
    for offset, content in iso.patches:
        stop = offset + len(content)
        if stop <= at or offset >= end:
            continue
        if at < offset:
            yield at, offset
            at = offset
        yield content[at - offset : min(stop, end) - offset]
        at = min(stop, end)
    if at < end:
        yield at, end


@dataclass(frozen=True)
class Published:
    """A boot ISO, or one file inside it."""

    iso: Iso
    span: Span
    """Which bytes of the ISO it is."""
    over_tls: bool
    """Whether it is served over TLS only."""

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.span[1] - self.span[0]

    def pieces(self, span: Span) -> Iterator[Span | bytes]:
        """Yield the pieces of a span of it, see `pieces`."""
        return pieces(self.iso, (self.span[0] + span[0], self.span[0] + span[1]))
