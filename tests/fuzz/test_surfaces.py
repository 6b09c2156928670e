"""Mutated inputs of all surfaces, the same each time; `make fuzz` goes on with others."""

import pytest

from testing.fuzz.engine import SURFACES, search

SEEDS = {
    "commands": 100,
    "discovery": 200,
    "frames": 5_000,
    "ipmi": 300,
    "masks": 200,
    "netbox": 40,
    "readers": 500,
    "redfish": 100,
    "registry": 100,
}
"""Cases: together under a minute of CPU."""

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(900)]


@pytest.mark.parametrize("name", SURFACES)
def test_no_input_breaks_the_program(name: str) -> None:
    finding = search(name, range(SEEDS[name]))
    assert finding is None, (
        f"{finding.what}\nreplay: python -m testing.fuzz {name} --first {finding.seed} --seconds 0"
    )
