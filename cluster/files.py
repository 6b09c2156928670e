"""Text files of an operator."""

from pathlib import Path

from cluster.errors import ConfigError


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
