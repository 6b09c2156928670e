"""The states of the handoff, in one table: the engine runs from it, docs/explanation/handoff.md shows it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from providers.base.errors import HandoffUnsafeError, OkdBaremetalError
from providers.vip_handoff.checks import Look
from providers.vip_handoff.model import Cluster, Guest

MOVE_S = 30.0  # VRRP needs up to 3 adverts and a skew, 3.8 s; the rest is for machines under load
BACK_S = 30.0
ANSWER = re.compile(r"(held|released) vip=(yes|no) api=(yes|no)")


class State(StrEnum):
    """Of the handoff; those without a row in `TABLE` are its ends."""

    PROVE = "prove"
    CONFIRM = "confirm"
    GATE = "gate"
    ASK = "ask"
    RELEASE = "release"
    SOAK = "soak"
    WATCH = "watch"
    AWAIT = "await"
    LET_GO = "let go"
    BACK = "back"
    DONE = "done"
    REFUSED = "refused"
    RETURNED = "returned"
    LEFT = "left"


ENDS = {
    State.DONE: "who holds the VIP is proven",
    State.REFUSED: "VIP and VM are untouched",
    State.RETURNED: "the VIP is on the bootstrap again, nothing was lost",
    State.LEFT: "the VIP was left where it is, and the VM runs on",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One state. Times are in seconds: a number, or the field of `Cluster` that has it."""

    does: Callable[[Guest], None] | None = None
    """Once, at the beginning."""
    check: Callable[[Look], str | None] | None = None
    """Again and again after that; None: nothing is missing."""
    steady: float | str = 0.0
    """For so long without a break nothing must be missing."""
    within: float | str = 0.0
    """The deadline of it."""
    success: State
    moved: State | None = None
    """Where success leads when the control plane took the VIPs by itself."""
    resumed: State | None = None
    """Where success leads when it has them by the `release` of a run that was ended."""
    failure: State = State.REFUSED
    """Where an error leads."""
    late: State = State.REFUSED
    """Where the deadline leads."""
    measured: bool = False
    """Whether a client measures meanwhile."""
    fix: str = ""


def _ask(guest: Guest) -> None:
    """Asks for `status`: only who answers can be told to take the VIPs back."""
    _answered(guest, "status", "held|released")


def _release(guest: Guest) -> None:
    """Says `release`."""
    _answered(guest, "release", "released")


def _hold(guest: Guest) -> None:
    """Says `hold`."""
    _answered(guest, "hold", "held")


def _let_go(guest: Guest) -> None:
    """Presses the VM's power button, and pulls its plug after `shutdown_s`."""
    guest.stop()


def was_released(guest: Guest) -> bool:
    """Whether the bootstrap has let go because it was told to; a guest that is gone was not."""
    try:
        return _answered(guest, "status", "held|released").startswith("released")
    except OkdBaremetalError:
        return False


def _answered(guest: Guest, word: str, wanted: str) -> str:
    answer = guest.say(word)
    said = ANSWER.fullmatch(answer)
    if not said or said[1] not in wanted.split("|"):
        fix = "Look at the console of the bootstrap VM: does okd-vip-channel.service run?"
        raise HandoffUnsafeError(f"the bootstrap answered {answer!r}, wanted {wanted}", fix=fix)
    return answer


TABLE = {
    State.PROVE: Row(
        check=Look.vips_served,
        within="bootstrap_s",
        success=State.DONE,
        fix="Look at the console of the bootstrap VM, then run `pulumi up` again",
    ),
    State.CONFIRM: Row(
        check=Look.control_plane_holds,
        within="deadline_s",
        success=State.DONE,
        fix="Look at keepalived on the control plane",
    ),
    State.GATE: Row(
        check=Look.control_plane_ready,
        steady="stable_s",
        within="deadline_s",
        success=State.ASK,
        moved=State.WATCH,
        resumed=State.SOAK,
        fix="See why it is not ready, then run `pulumi up` again",
    ),
    State.ASK: Row(does=_ask, success=State.RELEASE),
    State.RELEASE: Row(
        does=_release,
        check=Look.control_plane_holds,
        within=MOVE_S,
        success=State.SOAK,
        failure=State.BACK,
        late=State.BACK,
        measured=True,
        fix="Look at keepalived on the control plane",
    ),
    State.SOAK: Row(
        check=Look.control_plane_serves,
        steady="soak_s",
        within="soaks_s",
        success=State.AWAIT,
        failure=State.BACK,
        late=State.BACK,
        measured=True,
        fix="Look at the API of the control plane",
    ),
    State.WATCH: Row(
        check=Look.control_plane_serves,
        steady="soak_s",
        within="soaks_s",
        success=State.AWAIT,
        failure=State.LEFT,
        late=State.LEFT,
        measured=True,
        fix="Look at the API of the control plane",
    ),
    State.AWAIT: Row(
        check=Look.payload_complete,
        within="deadline_s",
        success=State.LET_GO,
        failure=State.LEFT,
        late=State.LEFT,
        fix="See what `openshift-install wait-for bootstrap-complete` says, then run `pulumi up` again",
    ),
    State.LET_GO: Row(does=_let_go, success=State.DONE, failure=State.LEFT),
    State.BACK: Row(
        does=_hold,
        check=Look.bootstrap_holds,
        within=BACK_S,
        success=State.RETURNED,
        failure=State.LEFT,
        late=State.LEFT,
        measured=True,
        fix="Look at keepalived on the bootstrap",
    ),
}


def seconds(cluster: Cluster, time: float | str) -> float:
    """A time of a row, in this cluster."""
    return float(getattr(cluster, time)) if isinstance(time, str) else time
