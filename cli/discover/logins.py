"""The logins that `discover` tries, from a file of secrets, in its order."""

from pathlib import Path

from pydantic import ConfigDict, SecretStr, TypeAdapter, ValidationError

from base.errors import ConfigError, Fault, word
from base.files import OTHERS
from base.spec import Model
from base.yaml_text import parse_yaml_as_written
from cluster.files import read_standard_input, read_yaml

MOST_REFUSED = 2
"""Logins that one BMC may refuse in a run.

An iDRAC8 locks for ten minutes at the third: Dell, iDRAC8 2.70.70.70 User's Guide, table 7.
"""
FORM = "write a list of `- {username: …, password: …}`, best first"


class BmcLogin(Model):
    """One login."""

    model_config = ConfigDict(extra="forbid")

    username: str
    password: SecretStr


def read_logins(file: Path) -> list[BmcLogin]:
    """Return the logins of a file, which nobody else may read; `-` is standard input.

    Raises:
        ConfigError: It cannot be read, others may read it, or it is no list of logins.
    """
    where = "standard input" if str(file) == "-" else str(file)
    if str(file) == "-":
        text = read_standard_input()
        try:
            content = parse_yaml_as_written(text)
        except ConfigError as error:
            raise ConfigError(error.fault.within(where)) from None
    else:
        try:
            is_open = file.stat().st_mode & OTHERS
        except OSError as error:
            fix = "name the file of logins, or - for standard input"
            raise ConfigError(Fault(str(file), f"cannot be read ({error.strerror})", fix)) from None
        content = read_yaml(file, parse_yaml_as_written)
        if is_open:
            raise ConfigError(Fault(str(file), "others may read it, and it has passwords", f"chmod 600 {word(file)}"))
    try:
        logins = TypeAdapter(list[BmcLogin]).validate_python(content)
    except ValidationError:
        raise ConfigError(Fault(where, "no list of logins", FORM)) from None
    if not logins:
        raise ConfigError(Fault(where, "no login", FORM))
    return logins
