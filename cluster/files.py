"""Text files that the operator writes."""

import re
from pathlib import Path
from typing import Any, ClassVar

import yaml

from base.errors import ConfigError, Fault

NESTED = Fault("", "not valid YAML: nested too deeply", "remove the anchor that contains itself")


def read_text(path: Path) -> str:
    """Return the content of a text file.

    Raises:
        ConfigError: The file cannot be read. It has one fault, without the path.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(Fault("", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise ConfigError(Fault("", f"byte {error.start + 1} is not UTF-8", "save it as UTF-8 text")) from None


def yaml_fault(error: Exception, why: str = "", fix: str = "") -> Fault:
    """Return the fault of a file that is not YAML, with the position if the parser names it.

    It leaves the parser's own message out, because that may quote a secret.

    Args:
        error: The parser's exception.
        why: The cause, if known, without any value of the file.
        fix: The fix for that cause.
    """
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    usual = "correct quotes, brackets and indentation there" if mark else "quote odd values, escape odd characters"
    return Fault("", f"not valid YAML{place}{why and f': {why}'}", fix or usual)


def parsed_yaml(text: str) -> Any:
    """Return the content of a YAML document.

    Raises:
        ConfigError: It is no single document, has a key twice, or a type that JSON lacks. It has one fault.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (it is a SafeLoader)
    except RecursionError:
        raise ConfigError(NESTED) from None
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
    ) as error:  # the last two come from odd scalars: `0x_`, `!!bool x`
        raise ConfigError(_no_yaml(error)) from None


def _no_yaml(error: Exception) -> Fault:
    if isinstance(error, yaml.composer.ComposerError):
        return yaml_fault(error, "a second document, or an undefined anchor", "keep one document")
    if isinstance(error, _TwiceError):
        return yaml_fault(error, "a duplicate key", "keep one of the two")
    if isinstance(error, yaml.constructor.ConstructorError):
        fix = "write text, a number, true or false, a list or a mapping"
        return yaml_fault(error, "a type that JSON does not have", fix)
    return yaml_fault(error)


class _TwiceError(yaml.constructor.ConstructorError):
    """A mapping has a key twice; YAML parsers disagree on which one counts."""


class _Loader(yaml.CSafeLoader):
    """A loader that refuses duplicate keys and all types that JSON lacks, as the installer's parser does."""

    yaml_constructors: ClassVar = {
        tag: construct
        for tag, construct in yaml.CSafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in {"null", "bool", "int", "float", "str", "seq", "map"}
    }
    # Keep dates as text, and all values with a colon: YAML 1.1 reads MAC and IPv6 addresses as base-60 numbers.
    yaml_implicit_resolvers = {
        first: [
            (tag, re.compile(f"(?!.*:){pattern.pattern}", pattern.flags))
            for tag, pattern in resolvers
            if not tag.endswith((":timestamp", ":value"))
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build one mapping, without duplicate keys."""
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise _TwiceError(None, None, None, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)
