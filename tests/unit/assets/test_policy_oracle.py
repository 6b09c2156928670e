"""The oracle of the priority policy: it accepts every kind of cluster, and refuses numbers that are wrong."""

import re
from dataclasses import replace

import pytest

from assets.render import render_bootstrap, render_server
from cluster.plan import ClusterPlan
from testing import clusters, plans
from tests.unit.assets.policy_oracle import Instance, contradictions, judge, parse

HOLDER = "192.0.2.10"
NODES = ("192.0.2.11", "192.0.2.12", "192.0.2.13")
CHECKS = {"load_balancer": 20, "api": 5, "config_server": 3}


def bootstrap_text(plan: ClusterPlan) -> str:
    return next(file.text for file in render_bootstrap(plan) if file.name == "keepalived.conf")


def node_text(plan: ClusterPlan, index: int) -> str:
    (file,) = render_server(plan, plan.control_plane[index])
    return file.text


def api(text: str) -> Instance:
    return parse(text)["okd_API_0"]


def bootstrap() -> Instance:
    return Instance(70, {"own_api": -20}, frozenset(NODES))


def nodes() -> dict[str, Instance]:
    everybody = frozenset((HOLDER, *NODES))
    return {name: Instance(40 - rank, CHECKS, everybody - {name}) for rank, name in enumerate(NODES)}


@pytest.mark.parametrize("name", clusters.NAMES)
def test_every_kind_of_cluster_follows_its_policy(name: str) -> None:
    assert contradictions(clusters.intent(name)) == []


def test_a_control_plane_of_five_follows_the_policy(plan: ClusterPlan) -> None:
    assert contradictions(plans.five_masters(plan)) == []


def test_the_text_has_the_priorities_proven_in_the_field(plan: ClusterPlan) -> None:
    holder, first = api(bootstrap_text(plan)), api(node_text(plan, 0))
    assert (holder.effective(), holder.effective({"own_api"})) == (70, 50)
    assert (first.effective(), first.effective(CHECKS.keys())) == (68, 40)


def test_the_oracle_judges_the_text_and_not_the_plan(plan: ClusterPlan) -> None:
    text = re.sub(r"^    priority \d+$", "    priority 99", node_text(plan, 0), flags=re.M)
    assert api(text).effective() == 127


def test_a_check_that_is_not_tracked_has_no_effect(plan: ClusterPlan) -> None:
    text = node_text(plan, 0).replace("        api\n", "")
    assert api(text).effective() == 63


def test_two_way_unicast_lists_every_other_machine(plan: ClusterPlan) -> None:
    addresses = {str(server.address) for server in plan.control_plane}
    assert api(bootstrap_text(plan)).peers == addresses
    for index, server in enumerate(plan.control_plane):
        others = addresses - {str(server.address)} | {str(plan.bootstrap.address)}
        assert api(node_text(plan, index)).peers == others


@pytest.mark.parametrize(
    ("failing", "extra", "priority"),
    [
        pytest.param(set(), 0, 70, id="holds"),
        pytest.param({"own_api"}, 0, 50, id="no-api"),
        pytest.param(set(), -20, 50, id="let-go"),
        pytest.param({"own_api"}, -20, 30, id="both"),
        pytest.param(set(), -500, 1, id="clamped-below"),
        pytest.param(set(), 500, 254, id="clamped-above"),
    ],
)
def test_an_effective_priority_is_computed_as_keepalived_does(failing: set[str], extra: int, priority: int) -> None:
    assert bootstrap().effective(failing, extra) == priority


def test_numbers_that_follow_the_policy_are_accepted() -> None:
    assert judge("release", HOLDER, bootstrap(), -20, nodes()) == []


@pytest.mark.parametrize(
    ("holder", "released", "changed", "problem"),
    [
        pytest.param(replace(bootstrap(), priority=68), -20, {}, r"healthy .*\(68\) outranks .* holds", id="preempt"),
        pytest.param(bootstrap(), -12, {}, r"that let go \(58\) outranks .* that serves \(58\)", id="keeps-it"),
        pytest.param(bootstrap(), 20, {}, r"that let go \(90\) outranks", id="lets-go-with-the-wrong-sign"),
        pytest.param(bootstrap(), -22, {}, r"serves nothing \(48\) outranks .* that let go \(48\)", id="to-nobody"),
        pytest.param(
            replace(bootstrap(), scripts={"own_api": -12}), -20, {}, r"without an API \(58\) outranks", id="no-api"
        ),
        pytest.param(
            replace(bootstrap(), scripts={"own_api": -60}),
            -20,
            {},
            r"outranks .* without an API \(10\)",
            id="api-low",
        ),
        pytest.param(replace(bootstrap(), scripts={}), -20, {}, r"without an API \(70\) outranks", id="no-check"),
        pytest.param(bootstrap(), -20, {NODES[1]: replace(nodes()[NODES[1]], priority=40)}, "one rank", id="ranks"),
        pytest.param(
            replace(bootstrap(), peers=frozenset(NODES[:2])), -20, {}, f"{HOLDER} does not list", id="one-way-down"
        ),
        pytest.param(
            bootstrap(),
            -20,
            {NODES[2]: replace(nodes()[NODES[2]], peers=frozenset(NODES[:2]))},
            f"{NODES[2]} does not list",
            id="one-way-up",
        ),
        pytest.param(
            bootstrap(),
            -20,
            {NODES[0]: replace(nodes()[NODES[0]], peers=frozenset((HOLDER, *NODES)))},
            "list",
            id="self",
        ),
    ],
)
def test_numbers_that_contradict_the_policy_are_refused(
    holder: Instance, released: int, changed: dict[str, Instance], problem: str
) -> None:
    found = judge("release", HOLDER, holder, released, {**nodes(), **changed})
    assert any(re.search(problem, line) for line in found), found


def test_a_text_without_an_instance_is_refused() -> None:
    with pytest.raises(ValueError, match="no track_script"):
        parse("vrrp_instance okd_API_0 {\n    priority 3\n}\n")
