"""The tables of the handoff's states: the engine runs from them, docs/explanation/handoff.md shows them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from assets.contract import HELD, RELEASED, Word
from base.errors import HandoffUnsafeError, OkdBaremetalError
from cluster.values.balancer import Balancer
from providers.vip_handoff.checks import Checks
from providers.vip_handoff.model import BootstrapGuest, VipHandoffSpec

MOVE_S = 30.0  # VRRP needs up to 3 adverts and a skew, 3.8 s; the rest is a margin for machines under load
BACK_S = 30.0
GONE_S = 10.0  # a machine that is off answers nothing; this is a margin for a libvirt that says so too early
CONFIGURED_S = 40.0
"""After it, keepalived of a node that serves counts all of its checks.

The operator's monitor configures it once it has seen the same two nodes or more three times, every 10 s; a node whose
API is ready has registered before. It counts haproxy at most 39 s after haproxy answers: 5 s between haproxy's own
checks, 3 rounds of 6 s until its monitor leads the VIP's port to it, 10 s until keepalived's monitor sees that, and 3
checks of 2 s (baremetal-runtimecfg 66007361, pkg/monitor; machine-config-operator 7ff337a4, templates/master).
"""
SOAKS = 4  # a break restarts the soak; after this many times its length, the VIPs go back
ANSWER = re.compile(rf"({HELD}|{RELEASED}) vip=(yes|no) api=(yes|no)")


class State(StrEnum):
    """A state of the handoff; the states without a row in `TABLE` are its ends."""

    PROVE = "prove"
    CONFIRM = "confirm"
    GATE = "gate"
    SAVE = "save"
    ASK = "ask"
    RELEASE = "release"
    LEAVE = "leave"
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
    State.DONE: "the holder of the VIP is proven",
    State.REFUSED: "VIP and VM are untouched",
    State.RETURNED: "the VIP is on the bootstrap again, nothing was lost",
    State.LEFT: "the VIP was left where it is, and the VM runs on",
}


@dataclass(frozen=True)
class Time:
    """A time of the table, in seconds."""

    of: Callable[[VipHandoffSpec], float]
    name: str
    """Text in the documented table: the option in code style, or the seconds; `-` if there is no time."""


NO_TIME = Time(lambda _: 0, "-")
STABLE = Time(lambda spec: spec.stable_s, "`stable_s`")
CONFIGURED = Time(lambda spec: max(spec.stable_s, CONFIGURED_S), f"`stable_s`, {CONFIGURED_S:g} s or more")
SOAK = Time(lambda spec: spec.soak_s, "`soak_s`")
SOAK_LIMIT = Time(lambda spec: SOAKS * spec.soak_s, "`soaks_s`")
DEADLINE = Time(lambda spec: spec.deadline_s, "`deadline_s`")
BOOTSTRAP = Time(lambda spec: spec.bootstrap_s, "`bootstrap_s`")
MOVE = Time(lambda _: MOVE_S, f"{MOVE_S:g} s")
GONE = Time(lambda _: GONE_S, f"{GONE_S:g} s")
BACK = Time(lambda _: BACK_S, f"{BACK_S:g} s")


@dataclass(frozen=True, kw_only=True)
class Transition:
    """One state."""

    does: Callable[[BootstrapGuest], None] | None = None
    """Action on entry."""
    check: Callable[[Checks], str | None] | None = None
    """Check, repeated after the action; returns what is missing, or None."""
    steady: Time = NO_TIME
    """Time for which the check must pass without a break."""
    within: Time = NO_TIME
    """Deadline of the check."""
    success: State
    """Next state when the check has passed."""
    moved: State | None = None
    """Next state after success if the control plane took the VIPs by itself."""
    resumed: State | None = None
    """Next state after success if the control plane holds the VIPs because an earlier run sent `release`."""
    failure: State = State.REFUSED
    """Next state after an error."""
    late: State = State.REFUSED
    """Next state after the deadline."""
    measured: bool = False
    """Whether a client measures the VIPs during this state."""
    fix: str = ""


Table = dict[State, Transition]


def _ask(guest: BootstrapGuest) -> None:
    """Sends `status`: a bootstrap that does not answer could not take the VIPs back on request either."""
    _answered(guest, Word.STATUS, HELD, RELEASED)


def _release(guest: BootstrapGuest) -> None:
    """Sends `release`."""
    _answered(guest, Word.RELEASE, RELEASED)


def _leave(guest: BootstrapGuest) -> None:
    """Sends `leave`."""
    _answered(guest, Word.LEAVE, RELEASED)


def _hold(guest: BootstrapGuest) -> None:
    """Sends `hold`."""
    _answered(guest, Word.HOLD, HELD)


def _let_go(guest: BootstrapGuest) -> None:
    """Presses the VM's power button, cuts its power after `shutdown_s`, and undefines it."""
    guest.stop()


def was_released(guest: BootstrapGuest) -> bool:
    """Whether the bootstrap has released the VIPs on request; False if it does not answer."""
    try:
        return _answered(guest, Word.STATUS, HELD, RELEASED).startswith(RELEASED)
    except OkdBaremetalError:
        return False


def _answered(guest: BootstrapGuest, word: Word, *wanted: str) -> str:
    answer = guest.send(word)
    parsed = ANSWER.fullmatch(answer)
    if not parsed or parsed[1] not in wanted:
        what = f"the bootstrap answered {answer!r}, wanted {' or '.join(wanted)}"
        fix = "look at the console of the bootstrap VM: does okd-vip-channel.service run?"
        raise HandoffUnsafeError(what, fix=fix)
    return answer


NOT_READY = "see why it is not ready, then run `pulumi up` again"
NOT_COMPLETE = "see what `openshift-install wait-for bootstrap-complete` reports, then run `pulumi up` again"
VM_OFF = (
    f"{NOT_COMPLETE}; if the bootstrap VM is off, set phase bootstrap and run `pulumi up --refresh`, which starts it "
    "again, then go on with phase production"
)
ELSEWHERE = (
    "run `pulumi up` on the provisioner that has started it; if that one is given up, shut the VM down there, then "
    "run `pulumi up` again here"
)

TABLE = {
    State.PROVE: Transition(
        check=Checks.vips_served,
        within=BOOTSTRAP,
        success=State.DONE,
        fix="look at the console of the bootstrap VM, then run `pulumi up` again",
    ),
    State.CONFIRM: Transition(
        check=Checks.control_plane_holds,
        within=DEADLINE,
        success=State.DONE,
        fix="look at keepalived on the control plane",
    ),
    State.GATE: Transition(
        check=Checks.control_plane_ready,
        steady=STABLE,
        within=DEADLINE,
        success=State.ASK,
        moved=State.WATCH,
        resumed=State.SOAK,
        fix=NOT_READY,
    ),
    State.ASK: Transition(does=_ask, success=State.RELEASE),
    State.RELEASE: Transition(
        does=_release,
        check=Checks.control_plane_holds,
        within=MOVE,
        success=State.SOAK,
        failure=State.BACK,
        late=State.BACK,
        measured=True,
        fix="look at keepalived on the control plane",
    ),
    State.SOAK: Transition(
        check=Checks.control_plane_serves,
        steady=SOAK,
        within=SOAK_LIMIT,
        success=State.AWAIT,
        failure=State.BACK,
        late=State.BACK,
        measured=True,
        fix="look at the API of the control plane",
    ),
    State.WATCH: Transition(
        check=Checks.control_plane_serves,
        steady=SOAK,
        within=SOAK_LIMIT,
        success=State.AWAIT,
        failure=State.LEFT,
        late=State.LEFT,
        measured=True,
        fix="look at the API of the control plane",
    ),
    State.AWAIT: Transition(
        check=Checks.payload_complete,
        within=DEADLINE,
        success=State.LET_GO,
        failure=State.LEFT,
        late=State.LEFT,
        fix=VM_OFF,
    ),
    State.LET_GO: Transition(
        does=_let_go,
        check=Checks.bootstrap_gone,
        within=GONE,
        success=State.DONE,
        failure=State.LEFT,
        late=State.LEFT,
        fix=ELSEWHERE,
    ),
    State.BACK: Transition(
        does=_hold,
        check=Checks.bootstrap_holds,
        within=BACK,
        success=State.RETURNED,
        failure=State.LEFT,
        late=State.LEFT,
        measured=True,
        fix="look at keepalived on the bootstrap",
    ),
}

OPERATOR_ROWS = {
    State.GATE: replace(TABLE[State.GATE], check=Checks.control_plane_balances, steady=CONFIGURED),
    State.RELEASE: replace(TABLE[State.RELEASE], check=Checks.node_answers, success=State.LEAVE),
    State.LEAVE: replace(TABLE[State.RELEASE], does=_leave, fix="look at keepalived on the bootstrap"),
    State.AWAIT: replace(
        TABLE[State.AWAIT], fix="see which of `oc get clusteroperators` are not available, then run `pulumi up` again"
    ),
}
OPERATOR = {**TABLE, **OPERATOR_ROWS}
"""On platform baremetal, the nodes' keepalived does not list the bootstrap, which never hears that one took the VIP.

So it keeps the VIP after its release, until it is sent `leave`.
"""

BACKENDS = "look at the balancer's health checks and backends"
SITE = {
    State.PROVE: Transition(
        check=Checks.balancer_leads_to_the_cluster,
        within=BOOTSTRAP,
        success=State.DONE,
        fix=f"look at the bootstrap VM's console and address, and {BACKENDS}: the bootstrap VM must be one of them",
    ),
    State.CONFIRM: Transition(
        check=Checks.balancer_leads,
        within=DEADLINE,
        success=State.DONE,
        fix=f"{BACKENDS}: the control plane must be among them",
    ),
    State.GATE: Transition(
        check=Checks.balancer_leads_from_ready,
        steady=STABLE,
        within=DEADLINE,
        success=State.AWAIT,
        fix=NOT_READY,
    ),
    State.AWAIT: Transition(
        check=Checks.bootstrap_not_needed_and_complete,
        within=DEADLINE,
        success=State.SOAK,
        fix=NOT_COMPLETE,
    ),
    State.SOAK: Transition(
        check=Checks.bootstrap_not_needed,
        steady=SOAK,
        within=SOAK_LIMIT,
        success=State.LET_GO,
        measured=True,
        fix=f"{BACKENDS}: none may lead to a machine that does not serve; then run `pulumi up` again",
    ),
    State.LET_GO: Transition(does=_let_go, success=State.DONE, failure=State.LEFT),
}
"""With a balancer of the site the handoff sends no words: the balancer leaves the bootstrap by its health checks."""

NOT_SAVED = (
    "see `oc get clusteroperator etcd`, and that this machine reaches 2379 of the control plane; then run "
    "`pulumi up` again; without a snapshot, remove the option `snapshots`"
)


def saving(table: Table) -> Table:
    """Return the rows that differ with `snapshots`: etcd is saved before the first word to the bootstrap."""
    gate = table[State.GATE]
    saved = replace(gate, check=Checks.etcd_saved, steady=NO_TIME, fix=NOT_SAVED)
    return {State.GATE: replace(gate, success=State.SAVE, moved=None, resumed=None), State.SAVE: saved}


def table_of(spec: VipHandoffSpec) -> Table:
    """Return the table of a handoff."""
    table = TABLES[spec.balancer]
    return table | saving(table) if spec.snapshots else table


TABLES = {Balancer.CLUSTER: TABLE, Balancer.OPERATOR: OPERATOR, Balancer.SITE: SITE}
