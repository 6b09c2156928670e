"""The table of docs/reference/support.md, derived from the code: the support of each field of an install-config.

`make accept` rewrites it.
"""

import copy
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assets.render import render
from base.errors import Stricter
from base.shapes import values_at
from boot_media.keyfiles import keyfiles_of
from cluster.install_config import InstallConfig, read
from cluster.install_config.platform import DISABLED
from cluster.install_config.read import Reading, mapping
from cluster.install_config.rules.hosts import LOGIN
from cluster.plan import Intent, load_intent
from cluster.plan.model import Provisioning
from cluster.plan.refusals.unsupported import unsupported
from cluster.plan.sample_values import with_samples
from payload.payload_config import payload_config
from testing import plans
from testing.checkout import ROOT
from testing.support_examples import BESIDE, EXAMPLES, NO_TWIN, USED, Absent

DOCUMENT = ROOT / "docs" / "reference" / "support.md"
COLUMNS = ("field, or field and value", "validated", "planned", "rendered", "installed in a twin", "on real metal")
SCHEMA: dict[str, Any] = InstallConfig.model_json_schema()
KEY = re.compile(r"`([^`:]+)(?:: ([^`]+))?`")
"""A field in a row, and the value that the row is about."""
BASE = plans.INSTALL_CONFIG.parent
NOT_RUN = "example"
"""The stack that users copy; no rehearsal runs it."""


def keys(section: Mapping[str, Any] = SCHEMA, above: str = "") -> Iterator[str]:
    """Yield `platform.baremetal.hosts[].bmc.address` and every other key whose value is not a section."""
    for key, field in section["properties"].items():
        path = f"{above}{key}"
        if reference := re.search(r"'\$ref': '#/\$defs/(\w+)'", repr(field)):
            brackets = "[]" if "'items':" in repr(field) else ""
            yield from keys(SCHEMA["$defs"][reference[1]], f"{path}{brackets}.")
        else:
            yield path


@cache
def rows() -> list[dict[str, str]]:
    """Return the table."""
    return [dict(zip(COLUMNS, _row(label), strict=True)) for label in EXAMPLES]


def text() -> str:
    """Return the table in the form of the document."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row.values() for row in rows())]
    return "".join(f"| {' | '.join(line)} |\n".replace("| --- ", "|---").replace("|--- |", "|---|") for line in lines)


def _row(label: str) -> tuple[str, ...]:
    reading = _reading(install_config_of(label))
    if any(not LOGIN.fullmatch(fault.where) for fault in reading.faults if not isinstance(fault, Stricter)):
        return label, "invalid", "no", "no", "no", "no"
    if any(isinstance(fault, Stricter) for fault in reading.faults) or any(unsupported(reading.config)):
        return label, "yes", "no", "no", "no", "no"
    planned, rendered = _effects(label)
    if _is_value(label) and _uses(BASE, label):
        # Nothing changes where the rehearsal has this value: another value shows what the field does.
        planned, rendered = "yes", _rendered_beside(label)
    return label, "yes", planned, rendered, _twins(label) if planned == "yes" else "-", "no"


def _is_value(label: str) -> bool:
    return label in USED or any(value for _, value in KEY.findall(label))


def _rendered_beside(label: str) -> str:
    """Return whether files change with a value of a row's field other than the row's own."""
    fields = [path for path, _ in KEY.findall(label)]
    others = [other for other in EXAMPLES if [path for path, _ in KEY.findall(other)] == fields and other != label]
    valid = [other for other in others if not any(unsupported(_reading(install_config_of(other)).config))]
    return "yes" if any(_effects(other)[1] == "yes" for other in valid) else "-"


@cache
def install_config_of(label: str, *, base: bool = False) -> str:
    """Return the rehearsal's install-config with the values of a row's example, or of its base."""
    config = plans.install_config()
    for path, value in (BESIDE.get(label, {}) if base else EXAMPLES[label]).items():
        _set(config, path, value)
    return plans.written(config)


def _effects(label: str) -> tuple[str, str]:
    """Return whether plan or payload use the difference of a row's example to its base, and whether files change."""
    base, changed = _planned(install_config_of(label, base=True)), _planned(install_config_of(label))
    plan, files, payload = (before != after for before, after in zip(base, changed, strict=True))
    return "yes" if plan else "payload" if payload else "ignored", "yes" if files else "-"


def intents(label: str) -> tuple[Intent, Intent]:
    """Return the intent of a row's example, after that of its base; the example must be valid."""
    return _intent(install_config_of(label, base=True)), _intent(install_config_of(label))


@cache
def _reading(written: str) -> Reading:
    return read(written)


@cache
def _intent(written: str) -> Intent:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "install-config.yaml")
        path.write_text(written)
        return with_samples(load_intent(path, {}, keyfiles_of=keyfiles_of))[0]


@cache
def _planned(written: str) -> tuple[Intent, object, str]:
    intent = _intent(written)
    # The plan has these values only for the payload, and nothing reads the settings of a disabled network.
    without = intent.changed(topology={}, payload_values={})
    if intent.provisioning.mode == DISABLED:
        without = without.changed(provisioning=Provisioning(mode=DISABLED))
    return without, render(intent).folders, payload_config(mapping(written), _reading(written).config.networking)


def _twins(label: str) -> str:
    """Return the stacks of rehearsals that have the field, or the value, of a row; or why none has."""
    stacks = sorted(path.parent for path in (ROOT / "stacks").glob("*/install-config.yaml"))
    using = ", ".join(stack.name for stack in stacks if stack.name != NOT_RUN and _uses(stack, label))
    return using or (f"none: {NO_TWIN[label]}" if label in NO_TWIN else "not yet")


def _uses(stack: Path, label: str) -> bool:
    config, validated, written = _stack(stack)
    if label in USED:
        return USED[label](config)
    return any(
        any(
            str(own) == value if value else True
            for _, own in values_at(path, validated if value else written)
            if own is not None
        )
        for path, value in KEY.findall(label)
    )


@cache
def _stack(folder: Path) -> tuple[InstallConfig, dict[str, Any], dict[str, Any]]:
    """Return the install-config of a stack, all its values, and those that are written."""
    written = (folder / "install-config.yaml").read_text()
    config = read(written).config
    return config, config.model_dump(mode="json", by_alias=True), mapping(written)


def _set(config: Any, path: str, value: Any) -> None:
    """Set one value: with `hosts[]` of the first host, with `hosts[2]` of the third, with `hosts[*]` of all hosts."""
    key, _, rest = path.partition(".")
    name, _, which = key.partition("[")
    if which:
        elements = config.setdefault(name, [{}])
        for element in elements if which == "*]" else [elements[int(which.removesuffix("]") or 0)]]:
            _set(element, rest, value)
    elif rest:
        _set(config.setdefault(name, {}), rest, value)
    elif value is Absent:
        config.pop(name, None)
    elif isinstance(value, Callable):  # type: ignore[arg-type]
        config[name] = value(config.get(name))
    else:
        config[name] = copy.deepcopy(value)


def main() -> None:
    """Rewrite the table in the document."""
    written = DOCUMENT.read_text()
    head, _, rest = written.partition(f"| {COLUMNS[0]} |")
    _, _, tail = rest.partition("\n\n")
    DOCUMENT.write_text(f"{head}{text()}" + (f"\n{tail}" if tail else ""))


if __name__ == "__main__":
    main()
