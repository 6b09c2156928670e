"""Lives of a cluster of two workers, one of which leaves it: with kills, silent BMCs, budgets and people between."""

import random

import pytest

from tests.simulation.history import Act, Happening, History, Struck
from tests.simulation.life import Life
from tests.simulation.site import MASTERS

WORKERS, LAST = 2, MASTERS + 1
SEEDS = range(6)
HAPPENS = ("budget_holds", "budget_holds", "deaf", "press", "bmc_restart", "reboot", "replace")
REACHED = (Act("up", "bootstrap"), Act("up", "production"), Act("wait", seconds=60))


def shrinking(seed: int) -> History:
    """Draw what is done to the cluster while the second worker leaves it, and perhaps comes back."""
    rng = random.Random(f"shrinking {seed}")  # noqa: S311
    acts = [*REACHED, Act("set", option=("workers", 0, 1))]
    for _ in range(rng.randint(1, 3)):
        strikes = (
            Struck(LAST, rng.choice(("lost", "refused", "busy", "down")), rng.randrange(6), rng.randint(1, 4)),
        )
        happens = (Happening(rng.choice(HAPPENS), rng.uniform(0, 90), LAST, rng.uniform(20, 2500)),)
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
        acts.append(Act("set", option=("workers", 0, WORKERS)))
    return History(
        f"shrinking {seed}", traits=((),) * (LAST + 1), acts=tuple(acts), ends_destroyed=rng.random() < 0.3
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_leaves_without_cutting_off_its_pods(seed: int) -> None:
    life = Life(shrinking(seed), workers=WORKERS, story=True)
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
