"""The options of a stack as far as they are known, so that one wrong or encrypted option hides no other fault."""

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import ValidationError

from base.errors import Fault
from base.shapes import WANTED, Location, below, dotted, shape_faults
from base.spec import secret_inputs
from cluster.options import PLACEHOLDER, Options, Placeholder
from cluster.stack_file import LOGINS, PULL_SECRET, is_encrypted

SECRETS = secret_inputs(Options)
"""The options that only a secret of the stack may hold."""
_MARKS = {
    name: mark
    for name, field in Options.model_fields.items()
    for mark in field.metadata
    if isinstance(mark, Placeholder)
}
PLACEHOLDERS = {name: mark.value for name, mark in _MARKS.items()}
"""In place of the options without a default, where they are wrong or missing."""


class KnownOptions(NamedTuple):
    """The options, with defaults and placeholders for those that are wrong, missing or encrypted."""

    options: Options
    faults: list[Fault]
    unchecked: frozenset[str]
    """The paths of all that is wrong or encrypted: a further fault there would be one of the placeholder."""
    logins: bool
    """Whether `options` has all logins that the stack has."""
    pull_secret: bool
    """Whether the stack has one."""

    def counts(self, where: str) -> bool:
        """Return whether a fault at a path of the options is one of the stack."""
        return not _touches(where, self.unchecked)


def known_options(stack_options: Mapping[str, Any]) -> KnownOptions:
    """Check the shape of options. Encrypted ones, `{"secure": …}` at any depth, count as present and right."""
    raw = copy.deepcopy(dict(stack_options))
    encrypted = {dotted(location) for location in _take_ciphertext(raw)}
    collected, wrong = list[Fault](), set[str]()
    while True:
        try:
            options = Options.model_validate(raw)
        except ValidationError as error:
            faults = [_with_command(fault) for fault in shape_faults(error, Options)]
            collected += [fault for fault in faults if not _touches(fault.where, wrong)]
            wrong |= {fault.where for fault in faults}
            _take_out(raw, error.errors(include_input=False, include_url=False)[0]["loc"])
        else:
            own = [fault for fault in collected if not _touches(fault.where, encrypted)]
            has_pull_secret = bool(stack_options.get(PULL_SECRET))
            return KnownOptions(
                options, own, frozenset(wrong | encrypted), not _touches(LOGINS, wrong), has_pull_secret
            )


def holds_ciphertext(value: Any) -> bool:
    """Return whether an option is encrypted, or a part of it: Pulumi then takes all of it for a secret."""
    return any(True for _ in _take_ciphertext(copy.deepcopy({"": value})))


def _with_command(fault: Fault) -> Fault:
    """Return the fault of a missing option with the command that sets it, if there is one."""
    command = _MARKS[fault.where].fix if fault.where in _MARKS else ""
    return replace(fault, fix=command) if command and fault.what == WANTED["missing"][0] else fault


def _touches(where: str, paths: Collection[str]) -> bool:
    return any(below(where, path) or below(path, where) for path in paths)


def _take_ciphertext(section: Any, above: Location = ()) -> Iterator[Location]:
    """Replace each encrypted value with the placeholder, and yield the locations."""
    for key, value in list(section.items() if isinstance(section, dict) else enumerate(section)):
        if is_encrypted(value):
            section[key] = PLACEHOLDER
            yield (*above, key)
        elif isinstance(value, dict | list):
            yield from _take_ciphertext(value, (*above, key))


def _take_out(raw: dict[str, Any], location: Location) -> None:
    """Remove a wrong value; if it is missing, or in a list, the innermost section or list around it."""
    for end in range(len(location), 0, -1):
        section, key = _at(raw, location[: end - 1]), location[end - 1]
        if isinstance(section, dict) and key in section:
            del section[key]
            return
    raw[str(location[0])] = copy.deepcopy(PLACEHOLDERS[str(location[0])])


def _at(value: Any, location: Location) -> Any:
    for part in location:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value
