"""Mutations of bytes and of documents. All of them follow from the random numbers that they are given."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from testing.fuzz.engine import CANARY

Place = tuple[Any, Any]
"""A mapping or list, and the key or index of a member."""

TOKENS = (
    *(
        b"[",
        b"{",
        b"}",
        b"- ",
        b"? ",
        b": ",
        b"\n",
        b"\r",
        b"\0",
        b'"',
        b"'",
        b"\\",
        b"#",
        b"%",
        b"&a ",
        b"*a ",
        b"<<: ",
    ),
    *(
        b"!!int ",
        b"!!bool ",
        b"!!binary ",
        b"!x ",
        b"---\n",
        b"...\n",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xa8",
        b"\xef\xbb\xbf",
    ),
    *(
        b"0x_",
        b"1e999",
        b"-1",
        b"9" * 5000,
        b"2026-13-45",
        b"null",
        b"true",
        b"a: &b [*b]\n",
        b"\x1b[2J",
        b"=",
        b"/../",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        7,
        2**63,
        2**70,
        0.5,
        -1e308,
        float("inf"),
        "",
        " ",
        "x",
        "\n",
        "\0",
        "\u2028",
        "ü\x85",
    ),
    *(
        "\x1b[2J",
        "a" * 5000,
        "../../x",
        "http://[",
        "https://a:b@c",
        "::",
        "999.1.1.1",
        "1.2.3.4/33",
        "$(x)",
        "{{ x }}",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        {"a": {}},
        ["x"],
        {"": 0},
        "9" * 5000,
        "!",
        "- ",
        "data:;base64,x",
        "-----BEGIN CERTIFICATE-----",
    ),
)
TIMES = (1, 1, 1, 2, 200, 30_000)
"""How often an inserted token is repeated."""
MOST_INSERTED_BYTES = 1_000_000
"""No reader gets a file over 64 MiB: 150 MB are 8 s of CPU for YAML, which is no fault."""
DEPTHS = (2, 90, 250)
"""How deep a value is put; the encoder of JSON ends at 1,000 levels."""


def mutated_bytes(random: Random, data: bytes) -> bytes:
    """Return the bytes after one to four changes."""
    for _ in range(random.randint(1, 4)):
        at, length = random.randint(0, len(data)), random.choice((1, 2, 8, 64, 1000))
        match random.randrange(6):
            case 0:
                data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + length :]
            case 2:
                data = data[:at] + random.randbytes(min(length, 64)) + data[at:]
            case 3:
                data = data[:at]
            case 4 if CANARY.encode() not in (twice := data[at : at + length]):
                data = data[:at] + twice + data[at:]
            case _:
                repeated = random.choice(TOKENS) * random.choice(TIMES)
                data = data[:at] + repeated[:MOST_INSERTED_BYTES] + data[at:]
    return data


def mutated_lines(random: Random, data: bytes) -> bytes:
    """Return a text after one to four changes, each within lines that have no canary: a secret stays one."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines))
        if CANARY.encode() not in lines[at]:
            lines[at] = mutated_bytes(random, lines[at])
    return b"\n".join(lines)


def mutated_document(random: Random, document: Any) -> Any:
    """Return a copy of a document of JSON after one to three changes."""
    changed = [copy.deepcopy(document)]
    for _ in range(random.randint(1, 3)):
        places = list(_places(changed))
        container, key = random.choice(places)
        random.choice(CHANGES)(random, container, key)
        changed = changed or [None]
    return changed[0]


def _places(container: Any) -> Iterator[Place]:
    waiting = [container]
    while waiting:
        container = waiting.pop()
        for key in list(container) if isinstance(container, dict) else range(len(container)):
            yield container, key
            if isinstance(container[key], dict | list):
                waiting.append(container[key])


def _replace(random: Random, container: Any, key: Any) -> None:
    container[key] = copy.deepcopy(random.choice(VALUES))


def _remove(_: Random, container: Any, key: Any) -> None:
    del container[key]


def _wrap(random: Random, container: Any, key: Any) -> None:
    for _ in range(random.choice(DEPTHS)):
        container[key] = {"x": container[key]} if random.random() < 0.5 else [container[key]]


def _repeat(random: Random, container: Any, key: Any) -> None:
    if isinstance(container[key], list | str) and CANARY not in str(container[key]):
        container[key] = container[key] * random.choice((2, 50))


def _rename(random: Random, container: Any, key: Any) -> None:
    if isinstance(container, dict) and CANARY not in str(container[key]):
        container[random.choice(("", "x", key + "s", key.upper(), "a\nb", "\u2028"))] = container.pop(key)


CHANGES: tuple[Callable[[Random, Any, Any], None], ...] = (
    _replace,
    _replace,
    _replace,
    _remove,
    _wrap,
    _repeat,
    _rename,
)
