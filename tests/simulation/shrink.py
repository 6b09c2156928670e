"""Shortens a history as long as it still breaks the same promise, and tells it."""

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.history import History
from tests.simulation.judge import lived

TRIES = 200
LINES, WIDTH = 10, 160


def breaks(history: History, promise: str) -> bool:
    return promise in [breach.promise for breach in lived(history).breaches]


def shrunk(history: History, promise: str) -> History:
    """Return a shorter history that breaks the promise as well."""
    tries, is_shorter = 0, True
    while is_shorter and tries < TRIES:
        is_shorter = False
        for shorter in _shorter(history):
            tries += 1
            if breaks(shorter, promise):
                history, is_shorter = shorter, True
                break
            if tries >= TRIES:
                break
    return history


def _shorter(history: History) -> Iterator[History]:
    """Yield shorter histories, the boldest first."""
    for index, act in enumerate(history.acts):
        before, after = history.acts[:index], history.acts[index + 1 :]
        yield replace(history, acts=before + after)
        for own in (
            *({"strikes": act.strikes[:i] + act.strikes[i + 1 :]} for i in range(len(act.strikes))),
            *({"happenings": act.happenings[:i] + act.happenings[i + 1 :]} for i in range(len(act.happenings))),
            *([{"kill_at_s": None}] if act.kill_at_s is not None else []),
            *([{"kill_at_write": None}] if act.kill_at_write is not None else []),
        ):
            if act.what != "happen":
                yield replace(history, acts=(*before, replace(act, **own), *after))  # type: ignore[arg-type]
    for host, traits in enumerate(history.traits):
        for index in range(len(traits)):
            less = traits[:index] + traits[index + 1 :]
            yield replace(history, traits=(*history.traits[:host], less, *history.traits[host + 1 :]))
    if history.ends_destroyed:
        yield replace(history, ends_destroyed=False)
    if history.sleep:
        yield replace(history, sleep=None)
    for index in range(len(history.resizings)):
        fewer = replace(history, resizings=history.resizings[:index] + history.resizings[index + 1 :])
        yield replace(fewer, traits=history.traits[: fewer.servers])
    if history.goal == "production":
        yield replace(history, goal="bootstrap")


def story(history: History, promise: str) -> list[str]:
    """Tell a history in ten lines: what was done, what happened right before the promise was broken, and that."""
    life = lived(history, story=True)
    (breach,) = (it for it in life.breaches if it.promise == promise)
    lines = [line.splitlines()[0][:WIDTH] for line in life.world.story]
    end = next(index for index, line in enumerate(lines) if f"BREACH of {promise}" in line)
    told = [line for line in lines[:end] if " warning: " not in line]
    acts = [line for line in told if "OPERATOR" in line or "it happens" in line or "the BMC of" in line]
    last = [line for line in told if line not in acts]
    kept = {*acts[-LINES // 2 + 1 :], *last[-LINES // 2 + 1 :]}
    return [f"seed {history.seed}", *[line for line in told if line in kept][: LINES - 2], str(breach)]
