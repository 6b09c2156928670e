"""What all dynamic providers share: stateless, quiet, one clean line per error, outs that echo the inputs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from providers.base import workers
from providers.base.errors import AssetError, OkdBaremetalError

Props = dict[str, Any]


class Provider(ResourceProvider):
    """Base of the providers. Subclasses fill in the underscored methods; none of them may have attributes.

    What sits in `self` would land in the state file, and breaks Pulumi at about the 978th resource.
    """

    serialize_as_secret_always = False  # safe only while instances carry no attributes
    replace_on: ClassVar[tuple[str, ...]] = ()
    """Inputs whose change means another thing."""
    outputs_are_inputs: ClassVar[bool] = False
    """True: what `_read` finds counts as an input, so that the next `up` mends drift."""

    def configure(self, _req: ConfigureRequest) -> None:
        """Called once in each provider process, before all else."""
        workers.widen()

    def check(self, _olds: Props, news: Props) -> CheckResult:
        """Judge the inputs, without I/O."""
        problems = self._problems(_bare(_olds), _bare(news))
        return CheckResult(news, [CheckFailure(key, reason) for key, reason in problems])

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Let the engine compare the inputs itself: its per-property diff is what previews show."""
        replaces = [key for key in self.replace_on if _olds.get(key) != _news.get(key)]
        return DiffResult(changes=None, replaces=replaces, delete_before_replace=True)

    def create(self, props: Props) -> CreateResult:
        """Make it so, or adopt what is there."""
        with _one_line_errors():
            name, outs = self._create(_bare(props))
            return CreateResult(name, {**props, **outs})

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Make the new inputs so."""
        with _one_line_errors():
            return UpdateResult({**_news, **self._update(_id, _bare(_olds), _bare(_news))})

    def read(self, id_: str, props: Props) -> ReadResult:
        """Look, for `pulumi refresh`."""
        with _one_line_errors():
            outs = self._read(id_, _bare(props))
            if outs is None:
                return ReadResult("", {})
            found = {**props, **outs}
            return ReadResult(id_, found, inputs=dict(found) if self.outputs_are_inputs else None)

    def delete(self, _id: str, _props: Props) -> None:
        """End it; a missing thing is a success."""
        with _one_line_errors():
            self._delete(_id, _bare(_props))

    def _problems(self, olds: Props, news: Props) -> list[tuple[str, str]]:
        """Pairs of input and reason."""
        return []

    def _create(self, props: Props) -> tuple[str, Props]:
        """The id and the outputs that are no inputs."""
        raise NotImplementedError

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        """The outputs that are no inputs."""
        raise NotImplementedError

    def _read(self, id_: str, props: Props) -> Props | None:
        """The outputs that were found; None: it is gone."""
        return {}

    def _delete(self, id_: str, props: Props) -> None:
        """End it."""


def is_known(value: object) -> bool:
    """Whether a value of `check` is there already (a preview hands in unknowns)."""
    return not isinstance(value, pulumi.output.Unknown)


def _bare(props: Props) -> Props:
    return {key: value for key, value in props.items() if key != "__provider"}


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Pulumi shows the operator a traceback; for our own errors only the message is worth showing."""
    try:
        yield
    except (OkdBaremetalError, AssetError) as error:
        sys.tracebacklimit = 0
        raise error.with_traceback(None) from None
