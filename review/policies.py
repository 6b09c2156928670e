"""Policies of a site for updates: each function yields how a preview breaks one, and its docstring is printed."""

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
    """What the policies read. The functions ask git and Pulumi, and only the policy that needs one calls it."""

    preview: Preview
    now: datetime
    written: Callable[[str, str], datetime | str]
    """Returns when the line of an option for a host (see `wipes`) was written, or why it is unknown."""
    backend: Callable[[], str]
    """Returns the URL of the backend."""


Rule = Callable[[Facts], Iterator[str]]


@dataclass(frozen=True)
class PolicyResult:
    """How an update fares by one policy."""

    name: str
    requirement: str
    """What the rule requires, and why."""
    breaches: tuple[str, ...]
    """How the update breaks the policy; empty if it passes."""


def consent(facts: Facts) -> Iterator[str]:
    """A disk is wiped only with a consent of the last 30 days: an older one was meant for an earlier update."""
    for host, option in wipes(facts.preview):
        written = facts.written(option, host)
        if isinstance(written, str):
            yield f"{option}.{host}: it is unknown when it was written: {written}"
        elif (age := facts.now - written).days > DAYS:
            yield f"{option}.{host} was written {age.days} days ago; write it again"


def certificates(facts: Facts) -> Iterator[str]:
    """The certificates of BMCs are verified: an unverified BMC could collect the password."""
    for change in facts.preview.of(BmcHostSpec):
        if change.operation != "delete" and not change.spec.bmc.verify:
            yield f"the certificate of the BMC of {change.spec.host} is not verified"


def destroyable(facts: Facts) -> Iterator[str]:
    """A cluster in production is not destroyable: otherwise `pulumi destroy` switches its servers off."""
    options = facts.preview.options
    if options.get("phase") == "production" and options.get("destroyable") is True:
        yield "the options have phase production and destroyable true"


def backend(facts: Facts) -> Iterator[str]:
    """The state is in a shared backend: state on one machine is lost with it, and its lock stops nobody elsewhere."""
    if (url := facts.backend()).startswith(LOCAL):
        yield f"the backend is {code(url)}"


RULES: dict[str, Rule] = {rule.__name__: rule for rule in (consent, certificates, destroyable, backend)}


def check_policies(facts: Facts, names: Iterable[str]) -> tuple[PolicyResult, ...]:
    """Return the results of the named policies, or of all if none is named."""
    wanted = {*names} or RULES.keys()
    return tuple(
        PolicyResult(name, (rule.__doc__ or "").strip(), tuple(rule(facts)))
        for name, rule in RULES.items()
        if name in wanted
    )
