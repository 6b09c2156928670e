"""The errors of a BMC: no handler depends on its place among the others."""

import ast
import errno
import socket
import ssl
from collections.abc import Iterator
from functools import cache
from itertools import permutations

import pytest

from base.errors import BmcError, SystemCallError, words_of
from testing.checkout import ROOMS, ROOT

KINDS = BmcError.__subclasses__()
NAMED = {"BmcError": BmcError} | {kind.__name__: kind for kind in KINDS}


@cache
def modules() -> dict[str, ast.Module]:
    """Return the modules of the program that name an error of a BMC, by path."""
    texts = {path: path.read_text() for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
    named = {path: text for path, text in texts.items() if any(name in text for name in NAMED)}
    return {str(path.relative_to(ROOT)): ast.parse(text) for path, text in named.items()}


def tries_in(module: ast.Module) -> Iterator[set[str]]:
    """Yield, of each `try`, the names of the errors that it handles."""
    for statement in ast.walk(module):
        if isinstance(statement, ast.Try):
            types = [handler.type for handler in statement.handlers if handler.type]
            yield {name.id for kind in types for name in ast.walk(kind) if isinstance(name, ast.Name)}


def depending_on_order(module: ast.Module) -> list[tuple[str, str]]:
    """Return the pairs of handled errors of a BMC of which one contains the other."""
    known = [[NAMED[name] for name in names if name in NAMED] for names in tries_in(module)]
    pairs = [pair for handled in known for pair in permutations(handled, 2)]
    return [(one.__name__, other.__name__) for one, other in pairs if issubclass(one, other)]


def test_no_two_handlers_of_a_try_take_the_same_error() -> None:
    pairs = {path: depending_on_order(module) for path, module in modules().items()}
    assert {path: found for path, found in pairs.items() if found} == {}


def test_a_handler_of_an_error_beside_one_of_its_base_is_noticed() -> None:
    source = "try:\n    act()\nexcept (BmcAuthError, KeyError):\n    raise\nexcept BmcError:\n    pass\n"
    assert depending_on_order(ast.parse(source)) == [("BmcAuthError", "BmcError")]


def test_no_kind_of_bmc_error_contains_another() -> None:
    assert len(KINDS) == 5
    assert [kind for kind in KINDS if kind.__subclasses__()] == []


def test_every_bmc_error_that_is_made_says_its_kind() -> None:
    calls = [
        (path, node.func)
        for path, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
    ]
    assert [path for path, call in calls if isinstance(call, ast.Name) and call.id == "BmcError"] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/run/okd-baremetal/a.lock"),
            "/run/okd-baremetal/a.lock: the system refuses: No space left on device. Fix: make room on its disk",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/a\x1b"),
            r"/a\x1b: the system refuses: Permission denied",
        ),
    ],
)
def test_a_refusal_of_the_system_names_the_disk_that_is_full(error: OSError, said: str) -> None:
    assert str(SystemCallError(error)) == said


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ssl.SSLError(1, "[SSL: TLSV1_ALERT_INTERNAL_ERROR] internal error (_ssl.c:989)"), "internal error"),
        (TimeoutError("_ssl.c:989: The handshake operation timed out"), "The handshake operation timed out"),
        (TimeoutError(), "TimeoutError"),
        (KeyError("data"), "KeyError: 'data'"),
    ],
)
def test_an_error_is_told_in_its_words_without_numbers_and_places(error: Exception, words: str) -> None:
    """As they were seen in a rehearsal; tests/unit/wires/api/test_https.py has them from real connections."""
    assert words_of(error) == words
