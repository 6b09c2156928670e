"""Rules of a site for an update, judged by its preview. Each is a function that yields how the update breaks it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from providers.bmc_host.model import BmcHostSpec
from review.hosts import wipes
from review.preview import Preview
from review.text import code

DAYS = 30
"""The age up to which a consent still counts as one to this update."""
LOCAL = "file:"


@dataclass(frozen=True)
class Facts:
    """What the rules look at. The functions ask git and Pulumi, and only the rule that needs one calls it."""

    preview: Preview
    now: datetime
    written: Callable[[str, str], datetime | str]
    """Returns when the line of an option (`consent` or `reinstall`) for a host was written, or why it is unknown."""
    backend: Callable[[], str]
    """Returns the URL of the backend."""


Rule = Callable[[Facts], Iterator[str]]


@dataclass(frozen=True)
class Judged:
    """The verdict on one rule."""

    name: str
    what: str
    """What the rule wants, and why."""
    breaches: tuple[str, ...]
    """How the update breaks it; none if it keeps the rule."""


def consent(facts: Facts) -> Iterator[str]:
    """Disks are wiped only with a consent of the last 30 days: an old one was given for another time."""
    for host, option in wipes(facts.preview).items():
        written = facts.written(option, host)
        if isinstance(written, str):
            yield f"{option}.{host}: nobody can tell when it was written: {written}"
        elif (age := facts.now - written).days > DAYS:
            yield f"{option}.{host} was written {age.days} days ago; write it anew"


def certificates(facts: Facts) -> Iterator[str]:
    """The certificates of BMCs are verified: else whoever answers in a BMC's place gets its password."""
    for change in facts.preview.of(BmcHostSpec):
        if change.operation != "delete" and not change.spec.bmc.verify:
            yield f"the certificate of the BMC of {change.spec.host} is not verified"


def destroyable(facts: Facts) -> Iterator[str]:
    """A cluster in production is not destroyable: else `pulumi destroy` switches its servers off."""
    options = facts.preview.options
    if options.get("phase") == "production" and options.get("destroyable") is True:
        yield "the options have phase production and destroyable true"


def backend(facts: Facts) -> Iterator[str]:
    """The state is in a shared backend: one on a single machine is lost with it, and locks nobody else out."""
    if (url := facts.backend()).startswith(LOCAL):
        yield f"the backend is {code(url)}"


RULES: dict[str, Rule] = {rule.__name__: rule for rule in (consent, certificates, destroyable, backend)}


def judged(facts: Facts, names: Iterable[str]) -> tuple[Judged, ...]:
    """Return the verdicts on some rules, or on all if none is named."""
    wanted = {*names} or RULES.keys()
    return tuple(
        Judged(name, (rule.__doc__ or "").strip(), tuple(rule(facts)))
        for name, rule in RULES.items()
        if name in wanted
    )
