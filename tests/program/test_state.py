"""Names in the state (docs/adr/0021): today's code reads a recorded state, and declares the same stack beside it.

Where one of these fails, a released stack would break: give a new input a default, keep the old name by an alias, or
re-export the provider. The recorded state stays that of release 0.1.0; see `testing/state.py`.
"""

import importlib
import json
from typing import Any

import pytest

from base.spec import state_names
from providers.pulumi.dynamic import Provider
from testing.checkout import ROOT
from tests.program.graph import Graph, run

FOLDER = ROOT / "tests" / "facts" / "state"
PHASES = ("bootstrap", "production")
DYNAMIC = "pulumi-python:dynamic/"


def recorded(phase: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{phase}.json").read_text())
    return found


def name_of(urn: str) -> str:
    return urn.rpartition("::")[2]


def provider_of(resource: dict[str, Any]) -> Provider[Any, Any]:
    module, _, cls = resource["provider"].rpartition(".")
    found: Provider[Any, Any] = getattr(importlib.import_module(module), cls)()
    return found


@pytest.fixture(scope="module")
def declared() -> dict[str, Graph]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        bootstrap = run()
        return {"bootstrap": bootstrap, "production": run(bootstrap, phase="production")}


@pytest.mark.parametrize("phase", PHASES)
def test_todays_providers_read_the_recorded_state(phase: str) -> None:
    for resource in recorded(phase):
        if not resource["type"].startswith(DYNAMIC):
            continue
        provider = provider_of(resource)
        spec = provider.spec.model_validate(resource["inputs"])
        outs = provider.outs.model_validate(resource["outputs"])
        names = state_names(type(spec))
        known = {names[name] for name in spec.model_fields_set} | outs.model_fields_set
        left = (resource["inputs"].keys() | resource["outputs"].keys()) - known
        assert left == set(), f"{resource['urn']}: no provider reads these any more"


@pytest.mark.parametrize("phase", PHASES)
def test_the_same_stack_is_declared_under_the_same_names(phase: str, declared: dict[str, Graph]) -> None:
    state = {each["urn"] for each in recorded(phase) if each["type"].startswith(DYNAMIC)}
    today = {each.urn for each in declared[phase].resources.values()}
    assert state - today == set()
    assert {name_of(urn) for urn in today - state} <= {"okd-machines", "okd-destroy-guard", "okd-power"}, "newer"


@pytest.mark.parametrize("phase", PHASES)
def test_no_resource_is_replaced(phase: str, declared: dict[str, Graph]) -> None:
    today = {each.urn: each for each in declared[phase].resources.values()}
    for resource in recorded(phase):
        if resource["type"].startswith(DYNAMIC):
            done = provider_of(resource).diff("", resource["outputs"], today[resource["urn"]].inputs)
            assert done.replaces == [], resource["urn"]


@pytest.mark.parametrize("phase", PHASES)
def test_each_input_keeps_its_name(phase: str, declared: dict[str, Graph]) -> None:
    for resource in recorded(phase):
        name = name_of(resource["urn"])
        if resource["type"].startswith(DYNAMIC) and name in declared[phase].resources:
            today = declared[phase].resources[name].inputs.keys()
            assert resource["inputs"].keys() - today == set(), resource["urn"]


@pytest.mark.parametrize("phase", PHASES)
def test_each_component_keeps_its_type(phase: str, declared: dict[str, Graph]) -> None:
    wanted = sorted(each["type"] for each in recorded(phase) if not each["type"].startswith(DYNAMIC))
    # The stack itself is registered once per process, so only by the first of these runs.
    assert sorted(each for each in declared[phase].components if each != "pulumi:pulumi:Stack") == wanted
