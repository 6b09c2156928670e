"""Files of one key each, which only their owner can read."""

import os
import secrets
from functools import partial
from pathlib import Path

from base.errors import ConfigError, Fault, word
from base.files import OTHERS, PRIVATE

MOST_CHARACTERS = 4096
"""A key file is far shorter."""
KEY_BYTES = 32
"""Of the key that all workers and people of a fleet share, see `codec`."""


def write_new(path: Path, key: str) -> None:
    """Write a key into a new file that only its owner can read.

    Raises:
        ConfigError: There is a file already, or it cannot be written.
    """
    try:
        with open(path, "x", encoding="ascii", opener=partial(os.open, mode=PRIVATE)) as file:
            file.write(key)
    except FileExistsError:
        raise ConfigError(Fault(str(path), "there is a file already", "name one that does not exist")) from None
    except OSError as error:
        fix = "name a file in a folder that you can write to"
        raise ConfigError(Fault(str(path), f"cannot be written ({error.strerror})", fix)) from None


def write_key(path: Path) -> None:
    """Write a new key of a fleet into a new file.

    Raises:
        ConfigError: The file cannot be made.
    """
    write_new(path, secrets.token_hex(KEY_BYTES) + "\n")


def key_of(variable: str, fix: str) -> tuple[str, str]:
    """Return the name and the content of the key file that a variable of the environment names.

    Args:
        variable: Its name.
        fix: What helps where it is not set.

    Returns:
        The content is empty if the file cannot be read.

    Raises:
        ConfigError: The variable is not set, or not only the file's owner can read it.
    """
    name = os.environ.get(variable, "")
    if not name:
        raise ConfigError(Fault(variable, "not set", fix))
    try:
        with Path(name).open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o7777
            content = file.read(MOST_CHARACTERS)
    except (OSError, ValueError):
        return name, ""
    if mode & OTHERS:
        what = f"{name} has mode {mode:04o}, so not only its owner can read it"
        raise ConfigError(Fault(variable, what, f"chmod 600 {word(name)}"))
    return name, content
