"""The output of `pulumi preview --json`, read into steps that have no URNs and no secrets."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar, get_origin

from base.backend import without_login
from base.errors import MISSHAPEN, ConfigError, Fault, one_line
from base.spec import SECRET_OUTPUT, Outs, Spec, marked, secret_inputs, state_names
from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.host_provisioning.model import HostProvisioningSpec
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.vip_handoff.model import VipHandoffOuts

SECRET = "[secret]"  # noqa: S105  (what the engine prints in place of a secret)
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key by which the engine marks a secret that is not masked."""
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The engine's mark of a value that a preview cannot know."""
SPECS = (BmcHostSpec, BootstrapVmSpec, HostProvisioningSpec, ProvisionerPreflightSpec)
SECRETS = {
    *(name for spec in SPECS for name in secret_inputs(spec)),
    *marked(VipHandoffOuts, SECRET_OUTPUT),
}
"""Values of resources that are secret as a whole; none of them is taken from a preview, whatever it holds.

The text of a `RenderedAsset` is secret or not by its content; the engine masks it then.
"""
OPERATIONS = {
    **{name: name for name in ("create", "update", "delete", "replace")},
    **dict.fromkeys(("create-replacement", "delete-replaced"), "replace"),
}
ERROR = re.compile(r"^(error: )?(base\.errors\.\w+: )?(pulumi-python:\S+ resource '[^']*' has a problem: )?")
"""What Pulumi writes before the message of an error."""
PROTECTED = re.compile(
    r'resource "(?P<urn>[^"]+)"\s+(cannot be deleted\s+because it is|as it is currently marked for) protect'
)
"""The engine's refusal to delete or replace a protected resource, from its step.go and step_generator.go (v3.259)."""
PREFIX = "okd-baremetal:"
NO_PREVIEW = "no output of `pulumi preview --json`"
FIX = "save it with `pulumi preview --json > FILE`, of this program's stack"

Values = Mapping[str, Any]
S = TypeVar("S", bound=Spec)
O = TypeVar("O", bound=Outs)  # noqa: E741  (outputs, beside S for the inputs)


@dataclass(frozen=True)
class Step:
    """What an update does to one resource."""

    operation: str
    """`create`, `update`, `delete` or `replace`."""
    kind: str
    """The last part of its type, as `BmcHost`."""
    name: str
    parent: str
    """The name of the component that it belongs to."""
    old: Values = field(default_factory=dict)
    """The inputs in the state."""
    outs: Values = field(default_factory=dict)
    """The outputs in the state."""
    new: Values = field(default_factory=dict)
    """The inputs to come."""
    changed: tuple[str, ...] = ()
    """The inputs that change."""


@dataclass(frozen=True)
class Change(Generic[S]):
    """What an update does to one resource of this program, with its inputs as its provider reads them.

    A secret is `SECRET`, or an empty mapping. A mapping lacks the members that a preview cannot know yet.
    """

    step: Step
    spec: S
    """The inputs to come; of a resource that is deleted, those in the state."""
    old: S | None
    """The inputs in the state; None if the resource is new."""

    @property
    def operation(self) -> str:
        """`create`, `update`, `delete` or `replace`."""
        return self.step.operation

    def recorded(self, outs: type[O]) -> O:
        """Return the outputs in the state."""
        return outs.model_validate(_given(self.step.outs))


@dataclass(frozen=True)
class Preview:
    """What an update does: its steps in a stable order, and the options that it was made with."""

    steps: tuple[Step, ...]
    options: Values
    _changes: dict[type[Spec], tuple[Change[Any], ...]] = field(default_factory=dict, compare=False, repr=False)
    """What `of` has returned: many sentences ask for the same kind."""

    def of(self, kind: type[S]) -> tuple[Change[S], ...]:
        """Return the changes of the resources whose inputs are of a class, as `BmcHostSpec` for a `BmcHost`.

        Raises:
            ValidationError: The preview was made by another release, whose inputs differ.
        """
        if kind not in self._changes:
            name = kind.__name__.removesuffix("Spec")
            self._changes[kind] = tuple(_change(kind, step) for step in self.steps if step.kind == name)
        return self._changes[kind]

    @property
    def digest(self) -> str:
        """SHA-256 of all steps; another update has another one. What is secret is not in it."""
        steps = [asdict(step) | {"outs": {}} for step in self.steps]
        return hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).hexdigest()


def read_preview(text: str, where: str) -> Preview:
    """Read a preview.

    Raises:
        ConfigError: It is no output of `pulumi preview --json`, or that of a preview that failed.
    """
    if failed := failures(text):
        raise ConfigError(*(Fault(where, f"the preview failed: {line}") for line in failed))
    loaded = _loaded(text)
    if not isinstance(loaded.get("steps"), list):
        raise ConfigError(Fault(where, NO_PREVIEW, FIX))
    try:
        return _preview_of(loaded)
    except MISSHAPEN:
        raise ConfigError(Fault(where, NO_PREVIEW, FIX)) from None


def _preview_of(loaded: Values) -> Preview:
    # A replacement is up to three steps of one resource; the one that has both states tells all.
    by_urn: dict[str, Step] = {}
    for printed in loaded["steps"]:
        step = _step(printed)
        if step and (printed["urn"] not in by_urn or (step.old and step.new)):
            by_urn[printed["urn"]] = step
    options = {
        name.removeprefix(PREFIX): _option(value)
        for name, value in loaded.get("config", {}).items()
        if name.startswith(PREFIX)
    }
    return Preview(tuple(sorted(by_urn.values(), key=lambda step: (step.kind, step.name, step.operation))), options)


def failures(text: str) -> list[str]:
    """Return the errors of a preview that failed, a line each. A text that is no preview has none."""
    try:
        diagnostics = _loaded(text).get("diagnostics") or ()
        errors = [without_login(each["message"]) for each in diagnostics if each.get("severity") == "error"]
        return [line for message in errors for line in _lines(message)]
    except MISSHAPEN:
        return []


def _lines(message: str) -> list[str]:
    """Return the lines of an error; Pulumi's advice on a protected resource, to unprotect it, is not among them."""
    if protected := PROTECTED.search(message):
        *_, kind, name = protected["urn"].split("::")
        what = "it would be deleted, but its cluster is in production and not destroyable"
        fix = "undo the change that removes it; if it is to go, set destroyable to true in an update before"
        return [str(Fault(f"{kind.rpartition(':')[2]} {name}", what, f"{fix} (docs/how-to/day-two.md)"))]
    return [one_line(ERROR.sub("", line)) for line in message.splitlines() if line.strip()]


def _loaded(text: str) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _step(step: Mapping[str, Any]) -> Step | None:
    """Return one step, or None if it changes nothing that is a resource of its own."""
    operation = OPERATIONS.get(step["op"])
    *_, kind, name = step["urn"].split("::")
    kind = kind.rpartition("$")[2]
    if operation is None or kind.startswith(("pulumi:", "baremetal:")):
        return None
    old, new = step.get("oldState") or {}, step.get("newState") or {}
    return Step(
        operation=operation,
        kind=kind.rpartition(":")[2],
        name=name,
        parent=(new or old).get("parent", "").rpartition("::")[2],
        old=_values(old.get("inputs")),
        outs=_values(old.get("outputs")),
        new=_values(new.get("inputs")),
        changed=tuple(sorted({*(step.get("diffReasons") or ()), *(step.get("replaceReasons") or ())})),
    )


def _change(kind: type[S], step: Step) -> Change[S]:
    # A provider reads the old inputs from the outputs, which repeat them.
    state = {**step.old, **step.outs}
    return Change(step, _spec(kind, step.new or state), _spec(kind, state) if step.old else None)


def _spec(kind: type[S], values: Values) -> S:
    given = _given(values)
    for name in given.keys() & {
        in_state
        for name, in_state in state_names(kind).items()
        if get_origin(kind.model_fields[name].annotation) is dict
    }:
        members = {} if given[name] in (SECRET, UNKNOWN) else given[name]
        if isinstance(members, dict):
            members = {key: value for key, value in members.items() if UNKNOWN not in json.dumps(value)}
        given[name] = members
    return kind.model_validate(given)


def _given(values: Values) -> dict[str, Any]:
    """Return the values without nulls: an older state may lack an input, and Pulumi passes null for a missing one."""
    return {name: value for name, value in values.items() if value is not None}


def _values(given: Values | None) -> Values:
    """Return properties without the pickled provider and the URNs of rows."""
    values = {
        name: _masked(value) for name, value in (given or {}).items() if name not in ("__provider", "rows", "urn")
    }
    return values | dict.fromkeys(values.keys() & SECRETS, SECRET)


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return SECRET if SIGNATURE in value else {key: _masked(member) for key, member in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _option(text: Any) -> Any:
    """Return an option, of which Pulumi prints objects as JSON texts."""
    try:
        return json.loads(text)
    except MISSHAPEN:
        return text
