"""Histories: what is done to a cluster, and what happens to it meanwhile, drawn from a seed as plain data."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.values.vrrp import Policy

MASTERS, WORKERS = 3, 1
"""Servers that a cluster is installed with, if a history is not about their number."""
MOST_MASTERS, MOST_WORKERS = 5, 2
HOSTS = MASTERS + WORKERS
OF_BOOTSTRAP = ("vm_crash", "libvirt_down", "channel_down")
"""What can happen to a bootstrap VM only."""


@dataclass(frozen=True)
class Happening:
    """What happens `at_s` seconds after a run has begun; see `Life.happen` for what there is."""

    what: str
    at_s: float
    host: int = 0
    for_s: float = 0.0

    def __str__(self) -> str:
        spell = f" for {self.for_s:.0f} s" if self.for_s else ""
        return f"after {self.at_s:.0f} s {self.what} ({self.host}){spell}"


@dataclass(frozen=True)
class Struck:
    """A fault of a BMC; see `servers.Strike`."""

    host: int
    kind: str
    skip: int
    times: int

    def __str__(self) -> str:
        return f"the BMC of {self.host} has {self.kind} {self.times} times after {self.skip} requests"


@dataclass(frozen=True)
class Act:
    """What the operator does next.

    Args:
        what: `up`, `up --target`, `refresh`, `destroy`; `wait`; `happen`; or `set`, an option.
        phase: Of `up`.
        target: Of `up --target`: the resource.
        kill_at_s: Seconds after its begin at which the run is killed. None: it is not.
        kill_at_write: Number of the write before which it is killed. None: it is not.
        seconds: Of `wait`.
        option: Of `set`: its name, the host, and a value.
    """

    what: str
    phase: str = ""
    target: str = ""
    kill_at_s: float | None = None
    kill_at_write: int | None = None
    go_on: bool = False
    """Of `up`: `--continue-on-error`."""
    ignore_protect: bool = False
    """Of `destroy`: `--ignore-protect`."""
    seconds: float = 0.0
    option: tuple[str, int, int] = ("", 0, 0)
    happenings: tuple[Happening, ...] = ()
    strikes: tuple[Struck, ...] = ()

    @property
    def is_run(self) -> bool:
        return self.what in ("up", "refresh", "destroy")

    def __str__(self) -> str:
        words = [self.what, self.phase]
        if self.what == "set":
            words = ["set {} of {} to {}".format(*self.option)]
        if self.seconds:
            words.append(f"{self.seconds:.0f} s")
        if self.kill_at_s is not None:
            words.append(f"killed after {self.kill_at_s:.0f} s")
        if self.kill_at_write is not None:
            words.append(f"killed before its write {self.kill_at_write}")
        if self.go_on:
            words.append("--continue-on-error")
        return "; ".join([" ".join(filter(None, words)), *map(str, (*self.happenings, *self.strikes))])


@dataclass(frozen=True)
class Sleep:
    """A cluster is put to sleep, and woken again.

    Args:
        kill_off: Number of the write before which the run that puts it to sleep is killed. None: it is not.
        kill_on: The same of the run that wakes it.
        turns_back: Whether the operator, after the kill, has the cluster run on, by a refresh.
        expires: Whether it sleeps so long that the certificates of all kubelets expire.
        stays: Whether it never wakes, if the history ends with its destruction.
    """

    kill_off: int | None
    kill_on: int | None
    turns_back: bool
    expires: bool
    stays: bool = False


@dataclass(frozen=True)
class Resizing:
    """A cluster in production gets servers of its control plane, which were spares; or more compute, or less.

    Args:
        acts: The first runs, in which something may happen.
        masters: Servers of the control plane that it is to have.
        workers: Those of compute.
        dead: Server of the control plane that a person switches off before the first run. None: nobody does.
        is_asked: Whether OKD is asked to make three servers of one before the first run; else as an error says so.
        turns_back: Whether the operator wants as much compute as before, after these runs.
    """

    acts: tuple[Act, ...]
    masters: int = MASTERS
    workers: int = WORKERS
    dead: int | None = None
    is_asked: bool = True
    turns_back: bool = False


@dataclass(frozen=True)
class History:
    """One history."""

    seed: str
    policy: Policy = "release"
    traits: tuple[tuple[tuple[str, Any], ...], ...] = ((),) * HOSTS
    """By host, how its BMC and firmware differ from the kindest."""
    acts: tuple[Act, ...] = field(default=())
    goal: str = "production"
    ends_destroyed: bool = False
    sleep: "Sleep | None" = None
    """How the cluster sleeps once it is in production; None: it does not."""
    masters: int = MASTERS
    """Servers of the control plane that it is installed with."""
    workers: int = WORKERS
    """Those of compute."""
    saves: bool = False
    """Whether the option `snapshots` names where etcd is saved."""
    resizings: "tuple[Resizing, ...]" = ()
    """Which servers come and go once it is in production."""

    @property
    def planned(self) -> int:
        """Hosts of the control plane in its file: servers, and spares that become some."""
        return max([self.masters, *(it.masters for it in self.resizings)])

    @property
    def most_workers(self) -> int:
        return max([self.workers, *(it.workers for it in self.resizings)])

    @property
    def servers(self) -> int:
        """All that there are."""
        return self.planned + self.most_workers


def drawn(seed: str) -> History:
    """Draw a history: bootstrap, kills, production, kills, and so on, in any order that an operator might try."""
    rng = random.Random(seed)  # noqa: S311
    history = History(
        seed,
        policy="preempt" if rng.random() < 0.15 else "release",
        traits=tuple(_traits(rng) for _ in range(HOSTS)),
        goal=rng.choice(("production", "production", "production", "bootstrap")),
        ends_destroyed=rng.random() < 0.4,
    )
    acts, phase = list[Act](), "bootstrap"
    for _ in range(rng.randint(2, 6)):
        if acts and rng.random() < 0.35:
            phase = "production" if phase == "bootstrap" or rng.random() < 0.9 else "bootstrap"
        if acts and rng.random() < 0.2:
            acts.append(_option(rng))
        acts.append(_run(rng, phase, is_first=not acts))
        if rng.random() < 0.5:
            acts.append(Act("wait", seconds=round(rng.choice((rng.uniform(1, 60), rng.uniform(1, 900))))))
        if rng.random() < 0.15:
            what = rng.choice(("press", "press", "reboot", "vm_crash", "vm_vanish", "replace"))
            acts.append(Act("happen", happenings=(Happening(what, 0, rng.randrange(HOSTS)),)))
    acts = [*_with_dangers(random.Random(f"{seed} dangers"), acts)]  # noqa: S311
    acts = [*_with_other_bmcs(random.Random(f"ways {seed}"), acts)]  # noqa: S311
    # With a generator of its own: all else of a seed stays as it was.
    history = replace(history, acts=tuple(acts), sleep=_sleep(random.Random(f"sleep {seed}")))  # noqa: S311
    history = _saving(random.Random(f"saves {seed}"), history)  # noqa: S311
    one = random.Random(f"one {seed}")  # noqa: S311
    if history.goal == "production" and one.random() < 0.15:
        return _of_one(one, history)
    return _resized(random.Random(f"resized {seed}"), history)  # noqa: S311


def _with_dangers(rng: random.Random, acts: list[Act]) -> tuple[Act, ...]:
    """Add what seldom comes together by chance, and has once cost a cluster."""
    if len(acts) > 1 and rng.random() < 0.15:  # another provisioner goes on, and a server is off meanwhile
        server = Happening("press", 0, rng.randrange(HOSTS))
        at = rng.randrange(1, len(acts))
        acts[at:at] = [Act("happen", happenings=(it,)) for it in (Happening("cache_lost", 0), server)]
    moves = [index for index, act in enumerate(acts) if act.what == "up" and act.phase == "production"]
    if moves and rng.random() < 0.3:  # a server fails before the handoff, and the update goes on
        at = moves[0]
        acts[at] = replace(acts[at], go_on=True)
        acts.insert(at, Act("set", option=("reinstall", rng.randrange(HOSTS - 1), 1)))
        if rng.random() < 0.5:
            acts.insert(at, Act("happen", happenings=(Happening("vm_crash", 0),)))
    return tuple(acts)


def _with_other_bmcs(rng: random.Random, acts: list[Act]) -> Iterator[Act]:
    """Now and then, the BMC of a server gets another address and login before an `up`, or its former ones again."""
    changes, host = rng.random() < 0.25, rng.randrange(HOSTS)
    for number, act in enumerate(acts):
        if changes and number and act.what == "up" and rng.random() < 0.6:
            yield Act("set", option=("bmc", host, rng.randrange(4)))
        yield act


def _sleep(rng: random.Random) -> Sleep | None:
    if rng.random() < 0.6:
        return None
    off, on = (rng.choice((None, rng.randint(1, 14))) for _ in range(2))
    turns_back, expires, stays = (rng.random() < chance for chance in (0.3, 0.6, 0.3))
    return Sleep(off, on, turns_back, expires, stays)


def _saving(rng: random.Random, history: History) -> History:
    if rng.random() < 0.7:
        return history
    acts = (replace(act, happenings=(*act.happenings, *_full(rng))) if act.is_run else act for act in history.acts)
    return replace(history, saves=True, acts=tuple(acts))


def _full(rng: random.Random) -> tuple[Happening, ...]:
    """Now and then, there is no room for a snapshot for a while."""
    return (Happening("full", 0, 0, round(rng.uniform(20, 900))),) if rng.random() < 0.3 else ()


def _of_one(rng: random.Random, history: History) -> History:
    """Return a cluster of one server, which grows to three, as its documentation has it: nobody harms the first."""
    grows = Resizing((), MASTERS, 0, is_asked=rng.random() < 0.8)
    history = replace(history, masters=1, workers=0, saves=True, resizings=(grows,), traits=history.traits[:MASTERS])
    acts = tuple(_calmer(rng, history, first=1) for _ in range(rng.choice((1, 1, 2))))
    return replace(history, resizings=(replace(grows, acts=acts),))


def _resized(rng: random.Random, history: History) -> History:
    if history.goal != "production" or rng.random() < 0.65:
        return history
    masters, workers, resizings = MASTERS, rng.choice((WORKERS, MOST_WORKERS)), list[Resizing]()
    history = replace(history, workers=workers)
    for _ in range(rng.choice((1, 2))):
        other, dead, turns_back = MOST_WORKERS + WORKERS - workers, None, False
        if rng.random() < 0.4:
            masters = rng.randint(min(masters + 1, MOST_MASTERS), MOST_MASTERS)
            dead = rng.choice((None, None, None, rng.randrange(MASTERS)))
        else:
            workers, turns_back = other, rng.random() < 0.25
        resizings.append(Resizing((), masters, workers, dead, turns_back))
        workers = other if turns_back else workers
    history = replace(history, resizings=tuple(resizings))
    traits = (*history.traits, *(_traits(rng) for _ in range(history.servers - HOSTS)))
    for index, it in enumerate(resizings):
        acts = [_calmer(rng, history, first=HOSTS) for _ in range(rng.choice((1, 1, 2)))]
        leaves = it.workers == WORKERS and history.most_workers == MOST_WORKERS
        if rng.random() < 0.15 and leaves:  # a server is replaced as it leaves
            another = Happening("replace", round(rng.uniform(0, 90)), HOSTS)
            acts[0] = replace(acts[0], happenings=(*acts[0].happenings, another))
        resizings[index] = replace(it, acts=tuple(acts))
    return replace(history, traits=traits, resizings=tuple(resizings))


def _calmer(rng: random.Random, history: History, *, first: int) -> Act:
    """Draw a run in production: most happens to the servers that come and go, from the `first` on.

    Now and then a pod is needed.
    """
    act = _run(rng, "production", is_first=True)

    def struck(host: int) -> int:
        return rng.choice((host, rng.randrange(first, history.servers)))

    happenings = [replace(it, host=struck(it.host)) for it in act.happenings if it.what not in OF_BOOTSTRAP]
    if rng.random() < 0.2:
        happenings.append(Happening("budget_holds", 0, 0, round(rng.uniform(20, 2500))))
    strikes = tuple(replace(it, host=struck(it.host)) for it in act.strikes)
    return replace(act, happenings=(*happenings, *_full(rng)), strikes=strikes)


def _traits(rng: random.Random) -> tuple[tuple[str, Any], ...]:
    traits: dict[str, Any] = {"sticky": rng.random() < 0.5, "change_s": rng.choice((1.0, 3.0, 8.0, 40.0))}
    traits |= {"install_s": float(rng.randint(30, 120)), "boot_s": float(rng.randint(15, 60))}
    if rng.random() < 0.3:
        traits["settle_s"] = 90.0
    if rng.random() < 0.4:
        traits["reads_at_boot"] = True
    if rng.random() < 0.3:
        traits["boot_mode"] = "Legacy"
    if rng.random() < 0.3:
        traits["forgets"] = True
    if rng.random() < 0.3:
        traits["post_s"] = float(rng.randint(5, 60))
    if rng.random() < 0.3:
        traits["by_job"] = True
    if rng.random() < 0.3:
        traits["found"] = rng.choice(("on", "image", "on-image"))
    return tuple(traits.items())


def _run(rng: random.Random, phase: str, *, is_first: bool) -> Act:
    what = "up"
    if not is_first and rng.random() < 0.15:
        what = rng.choice(("refresh", "refresh", "destroy"))
    act = Act(what, phase, go_on=what == "up" and rng.random() < 0.08)
    if rng.random() < 0.55:
        if rng.random() < 0.6:
            act = replace(act, kill_at_write=rng.randint(1, 40))
        else:
            act = replace(act, kill_at_s=round(rng.choice((rng.uniform(0, 60), rng.uniform(0, 1200)))))
    strikes = tuple(_struck(rng) for _ in range(rng.choice((0, 0, 0, 1, 2, 4))))
    happenings = tuple(_happening(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
    return replace(act, strikes=strikes, happenings=happenings)


def _struck(rng: random.Random) -> Struck:
    kind = rng.choice(("refused", "lost", "lost", "busy", "down"))
    times = rng.randint(20, 200) if kind == "down" else rng.choice((1, 1, 2, 5))
    return Struck(rng.randrange(HOSTS), kind, rng.randint(0, 25), times)


def _happening(rng: random.Random) -> Happening:
    what = rng.choice(
        (
            "press",
            "reboot",
            "bmc_restart",
            "media_vanish",
            "vm_crash",
            "vm_crash",
            "libvirt_down",
            "channel_down",
            "blind",
            "stranger",
            "deaf",
            "api_flap",
            "api_flap",
            "config_down",
        )
    )
    at_s = round(rng.choice((rng.uniform(0, 60), rng.uniform(0, 300), rng.uniform(0, 1200))))
    return Happening(what, at_s, rng.randrange(HOSTS), round(rng.choice((rng.uniform(2, 20), rng.uniform(10, 300)))))


def _option(rng: random.Random) -> Act:
    name = rng.choice(("reinstall", "reinstall", "consent", "memory_mib", "host_s"))
    return Act("set", option=(name, rng.randrange(HOSTS), rng.randint(1, 3)))
