"""S4: no pattern of the program takes more than the length of a text, whatever the text: `re` stops all threads."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from assets.keyfiles import _section
from base import backend
from testing.adversarial import METHODS, is_linear, slow_texts
from testing.checkout import ROOMS, ROOT
from wires.redfish.capture.pseudonyms import Pseudonyms
from wires.redfish.client import reasons
from wires.redfish.client.quirks import TABLE

FUNCTIONS = {"compile": None, **{method: method for method in (*METHODS, "subn")}}
SCANS = {"search", "findall", "split", "sub", "subn"}
"""Methods that read a text as `finditer` does, or a part of it."""


@dataclass(frozen=True)
class Use:
    """A pattern and a method by which it is used."""

    where: str
    pattern: str
    flags: int
    method: str


MADE = {
    ("base/backend.py", "''.join(map(_spelled, plain))"): ["".join(map(backend._spelled, "pa ss\u00e9@"))],
    ("wires/redfish/capture/pseudonyms.py", "'|'.join((*map(re.escape, longest_first), *FORBIDDEN))"): [
        Pseudonyms([{"SerialNumber": "a-a-a-a"}])._forbidden.pattern
    ],
    ("base/masking.py", "'|'.join((*(word for word in _WORDS if word not in without), *more))"): [
        importlib.import_module("base.masking").secret_keys("auth", "^user-?name$").pattern
    ],
    ("assets/keyfiles.py", "f'^\\\\[{SECTIONS[version]}\\\\]\\\\n((?:[^\\\\[\\\\n].*\\\\n)*)'"): [
        _section(4).pattern,
        _section(6).pattern,
    ],
    ("providers/rendered_asset/readers.py", "complaint"): [r" line \d+: "],
    ("wires/redfish/client/quirks.py", "self.refusing_drives"): [row.refusing_drives or "x" for row in TABLE],
    ("wires/redfish/client/quirks.py", "f'\\\\b(?:{row.maker})'"): [rf"\b(?:{row.maker})" for row in TABLE],
    ("wires/redfish/client/quirks.py", "row.bmc"): [row.bmc for row in TABLE],
    ("wires/redfish/client/quirks.py", "row.service"): [row.service for row in TABLE],
    ("wires/redfish/client/reasons.py", "reason.words"): [row.words for row in reasons.REASONS],
}
"""By file and expression: patterns that are made from arguments."""


def _modules() -> dict[str, list[ast.AST]]:
    """Return the nodes of each module."""
    return {
        str(path.relative_to(ROOT)): [*ast.walk(ast.parse(path.read_text()))]
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
    }


def _calls(nodes: list[ast.AST]) -> Iterator[tuple[ast.Call, str, str]]:
    """Yield each call of `re` that takes a pattern, its function, and the name that a compiled one gets."""
    names = {
        id(node.value): target.id
        for node in nodes
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=function)) if function in FUNCTIONS:
                yield node, function, names.get(id(node), "")


def _used_methods(modules: dict[str, list[ast.AST]]) -> dict[str, set[str]]:
    """Return the methods by which each name is used anywhere, as `NAME.fullmatch`."""
    used = defaultdict[str, set[str]](set)
    for nodes in modules.values():
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method) if (
                    method in METHODS
                ):
                    used[name].add(method)
    return used


class _Names(dict[str, Any]):
    """The names of a module; one of a function stands for a text."""

    def __missing__(self, name: str) -> Any:
        if hasattr(__builtins__, name) or name in dir(importlib.import_module("builtins")):
            raise KeyError(name)
        return "name"


def _value(file: str, expression: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), file, "eval"), {}, _Names(names))  # noqa: S307


def _patterns(file: str, expression: ast.expr, names: dict[str, Any]) -> list[str]:
    key = file, ast.unparse(expression)
    if key in MADE:
        return MADE[key]
    assert not isinstance(expression, ast.Name) or expression.id in names, f"{key}: add its values to MADE"
    value = _value(file, expression, names)
    return [value.decode("latin-1") if isinstance(value, bytes) else value]


@cache
def uses() -> tuple[Use, ...]:
    modules, found = _modules(), list[Use]()
    used = _used_methods(modules)
    for file, nodes in modules.items():
        names = dict[str, object]()
        for call, function, name in _calls(nodes):
            names = names or vars(importlib.import_module(file.removesuffix(".py").replace("/", ".")))
            at = {"split": 2, "findall": 2, "finditer": 2, "search": 2, "match": 2, "fullmatch": 2, "compile": 1}
            flags_of = [word.value for word in call.keywords if word.arg == "flags"]
            flags_of += call.args[at[function] : at[function] + 1] if function in at else []
            flags = _value(file, flags_of[0], names) if flags_of else 0
            by = {FUNCTIONS[function] or ""} if FUNCTIONS[function] else used.get(name) or {"finditer"}
            methods = sorted({"finditer" if method in SCANS else method for method in by})
            for pattern in _patterns(file, call.args[0], names):
                found += [Use(f"{file}:{call.lineno}", pattern, flags, method) for method in methods]
    return tuple(dict.fromkeys(found))


# To find the patterns takes two seconds, which each worker would spend to collect a test for each of them.
@pytest.mark.parametrize("room", ROOMS)
def test_each_pattern_is_linear(room: str) -> None:
    slow = {
        use: [*slow_texts(re.compile(use.pattern, use.flags), use.method)]
        for use in uses()
        if use.where.startswith(f"{room}/")
    }
    assert {use: texts for use, texts in slow.items() if texts} == {}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        *((r"(a+)+$", "match"), (r"\S+X", "search"), (r"\s+$", "sub"), (r"\d+(?:\.\d+){3}", "finditer")),
        *((r"(.*?),(.*?),(.*?),z", "match"), (r"(?:a|ab|b)*c", "search")),
        *((r"\w+@\w+", "findall"), (r"://[^@]*@", "sub"), (r"(x|xx)*y", "fullmatch"), (r"a.*b.*c", "search")),
    ],
)
def test_a_pattern_that_is_not_is_found(pattern: str, method: str) -> None:
    assert not is_linear(re.compile(pattern), method)


def test_all_patterns_are_found() -> None:
    assert len({use.where for use in uses()}) > 90
