"""Text files that the operator writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from base.errors import ConfigError, Fault
from base.yaml_text import parse_yaml


def read_text(path: Path) -> str:
    """Return the content of a text file, without a byte order mark at its beginning.

    Raises:
        ConfigError: The file cannot be read. It has one fault, without the path.
    """
    try:
        return path.read_text(encoding="utf-8-sig")  # with a mark, PyYAML counts one place too few
    except OSError as error:
        raise ConfigError(Fault("", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise ConfigError(Fault("", f"byte {error.start + 1} is not UTF-8", "save it as UTF-8 text")) from None


def read_yaml(path: Path, parse: Callable[[str], Any] = parse_yaml) -> Any:
    """Return the content of a YAML file.

    Raises:
        ConfigError: The file cannot be read, or `parse` refuses it. It has one fault, at the path.
    """
    try:
        return parse(read_text(path))
    except ConfigError as error:
        raise ConfigError(error.fault.within(str(path))) from None
