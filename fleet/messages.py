"""What travels between operator, workflows and sites: names, commits, digests, sentences. Never a secret.

These are dataclasses, which Temporal's converter writes as JSON. A field that is added later has a default, so that
histories of before can still be read.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Activity(StrEnum):
    """What a workflow asks of a site."""

    CHECK = "check"
    PREVIEW = "preview"
    UP = "up"


@dataclass(frozen=True)
class Approval:
    """A person's consent to one preview, and to no other.

    Args:
        phase: `bootstrap`, `production` or `upgrade`.
        digest: That of the preview.
        by: Who approved it: a login, or a pull request.
        at: When, in UTC by ISO 8601.
        signature: An approver's, in hexadecimal. An approval of an earlier release has none, and no site takes it.
    """

    phase: str
    digest: str
    by: str
    at: str = ""
    signature: str = ""


@dataclass(frozen=True)
class Order:
    """Take one cluster to production.

    Args:
        cluster: Its stack.
        site: Its task queue.
        commit: The commit of the repository of stacks, which also pins the program.
        gates: What waits for an approval: phases, and `upgrade`. Those of the site's own `fleet.yaml` do in any case.
        approvals: Those given already, as by the merge of a pull request.
        notifies: Whether people are sent a notice when the cluster waits for them, and at its end.
        id: Of this order only; approvals are signed for it.
    """

    cluster: str
    site: str
    commit: str
    gates: list[str]
    approvals: list[Approval] = field(default_factory=list)
    notifies: bool = False
    id: str = ""


@dataclass(frozen=True)
class Notice:
    """What a web hook is sent about a cluster. It has no problem's text: who reads a web hook may not read that.

    Args:
        step: As the search attribute `Step`.
        digest: That of the preview that waits for approval; empty if none does.
    """

    cluster: str
    site: str
    commit: str
    step: str
    digest: str

    @property
    def text(self) -> str:
        """One sentence for a chat."""
        return f"{self.cluster} at {self.site}: {self.step}. See: okd-baremetal fleet status {self.cluster}"


@dataclass(frozen=True)
class Step:
    """One call of an activity.

    Args:
        phase: Empty for a check, which is of all.
        digest: That of the approved preview, which `up` may carry out. Empty: any, if the site has no such gate.
        approval: The approval of that preview.
        order: Id of the order.
        run: Id of the workflow's run, without which a site does nothing.
    """

    cluster: str
    commit: str
    phase: str = ""
    digest: str = ""
    approval: Approval | None = None
    order: str = ""
    run: str = ""


@dataclass(frozen=True)
class Checked:
    """Inputs without a fault.

    Args:
        phases: Those before the cluster, in order: one in production does not go back. `upgrade` is the last, if any.
    """

    phases: list[str]


@dataclass(frozen=True)
class Preview:
    """What an update would do.

    Args:
        digest: Of all its steps; another update has another digest.
        sentences: The verdict of `okd-baremetal review`.
    """

    digest: str
    sentences: list[str]


@dataclass(frozen=True)
class Done:
    """What an update did.

    Args:
        changes: Number of resources by operation, as `create`.
        seconds: Of the last attempt.
        resumed: Whether it went on with an update whose worker had died.
    """

    changes: dict[str, int]
    seconds: float
    resumed: bool


@dataclass(frozen=True)
class Status:
    """The step at which a cluster is.

    Args:
        step: As the search attribute `Step`.
        preview: The one that waits for approval, or the last.
        problem: What a person must fix before `retry`; empty if nothing.
        approvals: Those that count, in the order of phases.
        refusal: Why the site did not begin what was approved, or what the order had no gate for; else empty.
        commit: That of the order.
        order: The order's id.
    """

    step: str
    preview: Preview | None
    problem: str
    approvals: list[Approval]
    refusal: str = ""
    commit: str = ""
    order: str = ""


@dataclass(frozen=True)
class Waits:
    """What a cluster reports to its rollout.

    Args:
        for_person: Whether it waits for one.
        is_stopped: Whether it does so because of a problem.
    """

    cluster: str
    for_person: bool
    is_stopped: bool = False


@dataclass(frozen=True)
class Wave:
    """Orders that run side by side.

    Args:
        at_a_time: The number that is started before one of them is in production, or needs a person.
        hold_at: The number of stopped clusters at which no further one is started.
    """

    orders: list[Order]
    at_a_time: int
    hold_at: int


@dataclass(frozen=True)
class Rollout:
    """Waves, one after the other."""

    name: str
    waves: list[Wave]
