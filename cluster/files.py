"""Texts that the operator writes or hands over."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from base.errors import ConfigError, Fault
from base.files import MOST_BYTES, read_file
from base.yaml_text import parse_yaml


def read_text(path: Path) -> str:
    """Return the content of a text file, without a byte order mark at its beginning.

    Raises:
        ConfigError: The file cannot be read. It has one fault, without the path.
    """
    try:
        # With a mark at its beginning, PyYAML counts one place too few.
        return io.TextIOWrapper(io.BytesIO(read_file(path)), "utf-8-sig").read()
    except OSError as error:
        raise ConfigError(Fault("", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise ConfigError(Fault("", f"byte {error.start + 1} is not UTF-8", "save it as UTF-8 text")) from None


def read_standard_input() -> str:
    """Return the text on standard input.

    Raises:
        ConfigError: It is no UTF-8, or too long.
    """
    where = "standard input"
    try:
        text = sys.stdin.read(MOST_BYTES + 1)
    except UnicodeDecodeError as error:
        raise ConfigError(Fault(where, f"byte {error.start + 1} is not UTF-8", "pipe UTF-8 text into it")) from None
    if len(text) > MOST_BYTES:
        raise ConfigError(Fault(where, f"longer than {MOST_BYTES // 1024**2} MiB", "pipe what the command reads"))
    return text


def read_yaml(path: Path, parse: Callable[[str], Any] = parse_yaml) -> Any:
    """Return the content of a YAML file.

    Raises:
        ConfigError: The file cannot be read, or `parse` refuses it. It has one fault, at the path.
    """
    try:
        return parse(read_text(path))
    except ConfigError as error:
        raise ConfigError(error.fault.within(str(path))) from None
