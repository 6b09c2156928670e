"""Some lives of a cluster, from the same seeds each time; `make simulate SEEDS=N` lives others."""

import pytest

from testing.checkout import ROOT
from tests.simulation.history import HOSTS, Act, Happening, History, Resizing, Sleep, drawn
from tests.simulation.judge import lived
from tests.simulation.planted import FAULTS, FOUND_BY
from tests.simulation.shrink import shrunk, story

CHUNKS = 6
JUDGED = (50375, 51103, 51108, 51359)
"""Broke a promise once, by a fault of the program or of this world."""
SEEDS = sorted({*range(30), *FOUND_BY.values(), *JUDGED})
"""Some, those that find the planted faults, and those that were judged."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_history_keeps_every_promise(chunk: int) -> None:
    for number in SEEDS[chunk::CHUNKS]:
        history = drawn(str(number))
        if breaches := lived(history).breaches:
            promise = breaches[0].promise
            pytest.fail("\n".join(story(shrunk(history, promise), promise)))


def test_a_history_is_the_same_each_time() -> None:
    lives = [lived(drawn("7"), story=True) for _ in range(2)]
    assert lives[0].world.story == lives[1].world.story


def test_a_kind_world_reaches_production_in_two_runs_and_is_left_as_found() -> None:
    life = lived(History("kind", acts=(Act("up", "bootstrap"), Act("up", "production")), ends_destroyed=True))
    assert life.breaches == []
    assert life.world.libvirt.generation is None


def test_compute_leaves_a_kind_world_in_one_run() -> None:
    leaves = Resizing((Act("up", "production"),), workers=1)
    acts = (Act("up", "bootstrap"), Act("up", "production"))
    history = History("kind", traits=((),) * (HOSTS + 1), acts=acts, workers=2, resizings=(leaves,))
    life = lived(history, story=True)
    assert life.breaches == []
    told = [line.split(" s  ", 1)[1] for line in life.world.story if "okd-worker-1" in line and "pod" in line]
    assert told == ["the pod of okd-worker-1 is evicted"]


def test_a_cluster_is_destroyed_in_its_sleep_by_its_bmcs_alone() -> None:
    acts, sleep = (Act("up", "bootstrap"), Act("up", "production")), Sleep(None, None, False, True, stays=True)
    life = lived(History("asleep", acts=acts, ends_destroyed=True, sleep=sleep))
    assert life.breaches == []
    assert life.wanted.power == "off"
    assert not life.stack.kept


@pytest.mark.parametrize(
    "then",
    [
        pytest.param((), id="both-are-to-be-replaced-at-once"),
        pytest.param((Act("set", option=("consent", 0, 1)), Act("up", "production")), id="one-is-recorded-already"),
    ],
)
def test_a_cluster_whose_etcd_is_lost_is_destroyed_as_the_errors_say(then: tuple[Act, ...]) -> None:
    """Two machines of the control plane die at once (seed 2009): what makes the cluster destroyable is an `up`."""
    dies = Act("happen", happenings=(Happening("majority_dies", 0),))
    life = lived(History("lost", acts=(Act("up", "bootstrap"), Act("up", "production"), dies, *then)))
    assert life.breaches == []
    assert life.goal == "production"
    assert life.operator.gives_up


@pytest.mark.parametrize(("module", "old"), [(module, old) for module, old, _ in FAULTS.values()], ids=[*FAULTS])
def test_a_planted_fault_has_its_place_in_the_program(module: str, old: str) -> None:
    assert (ROOT / f"{module.replace('.', '/')}.py").read_text().count(old) == 1


def test_each_planted_fault_has_a_seed_that_finds_it() -> None:
    assert FAULTS.keys() == FOUND_BY.keys()
