"""Pulumi's engine, as far as a history depends on it: what it keeps, and when; what it skips, and what it deletes.

Sources: Pulumi 3.259, observed (docs/adr/0015 and 0017) and read. The state is written after each resource; a step
that fails or is killed leaves nothing in it; after a failure nothing new is started, and nothing is deleted.
With `--continue-on-error`, what depends on a failed resource is skipped, and what a failed one depended on is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from base.errors import ConfigError, OkdBaremetalError
from base.spec import Outs, Spec
from providers.pulumi.dynamic import Provider

AnyProvider = Provider[Any, Any]
SpecOf = Callable[[Mapping[str, Outs]], Spec]


@dataclass(frozen=True)
class Declared:
    """A resource of the program; its inputs may depend on the outputs of others, by name."""

    name: str
    provider: AnyProvider
    spec: SpecOf
    after: tuple[str, ...] = ()
    protect: bool = False


@dataclass
class Kept:
    """A resource in the state."""

    provider: AnyProvider
    spec: Spec
    outs: Outs
    after: tuple[str, ...]
    protect: bool
    has_drifted: bool = False
    """Whether a refresh has found what the program names no input for."""


@dataclass
class Report:
    """What an operation did."""

    changes: list[str] = field(default_factory=list)
    errors: dict[str, OkdBaremetalError] = field(default_factory=dict)
    """By resource."""
    crashes: dict[str, Exception] = field(default_factory=dict)
    protected: list[str] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        return not (self.errors or self.crashes or self.protected)


@dataclass
class Stack:
    """The state of one stack.

    Args:
        bounded: Called with the spec and a call of a provider, to make it, and to see that it ends in time.
    """

    bounded: Callable[[str, Spec, Callable[[], Any]], Any]
    kept: dict[str, Kept] = field(default_factory=dict)
    pending: str = ""
    """The resource whose operation was under way when the run was killed, as the state lists it."""

    def up(self, program: Sequence[Declared], *, go_on: bool = False) -> Report:
        """Preview, then update.

        Args:
            program: In an order in which no resource comes before one that it depends on.
            go_on: `--continue-on-error`.
        """
        report = Report()
        for declared in program:
            self._attempt(report, declared.name, partial(self._preview, declared))
        if not report.is_ok:
            return report
        unmade = set[str]()
        for declared in program:
            is_skipped = bool(unmade & {*declared.after} if go_on else unmade)
            if is_skipped or not self._attempt(report, declared.name, partial(self._step, declared, report)):
                unmade.add(declared.name)
        if report.is_ok or go_on:
            kept = set().union(*(self._needed_by(name) for name in report.errors))
            names = {declared.name for declared in program}
            self._delete([name for name in self.kept if name not in names | kept], report, go_on=go_on)
        return report

    def up_target(self, declared: Declared) -> Report:
        """Preview, then update one resource: `--target`."""
        report = Report()
        if self._attempt(report, declared.name, partial(self._preview, declared)):
            self._attempt(report, declared.name, partial(self._step, declared, report))
        return report

    def refresh(self) -> Report:
        """Read all resources."""
        report = Report()
        for name, kept in [*self.kept.items()]:
            self._attempt(report, name, partial(self._read, name, kept, report))
        return report

    def destroy(self, *, ignore_protect: bool = False) -> Report:
        """Delete all resources, those first on which none depends."""
        if ignore_protect:
            for kept in self.kept.values():
                kept.protect = False
        report = Report(protected=[name for name, kept in self.kept.items() if kept.protect])
        if report.is_ok:
            self._delete([*self.kept], report)
        return report

    def outs(self) -> dict[str, Outs]:
        return {name: kept.outs for name, kept in self.kept.items()}

    def _preview(self, declared: Declared) -> None:
        """`check` and `diff`, on the outputs that are known before the update."""
        new, kept = declared.spec(self.outs()), self.kept.get(declared.name)
        if faults := [*declared.provider._faults(kept.spec if kept else None, new)]:
            raise ConfigError(*faults)
        if kept:
            declared.provider._plan(kept.spec, kept.outs, new)

    def _step(self, declared: Declared, report: Report) -> None:
        provider, kept = declared.provider, self.kept.get(declared.name)
        new = declared.spec(self.outs())
        if faults := [*provider._faults(kept.spec if kept else None, new)]:
            raise ConfigError(*faults)
        if kept and kept.spec == new and not kept.has_drifted:
            kept.after, kept.protect = declared.after, declared.protect
            return
        self.pending = declared.name
        if kept is None:
            report.changes.append(f"create {declared.name}")
            _, outs = self.bounded(declared.name, new, lambda: provider._create(new))
        else:
            old, before = kept.spec, kept.outs
            report.changes.append(f"update {declared.name}")
            outs = self.bounded(declared.name, new, lambda: provider._update(old, before, new))
        self.kept[declared.name] = Kept(provider, new, outs, declared.after, declared.protect)
        self.pending = ""

    def _read(self, name: str, kept: Kept, report: Report) -> None:
        outs = self.bounded(name, kept.spec, lambda: kept.provider._read(kept.spec, kept.outs))
        if outs is None:
            report.changes.append(f"gone {name}")
            del self.kept[name]
            return
        kept.outs = outs
        if kept.provider.outputs_are_inputs:
            drifted = {key: value for key, value in outs.props().items() if value != type(outs)().props()[key]}
            known = {key: value for key, value in drifted.items() if key in type(kept.spec).model_fields}
            kept.spec, kept.has_drifted = kept.spec.changed(**known), drifted.keys() != known.keys()

    def _delete(self, doomed: Sequence[str], report: Report, *, go_on: bool = False) -> None:
        report.protected += [name for name in doomed if self.kept[name].protect]
        if report.protected:
            return
        left = [*doomed]
        for name in self._last_first(doomed):
            is_needed = any(name in self.kept[other].after for other in left if other != name)
            if is_needed or (not (report.is_ok or go_on)):
                continue
            kept = self.kept[name]
            self.pending = name
            report.changes.append(f"delete {name}")
            delete = partial(kept.provider._delete, kept.spec, kept.outs)
            gone = self._attempt(report, name, partial(self.bounded, name, kept.spec, delete))
            if gone:
                del self.kept[name]
                left.remove(name)
            self.pending = ""

    def _last_first(self, names: Sequence[str]) -> Iterator[str]:
        left = [*names]
        while left:
            free = [
                name
                for name in left
                if not any(name in self.kept[other].after for other in left if other in self.kept)
            ]
            for name in free or left[-1:]:
                left.remove(name)
                yield name

    def _needed_by(self, name: str) -> set[str]:
        kept = self.kept.get(name)
        return set().union(*({other, *self._needed_by(other)} for other in kept.after)) if kept else set()

    def _attempt(self, report: Report, name: str, call: Callable[[], object]) -> bool:
        try:
            call()
        except OkdBaremetalError as error:
            report.errors[name] = error
        except Exception as error:
            report.crashes[name] = error
        else:
            return True
        self.pending = ""
        return False
