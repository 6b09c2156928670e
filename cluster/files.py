"""Text files of an operator."""

from pathlib import Path

import yaml

from providers.base.errors import ConfigError


def read_text(path: Path) -> str:
    """The content of a file.

    Raises:
        ConfigError: It cannot be read; one line, without the path.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError([f"cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"byte {error.start + 1} is no UTF-8; save it as UTF-8 text"]) from None


def yaml_place(error: Exception) -> str:
    """` at line 3, column 5`: where a file stops being YAML, or nothing where the reader does not say.

    What stands there may be a secret, so the reader's own words are left out.
    """
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
