"""Router ids by the current algorithm of baremetal-runtimecfg; the pairs were computed with it."""

from string import ascii_lowercase, digits

import pytest

from cluster.values.vrrp import free_router_ids, router_ids


@pytest.mark.parametrize(
    ("name", "api", "ingress"),
    [
        pytest.param("cnf10", 147, 2, id="cnf10"),
        pytest.param("cnf11", 228, 147, id="cnf11"),
        pytest.param("okd", 67, 162, id="okd"),
        pytest.param("ostest", 14, 93, id="ostest"),
        pytest.param("test", 13, 28, id="test"),
        pytest.param("prod", 2, 33, id="prod"),
    ],
)
def test_router_ids_are_those_of_the_field(name: str, api: int, ingress: int) -> None:
    assert router_ids(name) == (api, ingress)


def test_router_ids_differ_and_are_taken_by_keepalived_for_every_name() -> None:
    letters = ascii_lowercase + digits + "-"
    for name in (first + second for first in letters for second in letters):
        ids = router_ids(name)
        assert ids.api != ids.ingress, name
        assert {ids.api, ids.ingress} <= set(range(1, 256)), name


def test_free_router_ids_are_all_that_keepalived_takes_and_nobody_has() -> None:
    assert free_router_ids(set(range(3, 255))) == [1, 2, 255]
    assert free_router_ids(set(range(1, 256))) == []
