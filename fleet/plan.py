"""`fleet.yaml`: the clusters of all sites, and the waves in which they come to production."""

import re
from collections.abc import Iterable, Iterator, Sized
from enum import StrEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from base.errors import ConfigError, Fault
from base.shapes import FIX, dotted, shape_faults
from base.spec import Model
from base.yaml_text import parse_yaml
from cluster.files import read_text
from cluster.json_schema import generated
from cluster.options import Release
from cluster.values.phase import Phase

NAME = "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$"
"""Pulumi takes it for the name of a stack, DNS for a label, and Temporal for a task queue."""

PUBLIC_KEY = "^[0-9a-f]{64}$"
"""Of an approver: Ed25519."""

Values = TypeVar("Values", bound=Sized)


def _checked_name(name: str) -> str:
    if not re.fullmatch(NAME, name):
        fix = "write at most 63 letters, digits and hyphens; begin and end with a letter or digit"
        raise PydanticCustomError("name", "{name} is not a name", {"name": name, FIX: fix})
    return name


def _checked_key(key: str) -> str:
    if not re.fullmatch(PUBLIC_KEY, key):
        fix = "write the line that `okd-baremetal fleet approver NAME FILE` printed"
        raise PydanticCustomError("key", "{key} is no public key of 64 hexadecimal digits", {"key": key, FIX: fix})
    return key


def _not_empty(values: Values) -> Values:
    if not values:
        raise PydanticCustomError("empty", "it is empty", {FIX: "write at least one, or remove it"})
    return values


Name = Annotated[str, AfterValidator(_checked_name), Field(json_schema_extra={"pattern": NAME})]
PublicKey = Annotated[str, AfterValidator(_checked_key), Field(json_schema_extra={"pattern": PUBLIC_KEY})]
Clusters = tuple[Name, ...]


class Gate(StrEnum):
    """What a cluster of a fleet has before it: the phases, and then the upgrade that its wave names."""

    BOOTSTRAP = Phase.BOOTSTRAP.value
    PRODUCTION = Phase.PRODUCTION.value
    UPGRADE = "upgrade"

    @property
    def phase(self) -> Phase:
        """The phase of the stack meanwhile."""
        return Phase.PRODUCTION if self is Gate.UPGRADE else Phase(self.value)


class Wave(Model, extra="forbid"):
    """Clusters that come to production, and to a release, before any of the next wave begins."""

    clusters: Clusters = Field((), description="Empty: all that no other wave names. Only the last may be so.")
    at_a_time: int = Field(1, ge=1, description="The next cluster starts when fewer are started and need no person.")
    hold_at: int = Field(1, ge=1, description="While so many clusters have stopped, no further one starts.")
    upgrade: Release | None = Field(None, description="The release that its clusters are upgraded to in production.")


class Fleet(Model, extra="forbid"):
    """The content of `fleet.yaml`."""

    sites: Annotated[dict[Name, Annotated[Clusters, AfterValidator(_not_empty)]], AfterValidator(_not_empty)] = Field(
        description="The clusters of each site, which share a layer-2 network."
    )
    gates: tuple[Gate, ...] = Field(tuple(Gate), description="What a person approves, by its preview.")
    approvers: dict[Name, PublicKey] = Field(
        {}, description="Who may approve: the public key of each, as `okd-baremetal fleet approver` prints it."
    )
    waves: Annotated[tuple[Wave, ...], AfterValidator(_not_empty)] = (Wave(),)
    notify: bool = Field(False, description="Send notices to the web hook: a cluster waits for a person, or is done.")

    @property
    def clusters(self) -> tuple[str, ...]:
        """All clusters, in the order of the file."""
        return tuple(chain.from_iterable(self.sites.values()))

    @property
    def resolved_waves(self) -> tuple[Wave, ...]:
        """The waves, each with all its clusters, in the order of the file."""
        named = {cluster for wave in self.waves for cluster in wave.clusters}
        rest = tuple(cluster for cluster in self.clusters if cluster not in named)
        return tuple(wave if wave.clusters else wave.changed(clusters=rest) for wave in self.waves)

    @cached_property
    def upgrades(self) -> dict[str, Release]:
        """The release of each cluster whose wave names one."""
        waves = self.resolved_waves
        return {cluster: wave.upgrade for wave in waves if wave.upgrade for cluster in wave.clusters}

    @cached_property
    def site_of(self) -> dict[str, str]:
        """The site of each cluster."""
        return {cluster: site for site, clusters in self.sites.items() for cluster in clusters}


def load(path: Path) -> Fleet:
    """Read and check a `fleet.yaml`.

    Raises:
        ConfigError: There are faults; it has them all, one line each.
    """
    try:
        text = read_text(path)
    except ConfigError as error:
        raise ConfigError(*(fault.within(str(path)) for fault in error.faults)) from None
    return parsed(text, str(path))


def parsed(text: str, where: str) -> Fleet:
    """Check the text of a `fleet.yaml`.

    Raises:
        ConfigError: There are faults; it has them all, one line each, which begin with `where`.
    """
    try:
        fleet = Fleet.model_validate(parse_yaml(text))
        faults = [*_misplaced(fleet)]
    except ValidationError as error:
        faults = shape_faults(error, Fleet)
    except ConfigError as error:
        faults = [*error.faults]
    if faults:
        raise ConfigError(*(fault.within(where) for fault in faults))
    return fleet


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, for editors."""
    description = "The clusters of all sites. `okd-baremetal fleet check` checks whether the values fit each other."
    return generated(Fleet) | {"title": "fleet.yaml", "description": description}


def _misplaced(fleet: Fleet) -> Iterator[Fault]:
    """Yield what is wrong between sites and waves."""
    at_sites = [
        (dotted(("sites", site, index)), cluster)
        for site, clusters in fleet.sites.items()
        for index, cluster in enumerate(clusters)
    ]
    in_waves = [
        (dotted(("waves", number, "clusters", index)), cluster)
        for number, wave in enumerate(fleet.waves)
        for index, cluster in enumerate(wave.clusters)
    ]
    yield from _twice(at_sites)
    yield from _twice(in_waves)
    for path, cluster in in_waves:
        if cluster not in fleet.site_of:
            yield Fault(path, f"{cluster} is at no site", "write a cluster of `sites`, or add it there")
    named = {cluster for _, cluster in in_waves}
    yield from _in_no_wave(fleet, {cluster: path for path, cluster in at_sites if cluster not in named})


def _twice(entries: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    firsts: dict[str, str] = {}
    for path, cluster in entries:
        if first := firsts.get(cluster):
            yield Fault(path, f"{cluster} is {first} already", "remove one of the two")
        else:
            firsts[cluster] = path


def _in_no_wave(fleet: Fleet, paths: dict[str, str]) -> Iterator[Fault]:
    """Yield what is wrong with the clusters that no wave names, and with the wave that takes them.

    Args:
        fleet: The fleet.
        paths: The path of each of these clusters below `sites`.
    """
    unnamed = [number for number, wave in enumerate(fleet.waves) if not wave.clusters]
    last = len(fleet.waves) - 1
    for number in unnamed:
        if number != last:
            yield Fault(dotted(("waves", number)), "names no clusters, and is not the last", "name them, or move it")
        elif not paths:
            yield Fault(dotted(("waves", number)), "no cluster is left for it", "remove it")
    if not unnamed:
        fix = "name it in one, or end with a wave without `clusters`"
        yield from (Fault(path, f"{cluster} is in no wave", fix) for cluster, path in paths.items())
