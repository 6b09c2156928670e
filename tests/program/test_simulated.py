"""The program of the simulated histories has the resources and the order of the graph itself."""

import pytest

from testing.checkout import ROOT
from tests.program.graph import PROVIDERS, run
from tests.simulation.program import LEFT_OUT, program
from tests.simulation.site import Wanted, site
from tests.simulation.stack import Declared

SITE = site("release", Wanted())


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_a_history_has_the_resources_and_the_order_of_the_graph(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    graph, simulated = run(phase=phase, destroyable=False), {each.name: each for each in program(SITE, Wanted(phase))}
    names = {_in_the_graph(name): name for name in simulated}
    assert {kind for kind in PROVIDERS if graph.of(kind)} - {*LEFT_OUT} == set(map(_kind, simulated.values()))
    for name, own in names.items():
        resource = graph.resources[name]
        after = {names[other] for other in graph.long_after(resource) if other in names}
        assert (resource.kind, resource.protect, after) == (
            _kind(simulated[own]),
            simulated[own].protect,
            _long_after(simulated, own),
        ), own


def test_each_kind_is_simulated_or_left_out_for_a_reason() -> None:
    simulated = {_kind(each) for phase in ("bootstrap", "production") for each in program(SITE, Wanted(phase))}
    assert sorted([*simulated, *LEFT_OUT]) == sorted(PROVIDERS)


def _kind(declared: Declared) -> str:
    return type(declared.provider).__name__.removesuffix("Provider")


def _in_the_graph(name: str) -> str:
    return f"okd-{name.removeprefix('host/')}"


def _long_after(simulated: dict[str, Declared], name: str) -> set[str]:
    direct = set(simulated[name].after)
    return direct.union(*(_long_after(simulated, other) for other in direct))
