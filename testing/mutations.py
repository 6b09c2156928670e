"""Small plausible faults of a Python file, for `testing.survivors`: each is one change that still compiles.

The kinds are those that tests have missed (issue 46): a limit that is off, a time-out or another argument that is
dropped, only the first of several values, a condition that is turned round, a step that is left out.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
"""By comparison, what takes its place."""
NO_CONTEXT = '__import__("contextlib").nullcontext()'
"""What takes the place of a lock, a limit or another context."""


_Part = ast.expr | ast.stmt | ast.keyword


@dataclass(frozen=True)
class Mutation:
    """One fault."""

    old: str
    """Whole lines, which occur exactly once in the file."""
    new: str


@dataclass(frozen=True)
class _Edit:
    start: int
    """Offset in the file's bytes, as `end`."""
    end: int
    new: str


def mutations(text: str) -> Iterator[Mutation]:
    """Yield the faults of a file's text."""
    source = text.encode()
    code = _Code(source, [0, *accumulate(map(len, source.splitlines(keepends=True)))])
    for edit in dict.fromkeys(edit for node in _nodes(ast.parse(text)) for edit in code.edits(node)):
        changed = source[: edit.start] + edit.new.encode() + source[edit.end :]
        try:
            compile(changed, "<mutation>", "exec")
        except SyntaxError:
            continue
        yield _lines(source, edit)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of the code, without annotations and f-strings: Python 3.11 knows no places in these."""
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr) or name in ("annotation", "returns"):
                continue
            if isinstance(child, ast.AST):
                yield child
                yield from _nodes(child)


@dataclass(frozen=True)
class _Code:
    """The text of a file, and where each of its lines starts, in bytes as `ast` counts."""

    source: bytes
    starts: list[int]

    def edits(self, node: ast.AST) -> Iterator[_Edit]:
        """Yield the faults of one node."""
        match node:
            case ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Await()):
                yield self._edit(node, "pass")
            case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
                yield self._edit(value, "None")
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
                yield self._edit(test, f"not {self._text(test)}")
            case ast.With(items=items):
                entered = (item.context_expr for item in items if item.optional_vars is None)
                yield from (self._edit(part, NO_CONTEXT) for part in entered)
            case ast.Call():
                yield from self._without_each_keyword(node)
            case ast.comprehension(iter=several, ifs=conditions):
                yield self._edit(several, f"[*{self._text(several)}][:1]")
                yield from (self._edit(condition, "True") for condition in conditions)
            case ast.expr():
                yield from self._otherwise(node)

    def _otherwise(self, node: ast.expr) -> Iterator[_Edit]:
        """Yield the faults of a comparison, a condition or a number."""
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield self._edit(node, f"{self._text(left)} {COMPARISONS[type(operator)]} {self._text(right)}")
            case ast.BoolOp(op=operator, values=values):
                word = " or " if isinstance(operator, ast.And) else " and "
                yield self._edit(node, f"({word.join(f'({self._text(value)})' for value in values)})")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._edit(node, f"bool({self._text(operand)})")
            case ast.Constant(value=float() as number):
                yield self._edit(node, str(number / 10))
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                yield self._edit(node, str(number + 1))

    def _without_each_keyword(self, call: ast.Call) -> Iterator[_Edit]:
        parts: list[_Part] = [*call.args, *call.keywords]
        for dropped in call.keywords:
            kept = [self._text(part) for part in parts if part is not dropped]
            yield self._edit(call, f"{self._text(call.func)}({', '.join(kept)})")

    def _span(self, part: _Part) -> tuple[int, int]:
        last, column = part.end_lineno or part.lineno, part.end_col_offset or 0
        return self.starts[part.lineno - 1] + part.col_offset, self.starts[last - 1] + column

    def _text(self, part: _Part) -> str:
        start, end = self._span(part)
        return self.source[start:end].decode()

    def _edit(self, part: _Part, new: str) -> _Edit:
        return _Edit(*self._span(part), new)


def _lines(source: bytes, edit: _Edit) -> Mutation:
    """Return an edit as whole lines, with as many around them as make them the only ones of the file."""
    start = source.rfind(b"\n", 0, edit.start) + 1
    end = source.find(b"\n", edit.end) + 1 or len(source)
    while source.count(source[start:end]) > 1:
        if start:
            start = source.rfind(b"\n", 0, start - 1) + 1
        else:
            end = source.find(b"\n", end) + 1 or len(source)
    new = source[start : edit.start] + edit.new.encode() + source[edit.end : end]
    return Mutation(source[start:end].decode(), new.decode())
