"""What all resources and their providers share: typed inputs, stateless, one clean line per error."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
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

from providers.base import workers
from providers.base.errors import ConfigError, Fault, OkdBaremetalError
from providers.base.shapes import shape_faults
from providers.base.spec import Outs, Spec
from providers.base.trace import start_trace

Props = dict[str, Any]
S = TypeVar("S", bound=Spec)
O = TypeVar("O", bound=Outs)  # noqa: E741  (outputs, beside S for the inputs)


class Provider(ResourceProvider, Generic[S, O]):
    """Base of the providers. Subclasses fill in the underscored methods; none of them may have attributes.

    What an instance holds would land in the state file, and breaks Pulumi at about the 978th resource.
    """

    serialize_as_secret_always = False  # safe only while instances carry no attributes
    spec: ClassVar[type[Spec]]
    outs: ClassVar[type[Outs]]
    replace_on: ClassVar[tuple[str, ...]] = ()
    """Inputs whose change means another thing."""
    input_only: ClassVar[tuple[str, ...]] = ()
    """Inputs that are not repeated among the outputs: large secrets, which nobody reads back."""
    outputs_are_inputs: ClassVar[bool] = False
    """True: what `_read` finds counts as an input, so that the next `up` corrects drift."""

    def __init_subclass__(cls) -> None:
        cls.spec, cls.outs = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]

    def configure(self, _req: ConfigureRequest) -> None:
        """Called once in each provider process, before all else."""
        workers.widen()
        start_trace()

    def check(self, _olds: Props, news: Props) -> CheckResult:
        """Judge the inputs, without I/O. What a preview cannot know yet is left out, and judged later."""
        unknown = frozenset(key for key, value in news.items() if _is_unknown(value))
        try:
            spec: S = self.spec.model_validate(_known(news))  # type: ignore[assignment]
            faults = list(self._faults(self.known_spec(_olds), spec))
        except ValidationError as error:
            faults = shape_faults(error, self.spec)
        failures = [_failure(fault) for fault in faults]
        return CheckResult(news, [failure for failure in failures if failure.property not in unknown])

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Let the engine compare the inputs itself: its per-property diff is what previews show."""
        replaces = [key for key in self.replace_on if _olds.get(key) != _news.get(key)]
        return DiffResult(changes=None, replaces=replaces, delete_before_replace=True)

    def create(self, props: Props) -> CreateResult:
        """Make it so, or adopt what exists."""
        with _one_line_errors():
            name, outs = self._create(self._spec_of(props))
            return CreateResult(name, self._echoed(props, outs))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Make the new inputs so."""
        with _one_line_errors():
            outs = self._update(self._spec_of(_olds), self.outs_of(_olds), self._spec_of(_news))
            return UpdateResult(self._echoed(_news, outs))

    def read(self, id_: str, props: Props) -> ReadResult:
        """Look, for `pulumi refresh`."""
        with _one_line_errors():
            outs = self._read(self._spec_of(props), self.outs_of(props))
            if outs is None:
                return ReadResult("", {})
            found = {**props, **outs.props()}
            return ReadResult(id_, found, inputs=dict(found) if self.outputs_are_inputs else None)

    def delete(self, _id: str, _props: Props) -> None:
        """End it; a missing thing is a success."""
        with _one_line_errors():
            self._delete(self._spec_of(_props), self.outs_of(_props))

    def _faults(self, old: S | None, new: S) -> Iterator[Fault]:
        """What is wrong with the inputs; `where` begins with an input's name. `old`: those of the state."""
        yield from ()

    def _create(self, spec: S) -> tuple[str, O]:
        """The id, and the outputs."""
        raise NotImplementedError

    def _update(self, old: S, outs: O, new: S) -> O:
        """The outputs; `outs` has those of before."""
        raise NotImplementedError

    def _read(self, spec: S, outs: O) -> O | None:
        """The outputs as found now; None: it is gone."""
        return outs

    def _delete(self, spec: S, outs: O) -> None:
        """End it."""

    def known_spec(self, props: Props) -> S | None:
        """Inputs, as far as a preview knows them; None: there are none yet, or they do not suffice."""
        try:
            return self.spec.model_validate(_known(props))  # type: ignore[return-value]
        except ValidationError:
            return None

    def _spec_of(self, props: Props) -> S:
        try:
            return self.spec.model_validate(_bare(props))  # type: ignore[return-value]
        except ValidationError as error:
            raise ConfigError(shape_faults(error, self.spec)) from None

    def outs_of(self, props: Props) -> O:
        """Outputs, of any age."""
        given = {key: value for key, value in props.items() if value is not None}
        return self.outs.model_validate(given)  # type: ignore[return-value]

    def _echoed(self, props: Props, outs: O) -> Props:
        """The outputs behind their inputs, of which a later diff, update or delete sees nothing else."""
        return {key: value for key, value in props.items() if key not in self.input_only} | outs.props()


class BaremetalResource(Resource):
    """Face of a resource: its inputs are a `Spec`, its outputs are annotated."""

    def __init__(
        self,
        provider: Provider[S, O],
        name: str,
        spec: S,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        """Declare it.

        Args:
            provider: Its provider.
            name: In the stack.
            spec: Its inputs.
            opts: Pulumi's.
            later: Inputs that other resources give, by name, in place of the spec's.
        """
        outputs = dict.fromkeys(type(provider).outs.model_fields)
        super().__init__(provider, name, {**inputs_of(spec), **later, **outputs}, opts)


def inputs_of(spec: Spec) -> dict[str, pulumi.Input[Any]]:
    """The fields of a spec as Pulumi takes them; one that holds a secret is secret as a whole."""
    values = {name: getattr(spec, name) for name in type(spec).model_fields}
    return {
        name: pulumi.Output.secret(_plain(value)) if _holds_secret(value) else _plain(value)
        for name, value in values.items()
    }


def _plain(value: Any) -> Any:
    """Of the types that JSON has, secrets opened."""
    match value:
        case SecretStr():
            return value.get_secret_value()
        case Enum():
            return value.value
        case BaseModel():
            return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case tuple() | list():
            return [_plain(each) for each in value]
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
    """Without the pickled provider, and without what is not set: Pulumi hands nulls to `create`."""
    return {key: value for key, value in props.items() if key != "__provider" and value is not None}


def _failure(fault: Fault) -> CheckFailure:
    """A fault at the input that it is in; the reason has the rest of its place."""
    key = re.split(r"[.\[]", fault.where, maxsplit=1)[0]
    rest = fault.where.removeprefix(key).removeprefix(".")
    return CheckFailure(key, str(replace(fault, where=rest)))


def _is_unknown(value: object) -> bool:
    """Whether a preview cannot know a value, or a part of it."""
    if isinstance(value, dict):
        return any(map(_is_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_is_unknown, value))
    return isinstance(value, pulumi.output.Unknown)


def _known(props: Props) -> Props:
    """What a preview knows: of a mapping, the members that are known as a whole."""
    found = {}
    for key, value in _bare(props).items():
        if isinstance(value, dict):
            found[key] = {name: each for name, each in value.items() if not _is_unknown(each)}
        elif not _is_unknown(value):
            found[key] = value
    return found


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Pulumi shows the operator a traceback; for our own errors only the message is worth showing."""
    try:
        yield
    except OkdBaremetalError as error:
        sys.tracebacklimit = 0
        raise error.with_traceback(None) from None
