"""The programs that read rendered files; each one reads a file once."""

from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from base.errors import Fault
from providers.rendered_asset import readers

_REFUSAL, _LINT, _UNSERVED = readers._refusal, cache(readers.lint), cache(readers._unserved)


@cache
def _refusal(path: str, command: tuple[str, ...], content: bytes, complaint: bytes, hide: str) -> Fault | None:
    return _REFUSAL(path, command, content, complaint, hide=hide)


@pytest.fixture(scope="module", autouse=True)
def _read_once() -> Iterator[None]:
    """Have a reader read a file once, since clusters share most of their files."""

    def once(
        path: str, command: Sequence[str], content: bytes = b"", complaint: bytes = b"", *, hide: str = "\0"
    ) -> Fault | None:
        return _refusal(path, tuple(command), content, complaint, hide)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "_refusal", once)
        patch.setattr(readers, "lint", _LINT)
        patch.setattr(readers, "_unserved", _UNSERVED)
        yield
