"""The base of all resources and providers: typed inputs, no state in the process, one line per error."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, get_args

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    ResourceProvider,
    UpdateResult,
)
from pydantic import BaseModel, SecretStr, ValidationError

from base import log, write_guard
from base.clock import SYSTEM_CLOCK
from base.errors import ConfigError, Fault, OkdBaremetalError, as_own, word
from base.log_entries import Action
from base.shapes import shape_faults
from base.spec import INPUT_ONLY, MACHINE, REPLACES, SECRET_OUTPUT, Outs, Spec, marked, state_names
from providers.asleep import STACK
from providers.pulumi import declared, plugin, run_follower, workers

Props = dict[str, Any]
S = TypeVar("S", bound=Spec)
O = TypeVar("O", bound=Outs)  # noqa: E741  (outputs, beside S for the inputs)


class Provider(ResourceProvider, Generic[S, O]):
    """Base of the providers. A subclass implements the underscored methods, and its instances have no attributes.

    Pulumi pickles the instance into the state file, and breaks at about the 978th resource that has attributes.
    """

    serialize_as_secret_always = False  # safe only while instances carry no attributes
    spec: ClassVar[type[Spec]]
    outs: ClassVar[type[Outs]]
    outputs_are_inputs: ClassVar[bool] = False
    """If true, `_read` writes its findings to the inputs as well, so that the next `up` corrects drift."""

    def __init_subclass__(cls) -> None:
        cls.spec, cls.outs = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]

    def configure(self, req: ConfigureRequest) -> None:
        """Set the process up; Pulumi calls this once in each provider process, before all else.

        Args:
            req: Has the options of this run, or those of the last `up` where no program runs: refresh, `destroy`.
        """
        workers.widen()
        SYSTEM_CLOCK.engine = plugin.engine_address(sys.argv)
        STACK.sleeps = req.config.get("power") == "off"

    def check(self, _olds: Props, news: Props) -> CheckResult:
        """Check the inputs, without I/O. `up` checks the values that a preview cannot know yet."""
        unknown = frozenset(key for key, value in news.items() if _is_unknown(value))
        try:
            spec: S = self.spec.model_validate(_known(news))  # type: ignore[assignment]
            declared.DECLARED.add(spec.urn)
            faults = list(self._faults(self.known_spec(_olds), spec))
        except ValidationError as error:
            faults = shape_faults(error, self.spec)
        known = [fault for fault in faults if _input_of(fault) not in unknown]
        # A failure that named a property would make Pulumi print the property's value before the reason.
        return CheckResult(news, [CheckFailure("", str(fault)) for fault in known])

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Leave the comparison to the Pulumi engine, so that previews show its diff of each property."""
        old, new = self.known_spec(_olds), self.known_spec(_news)
        if old and new:
            with _one_line_errors():
                self._plan(old, self.outs_of(_olds), new)
        if replaces := [key for key in marked(self.spec, REPLACES) if _olds.get(key) != _news.get(key)]:
            declared.REPLACED.add(_news.get("urn") or "")
        return DiffResult(changes=None, replaces=replaces, delete_before_replace=True)

    def create(self, props: Props) -> CreateResult:
        """Create the resource, or adopt what an earlier run made."""
        with self._working(Action.CREATE, props):
            name, outs = self._create(self._spec_of(props))
            return CreateResult(name, self._echoed(props, outs))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Bring the resource to its new inputs."""
        with self._working(Action.UPDATE, _news):
            outs = self._update(self._spec_of(_olds), self.outs_of(_olds), self._spec_of(_news))
            return UpdateResult(self._echoed(_news, outs))

    def read(self, id_: str, props: Props) -> ReadResult:
        """Return the resource as found now, for `pulumi refresh`."""
        with self._working(Action.READ, props):
            outs = self._read(self._spec_of(props), self.outs_of(props))
            if outs is None:
                return ReadResult("", {})
            state = {**props, **outs.props()}
            return ReadResult(id_, state, inputs=self._drifted(state, outs) if self.outputs_are_inputs else None)

    def delete(self, _id: str, _props: Props) -> None:
        """Delete the resource; if it is missing already, that is a success."""
        with self._working(Action.DELETE, _props):
            spec = self._spec_of(_props)
            if declared.stays(spec.urn) and type(self)._delete is not Provider._delete:
                raise ConfigError(_begun_anew(spec.urn))
            self._delete(spec, self.outs_of(_props))

    def _faults(self, old: S | None, new: S) -> Iterator[Fault]:
        """Yield the faults of `new`; one whose `where` begins with an input that a preview cannot know is left out.

        Args:
            old: The inputs in the state, if any.
            new: The inputs of this run.
        """
        yield from ()

    def _plan(self, old: S, outs: O, new: S) -> None:
        """Say in the preview what an update does, or refuse it, without I/O, by what inputs and outputs show.

        Raises:
            ConfigError: The update must not be made.
        """

    def _create(self, spec: S) -> tuple[str, O]:
        """Create it, and return its id and outputs."""
        raise NotImplementedError

    def _update(self, old: S, outs: O, new: S) -> O:
        """Update it from `old`, with outputs `outs`, and return its new outputs."""
        raise NotImplementedError

    def _read(self, spec: S, outs: O) -> O | None:
        """Return the outputs as found now, or None if it is gone."""
        return outs

    def _delete(self, spec: S, outs: O) -> None:
        """Delete it."""

    def known_spec(self, props: Props) -> S | None:
        """Return the inputs that a preview knows, or None if they do not make up a spec."""
        try:
            return self.spec.model_validate(_known(props))  # type: ignore[return-value]
        except ValidationError:
            return None

    def _spec_of(self, props: Props) -> S:
        try:
            return self.spec.model_validate(_bare(props))  # type: ignore[return-value]
        except ValidationError as error:
            raise ConfigError(*shape_faults(error, self.spec)) from None

    def outs_of(self, props: Props) -> O:
        """Return the outputs of a state, which may be older than this release."""
        recorded = {key: value for key, value in props.items() if value is not None}
        return self.outs.model_validate(recorded)  # type: ignore[return-value]

    @contextmanager
    def _working(self, action: Action, props: Props) -> Iterator[None]:
        """Log what the block does with the resource, and leave one line of this program's own errors."""
        machine = next((props.get(name, "") for name in marked(self.spec, MACHINE)), "")
        with _one_line_errors(), log.working(action, props.get("urn") or "", machine, _begun):
            yield

    def _drifted(self, state: Props, outs: O) -> Props:
        """Return the inputs of a state, with an output only where it drifted: the program names none of them."""
        usual = type(outs)().props()
        return {key: value for key, value in state.items() if key not in usual or value != usual[key]}

    def _echoed(self, props: Props, outs: O) -> Props:
        """Return inputs and outputs together: a later diff, update or delete receives nothing else."""
        omitted = marked(self.spec, INPUT_ONLY)
        return {key: value for key, value in props.items() if key not in omitted} | outs.props()


def _begun_anew(urn: str) -> Fault:
    """Return the fault of `up --replace` and `state taint`, which would end a machine and take it over again."""
    what = "it would be deleted and made anew, as `--replace` or `pulumi state taint` asks; nothing was changed"
    untaint = f"run `pulumi state untaint {word(urn)}`, and `pulumi up` without that option"
    return Fault(urn.rpartition("::")[2], what, f"{untaint}; a line of `reinstall` has a server installed again")


def _begun(run: Path) -> None:
    write_guard.name_plan()
    run_follower.start(run)


class BaremetalResource(Resource, Generic[S]):
    """Base of the resource classes: the inputs are a `Spec`, the outputs are those of the provider.

    Pulumi makes an attribute of each output; a subclass annotates those that the graph reads.
    """

    provider: ClassVar[type[Provider[Any, Any]]]

    def __init_subclass__(cls, provider: type[Provider[Any, Any]]) -> None:
        super().__init_subclass__(module="baremetal", name=cls.__name__)
        cls.provider = provider

    def __init__(
        self, name: str, spec: S, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        """Declare the resource.

        Args:
            name: Its name in the stack.
            spec: Its inputs.
            opts: Pulumi's options.
            later: Inputs by name that replace those of the spec; other resources provide their values.
        """
        outs = self.provider.outs
        # Without its second option, a resource that `--replace` names is made first, and `diff` is not asked: the
        # deletion of the old one then ends the machine that the new one has taken over.
        own = pulumi.ResourceOptions(
            additional_secret_outputs=[*marked(outs, SECRET_OUTPUT)], delete_before_replace=True
        )
        props = {**inputs_of(spec), **later, **dict.fromkeys(outs.model_fields)}
        super().__init__(self.provider(), name, props, pulumi.ResourceOptions.merge(opts, own))


def inputs_of(spec: Spec) -> dict[str, pulumi.Input[Any]]:
    """Return the fields of a spec as Pulumi takes them; a field that holds a secret is secret as a whole."""
    values = {in_state: getattr(spec, name) for name, in_state in state_names(type(spec)).items()}
    return {
        name: pulumi.Output.secret(_plain(value)) if _holds_secret(value) else _plain(value)
        for name, value in values.items()
    }


def _plain(value: Any) -> Any:
    """Return the value in JSON's types, with secrets in plain text."""
    match value:
        case SecretStr():
            return value.get_secret_value()
        case Enum():
            return value.value
        case BaseModel():
            return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            return {name: _plain(member) for name, member in value.items()}
        case tuple() | list():
            return [_plain(member) for member in value]
        case _:
            return value


def _holds_secret(value: Any) -> bool:
    match value:
        case SecretStr():
            return True
        case BaseModel():
            return any(_holds_secret(getattr(value, name)) for name in type(value).model_fields)
        case Mapping():
            return any(map(_holds_secret, value.values()))
        case tuple() | list():
            return any(map(_holds_secret, value))
        case _:
            return False


def _bare(props: Props) -> Props:
    """Return the properties without the pickled provider and without nulls, which Pulumi passes to `create`."""
    return {key: value for key, value in props.items() if key != "__provider" and value is not None}


def _input_of(fault: Fault) -> str:
    return re.split(r"[.\[]", fault.where, maxsplit=1)[0]


def _is_unknown(value: object) -> bool:
    """Whether a preview cannot know the value or a part of it."""
    if isinstance(value, dict):
        return any(map(_is_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_is_unknown, value))
    return isinstance(value, pulumi.output.Unknown)


def _known(props: Props) -> Props:
    """Return the properties that a preview knows; a mapping keeps only its wholly known members."""
    known = {}
    for key, value in _bare(props).items():
        if isinstance(value, dict):
            known[key] = {name: member for name, member in value.items() if not _is_unknown(member)}
        elif not _is_unknown(value):
            known[key] = value
    return known


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Hide the traceback of this program's own errors, and of a full disk: Pulumi would print it.

    The message suffices; of a call of the system, the run's log has the place.
    """
    try:
        yield
    except (OkdBaremetalError, OSError) as error:
        sys.tracebacklimit = 0
        raise as_own(error).with_traceback(None) from None
