"""VRIDs by the current algorithm of baremetal-runtimecfg, which computed those of API and Ingress here.

The third, of a Managed provisioning network, is this program's own, by the same algorithm.
"""

from string import ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.values.vrrp import derived_vrids, free_vrids


@pytest.mark.parametrize(
    ("name", "api", "ingress", "provisioning"),
    [
        pytest.param("cnf10", 147, 2, 79, id="cnf10"),
        pytest.param("cnf11", 228, 147, 1, id="cnf11"),
        pytest.param("okd", 67, 162, 239, id="okd"),
        pytest.param("ostest", 14, 93, 27, id="ostest"),
        pytest.param("test", 13, 28, 170, id="test"),
        pytest.param("prod", 2, 33, 78, id="prod"),
    ],
)
def test_vrids_equal_those_of_baremetal_runtimecfg(name: str, api: int, ingress: int, provisioning: int) -> None:
    assert derived_vrids(name) == (api, ingress, provisioning)


def closed_form(text: str) -> int:
    """Compute Fletcher's checksum without running sums: the second sum weights each byte by its place."""
    values = text.encode()
    places = range(len(values), 0, -1)
    return sum(place * value for place, value in zip(places, values, strict=True)) % 15 * 16 + sum(values) % 15


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,52}[a-z0-9])?", fullmatch=True))
def test_vrids_are_fletchers_checksum_of_every_name(name: str) -> None:
    assert derived_vrids(name) == tuple(
        closed_form(f"{name}-{suffix}") + 1 for suffix in ("api", "ingress", "provision")
    )


def test_vrids_differ_and_are_valid_for_keepalived_for_every_name() -> None:
    letters = ascii_lowercase + digits + "-"
    for name in (first + second for first in letters for second in letters):
        ids = derived_vrids(name)
        assert len({*ids}) == 3, name
        assert {*ids} <= set(range(1, 256)), name


def test_free_vrids_are_all_valid_ones_that_are_unused() -> None:
    assert free_vrids(set(range(3, 255))) == [1, 2, 255]
    assert free_vrids(set(range(1, 256))) == []
