"""Text files that the operator writes."""

from pathlib import Path

import yaml

from providers.base.errors import ConfigError, Fault


def read_text(path: Path) -> str:
    """Return the content of a text file.

    Raises:
        ConfigError: The file cannot be read. It has one fault, without the path.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError([Fault("", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([Fault("", f"byte {error.start + 1} is not UTF-8", "save it as UTF-8 text")]) from None


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
