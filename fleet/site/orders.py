"""Which orders a site carries out: by `fleet.yaml` on the main branch of its own clone, whatever an order says."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from base.errors import ConfigError, Fault, word
from fleet.approvers import Subject, signer
from fleet.messages import Activity, Step
from fleet.plan import NAME, Fleet, Gate
from fleet.site.checkout import Clone
from fleet.site.record import UnapprovedError

COMMIT = "[0-9a-f]{40}"
VALID = timedelta(days=7)
"""How long an approval counts: a server cannot hold it back for longer."""


def refuse_malformed(step: Step, activity: str, run: str) -> None:
    """Refuse an order that is not of this run, or whose names are no names.

    Args:
        step: The order.
        activity: What the server asks for.
        run: Id of the workflow's run for which the server asks.

    Raises:
        ConfigError: It is refused.
    """
    where = f"order of {step.cluster}"
    phases = {""} if activity == Activity.CHECK else {*Gate}
    if not (re.fullmatch(NAME, step.cluster) and re.fullmatch(COMMIT, step.commit) and step.phase in phases):
        what = f"commit {step.commit!r} with phase {step.phase!r} is nothing that this release orders"
        raise ConfigError(Fault(where, what))
    if not step.run:
        what = "names no run of a workflow, as those of an older release"
        retry = f"`okd-baremetal fleet retry {word(step.cluster)}`"
        fix = f"restart the worker of the workflows with the site's release, then {retry}"
        raise ConfigError(Fault(where, what, fix))
    if step.run != run:
        raise ConfigError(Fault(where, f"is of the run {step.run}, and the server asks for the run {run}"))


@dataclass(frozen=True)
class Orders:
    """The orders of one site.

    Args:
        clone: The site's.
        site: Its name in `fleet.yaml`.
    """

    clone: Clone
    site: str

    def check(self, step: Step) -> Fleet:
        """Return the newest `fleet.yaml` of the main branch, by which the order is of this site and of that branch.

        Raises:
            ConfigError: It is not.
            UnreachableError: The remote does not answer.
        """
        self.clone.fetch()
        fleet = self.clone.fleet()
        then = f"then `okd-baremetal fleet retry {word(step.cluster)}`"
        if fleet.site_of.get(step.cluster) != self.site:
            what = f"fleet.yaml of the main branch has no such cluster at site {self.site}"
            raise ConfigError(Fault(step.cluster, what, f"add it there and push, {then}"))
        if not self.clone.is_on_main(step.commit):
            what = "is not on the main branch of the site's remote"
            raise ConfigError(Fault(f"commit {step.commit}", what, f"merge it there, {then}"))
        return fleet

    def approver_of(self, step: Step, fleet: Fleet) -> str:
        """Return the name of who approved an update; empty if its phase is no gate.

        Raises:
            UnapprovedError: No approval counts.
        """
        if step.phase not in fleet.gates:
            return ""
        if step.approval is None or not step.approval.signature:
            raise UnapprovedError(f"{step.phase} is a gate of this site, and the order has no signed approval")
        # The site's own words of what it carries out: an approval of anything else is not that text.
        wanted = replace(step.approval, phase=step.phase, digest=step.digest)
        name = signer(fleet.approvers, Subject(step.cluster, step.commit, step.order), wanted)
        if name is None:
            what = "no approver in fleet.yaml of the main branch has signed the approval of this order and preview"
            raise UnapprovedError(what)
        if datetime.now(UTC) - datetime.fromisoformat(step.approval.at) > VALID:
            raise UnapprovedError(f"{name} approved it at {step.approval.at}, more than {VALID.days} days ago")
        return name
