"""The one reader and writer of YAML text."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar

import yaml

from base.errors import ConfigError, Fault, Stricter
from base.yaml_scalars import scalar

MOST_VALUES = 200_000
"""The limit of keys and values per text. A few lines of anchors that repeat each other could exceed any memory."""
MOST_LEVELS = 100
"""The limit of nested lists and mappings. The parser is recursive C code, which a text could crash."""

_LINE_ENDS = frozenset("\x85\u2028\u2029\ufeff")
"""Those of YAML 1.1 beside line feed and carriage return, and the mark at the beginning of a text."""

_WIDEST = 2**31 - 1
"""Characters of a line, so that none is broken: libyaml's largest int."""

_T = TypeVar("_T")
_YAML = "tag:yaml.org,2002:"
_TEXT, _MERGE = f"{_YAML}str", f"{_YAML}merge"
_TAGS = {type(None): f"{_YAML}null", bool: f"{_YAML}bool", int: f"{_YAML}int", float: f"{_YAML}float", str: _TEXT}


def parse_yaml(text: str | bytes) -> Any:
    """Return the content of a YAML document.

    Raises:
        ConfigError: It is not a single document, or one that JSON cannot express; it has a key twice; or it is too
            large. The error has one fault, without `where`, and quotes nothing of the text, which may be secret.
    """
    return _parsed(text, lambda: yaml.load(text, Loader=_Loader))  # noqa: S506 (it is a SafeLoader)


def parse_yaml_as_written(text: str | bytes) -> Any:
    """Return the content of a YAML document with all numbers and booleans as text, as they are written.

    Raises:
        ConfigError: As `parse_yaml`.
    """
    return _parsed(text, lambda: yaml.load(text, Loader=_TextLoader))  # noqa: S506 (it is a SafeLoader)


def parse_yaml_documents(text: str | bytes) -> list[Any]:
    """Return the contents of all YAML documents of a text.

    Raises:
        ConfigError: As `parse_yaml`.
    """
    return _parsed(text, lambda: [*yaml.load_all(text, Loader=_Loader)])


def yaml_of(value: Any) -> str:
    """Return a value as YAML text: mappings keep their order, and texts their lines and characters.

    libyaml, four times as fast as PyYAML's own dumper, writes a character above U+FFFF as an escape.
    """
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDEST)
    return text


def line_of(text: str, *keys: str) -> int | None:
    """Return the number of the line, from 1, on which the value of nested keys starts. None: there is no such value.

    Raises:
        ConfigError: As `parse_yaml`.
    """
    node = _node_at(text, keys)
    return int(node.start_mark.line) + 1 if node else None


def lines_of(text: str, *keys: str) -> list[int]:
    """Return the numbers of the lines, from 1, of the value of nested keys: of a list, one per item.

    Raises:
        ConfigError: As `parse_yaml`.
    """
    node = _node_at(text, keys)
    items = node.value if isinstance(node, yaml.SequenceNode) else [node] if node else []
    return [int(item.start_mark.line) + 1 for item in items]


def _node_at(text: str, keys: Sequence[str]) -> Any:
    node: Any = compose(text)
    for name in keys:
        members = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for key, value in members if key.value == name), None)
    return node


def compose(text: str) -> Any:
    """Return the node of a YAML document, with the places of all its parts; None if it is empty.

    Raises:
        ConfigError: As `parse_yaml`.
    """
    return _parsed(text, lambda: yaml.compose(text, Loader=_Loader))


def _parsed(text: str | bytes, parse: Callable[[], _T]) -> _T:
    try:
        _check_size(text)
        return parse()
    except (yaml.YAMLError, ValueError, LookupError) as error:  # the latter two by odd scalars: `0x_`, `!!bool x`
        raise ConfigError(_fault(error)) from None


def _check_size(text: str | bytes) -> None:
    """Count what the text stands for, with the content of an anchor once per alias, before anything is built.

    Raises:
        ConfigError: It is too much.
    """
    sizes = dict[str | None, int]()
    open_anchors = list[tuple[str | None, int]]()
    values = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        match event:
            case yaml.AliasEvent(anchor=anchor):
                if anchor in (opened for opened, _ in open_anchors):
                    raise ConfigError(_fault(event, "an anchor that contains itself", "remove it"))
                values += sizes.get(anchor, 0)
            case yaml.ScalarEvent(anchor=anchor):
                values += 1
                sizes[anchor] = 1
            case yaml.CollectionStartEvent(anchor=anchor):
                values += 1
                open_anchors.append((anchor, values))
            case yaml.CollectionEndEvent():
                anchor, before = open_anchors.pop()
                sizes[anchor] = values - before + 1
        if len(open_anchors) > MOST_LEVELS:
            raise ConfigError(_fault(event, f"nested deeper than {MOST_LEVELS} levels", "nest it less"))
        if values > MOST_VALUES:
            what = f"more than {MOST_VALUES:,} keys and values"
            raise ConfigError(Fault("", what, "replace anchors that repeat each other"))


def _fault(where: Any, why: str = "", fix: str = "") -> Fault:
    """Return the fault at a place of the text, without the parser's own message, which may quote a secret.

    It is a `Stricter` one where Go's parser reads the text: the first document, and a value by another type.
    """
    read_by_go = False
    match where:
        case yaml.composer.ComposerError(context=None):
            why, fix = "an undefined anchor", "define it, or remove the alias"
        case yaml.composer.ComposerError():
            why, fix, read_by_go = "a second document", "keep one document", True
        case _DuplicateKeyError():
            why, fix = "a duplicate key", "keep one of the two"
        case yaml.constructor.ConstructorError():
            why, read_by_go = "a type that JSON does not have", "constructor for the tag" in str(where.problem)
            fix = "write text, a number, true or false, a list or a mapping"
    mark = getattr(where, "problem_mark", None) or getattr(where, "start_mark", None)
    position = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    usual = "correct quotes, brackets and indentation there" if mark else "quote odd values, escape odd characters"
    if read_by_go:
        return Stricter("", f"{why}{position}", fix)
    return Fault("", f"not valid YAML{position}{why and f': {why}'}", fix or usual)


class _DuplicateKeyError(yaml.constructor.ConstructorError):
    """A mapping has a key twice; YAML parsers disagree on which one counts."""


class _Resolver(NamedTuple):
    """A rule by which PyYAML finds the tag of a scalar that has neither quotes nor a tag."""

    tag: str

    def match(self, text: str) -> bool:
        """Return whether the tag is that of the text."""
        return self.tag == _tag(text)


@lru_cache(maxsize=1)  # PyYAML asks all rules about one text
def _tag(text: str) -> str:
    return _MERGE if text == "<<" else _TAGS[type(scalar(text))]


_RESOLVERS = {None: [(tag, _Resolver(tag)) for tag in (*_TAGS.values(), _MERGE)]}
"""By the first character: None is any."""


def _constructed(_: yaml.CSafeLoader, node: yaml.ScalarNode) -> Any:
    """Return the value of a null, boolean or number."""
    value = scalar(node.value)
    if node.tag == _TAGS[float] and type(value) is int:
        return float(value)
    if node.tag != _TAGS[type(value)]:
        raise ValueError
    return value


class _Loader(yaml.CSafeLoader):
    """A loader that refuses duplicate keys and all types that JSON lacks, as the installer's parser does."""

    yaml_constructors: ClassVar = {
        tag: construct
        for tag, construct in yaml.CSafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(_YAML) in {"str", "seq", "map"}
    } | dict.fromkeys((tag for tag in _TAGS.values() if tag != _TEXT), _constructed)

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag of a node that has none. PyYAML would ask six rules about each scalar."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _tag(value)
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build one mapping, without duplicate keys. All its keys are text, as in JSON."""
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise _DuplicateKeyError(None, None, None, key.start_mark)
            seen.add(key.value)
        node.value = [(_as_text(key), value) for key, value in node.value]
        return super().construct_mapping(node, deep)


def _as_text(key: yaml.Node) -> yaml.Node:
    is_text = isinstance(key, yaml.ScalarNode) and key.tag in {*_TAGS.values()}
    return yaml.ScalarNode(_TEXT, key.value, key.start_mark, key.end_mark) if is_text else key


class _TextLoader(_Loader):
    """A loader that keeps numbers and booleans as they are written."""

    yaml_constructors: ClassVar = _Loader.yaml_constructors | dict.fromkeys(
        (_TAGS[bool], _TAGS[int], _TAGS[float]), _Loader.yaml_constructors[_TEXT]
    )


class _Dumper(yaml.CSafeDumper):
    """A dumper that puts a text in quotes if any reader would take it for something else."""

    yaml_implicit_resolvers = yaml.CSafeDumper.yaml_implicit_resolvers | _RESOLVERS


def _escaped(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Return the node of a text: with escapes, if a reader would take a character for the end of a line."""
    return dumper.represent_scalar(_TEXT, text, style='"' if _LINE_ENDS.intersection(text) else None)


_Dumper.add_representer(str, _escaped)
