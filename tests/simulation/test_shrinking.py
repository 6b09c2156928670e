"""Lives of a cluster whose second worker leaves or comes: with kills, silent BMCs, budgets and people between."""

import random

import pytest

from tests.simulation.history import Act, Happening, History, Struck
from tests.simulation.life import Life
from tests.simulation.site import MASTERS

WORKERS, LAST = 2, MASTERS + 1
SEEDS = range(6)
HAPPENS = ("deaf", "press", "bmc_restart", "reboot")
HAPPENS_TO = {
    "shrinking": ("budget_holds", "budget_holds", *HAPPENS, "replace"),
    "growing": (*HAPPENS, "media_vanish", "config_down"),
}
"""No machine takes the place of another in the seconds between the comparison of a server and its installation."""
REACHED = (Act("up", "bootstrap"), Act("up", "production"), Act("wait", seconds=60))


WORKERS_OF = {"shrinking": (WORKERS, 1), "growing": (1, WORKERS)}
"""How many workers the cluster has first, and then."""


def resized(how: str, seed: int) -> History:
    """Draw what is done to the cluster while the second worker leaves it or comes, and perhaps that is taken back."""
    rng = random.Random(f"{how} {seed}")  # noqa: S311
    first, then = (Act("set", option=("workers", 0, workers)) for workers in WORKERS_OF[how])
    acts = [first, *REACHED, then]
    for _ in range(rng.randint(1, 3)):
        strikes = (
            Struck(LAST, rng.choice(("lost", "refused", "busy", "down")), rng.randrange(6), rng.randint(1, 4)),
        )
        happens = (Happening(rng.choice(HAPPENS_TO[how]), rng.uniform(0, 90), LAST, rng.uniform(20, 2500)),)
        acts.append(
            Act(
                "up",
                "production",
                kill_at_s=rng.choice((None, rng.uniform(0, 60), rng.uniform(0, 600))),
                kill_at_write=rng.choice((None, None, rng.randint(1, 4))),
                go_on=rng.random() < 0.3,
                happenings=happens if rng.random() < 0.7 else (),
                strikes=strikes if rng.random() < 0.3 else (),
            )
        )
    if rng.random() < 0.25:
        acts.append(first)
    return History(f"{how} {seed}", traits=((),) * (LAST + 1), acts=tuple(acts), ends_destroyed=rng.random() < 0.3)


@pytest.mark.parametrize("how", WORKERS_OF)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_leaves_or_comes_and_keeps_every_promise(seed: int, how: str) -> None:
    life = Life(resized(how, seed), workers=WORKERS, story=True)
    assert life.live() == [], "\n".join(life.world.story)


def test_in_a_kind_world_one_run_does_it() -> None:
    acts = (*REACHED, Act("set", option=("workers", 0, 1)), Act("up", "production"))
    life = Life(History("kind", traits=((),) * (LAST + 1), acts=acts), workers=WORKERS, story=True)
    assert life.live() == []
    last = life.world.site.hosts[LAST]
    told = [line.split(" s  ", 1)[1] for line in life.world.story if last in line and "pod" in line]
    assert told == [f"the pod of {last} is evicted"]


def test_an_undrained_server_is_seen() -> None:
    """What the world would say of a program without a drain."""
    acts = (*REACHED, Act("set", option=("workers", 0, 1)), Act("up", "production"))
    life = Life(History("blunt", traits=((),) * (LAST + 1), acts=acts), workers=WORKERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("providers.host_provisioning.removal.Removal._drain", lambda *_: None)
        assert "drain" in [breach.promise for breach in life.live()]
