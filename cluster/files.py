"""Text files of an operator."""

from pathlib import Path

import yaml

from providers.base.errors import ConfigError, Fault


def read_text(path: Path) -> str:
    """The content of a file.

    Raises:
        ConfigError: It cannot be read; one fault, without the path.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError([Fault("", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([Fault("", f"byte {error.start + 1} is no UTF-8", "save it as UTF-8 text")]) from None


def yaml_fault(error: Exception, why: str = "", fix: str = "") -> Fault:
    """Where a file stops being YAML, if the reader names the place.

    What is there may be a secret, so the reader's own words are left out.

    Args:
        error: The reader's.
        why: What is known of the cause, without a value of the file.
        fix: Of that cause.
    """
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    usual = "correct quotes, brackets and indentation there" if mark else "quote odd values, escape odd characters"
    return Fault("", f"no YAML{place}{why and f': {why}'}", fix or usual)
