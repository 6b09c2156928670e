"""The oracle of the priority policy: it accepts every kind of cluster, and refuses numbers that are wrong."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from assets.file import Files, Reader
from assets.render import Rendered, render, render_bootstrap, render_server
from cluster.option_types import Transport
from cluster.plan import ClusterPlan
from testing import clusters, plans
from tests.unit.assets.policy_oracle import Instance, contradictions, parse, peer_faults, policy_faults

HOLDER = "192.0.2.10"
NODES = ("192.0.2.11", "192.0.2.12", "192.0.2.13")
CHECKS = {"load_balancer": 20, "api": 5, "config_server": 3}


def bootstrap_text(plan: ClusterPlan) -> str:
    return next(file.text for file in render_bootstrap(plan) if file.name == "keepalived.conf")


def node_text(plan: ClusterPlan, index: int) -> str:
    (file,) = [each for each in render_server(plan, plan.control_plane[index]) if each.reader is Reader.KEEPALIVED]
    return file.text


def api(text: str) -> Instance:
    return parse(text)["okd_API_0"]


def bootstrap() -> Instance:
    return Instance(70, {"own_api": -20}, frozenset(NODES))


def nodes() -> dict[str, Instance]:
    everybody = frozenset((HOLDER, *NODES))
    return {name: Instance(40 - rank, CHECKS, everybody - {name}, rank) for rank, name in enumerate(NODES)}


@pytest.mark.parametrize("name", clusters.WITH_VIPS)
def test_every_kind_of_cluster_follows_its_policy(name: str) -> None:
    intent = clusters.intent(name)
    assert contradictions(intent, render(intent)) == []


@pytest.mark.parametrize("ingress", ["unicast", "multicast"])
@pytest.mark.parametrize("name", ["rehearsal", "compact", "dual-stack"])
def test_whoever_claims_the_ingress_vip_lists_the_others_or_nobody(name: str, ingress: Transport) -> None:
    intent = clusters.intent(name, vrrp={"ingress": ingress})
    assert contradictions(intent, render(intent)) == []
    for server in intent.of(intent.ingress_role):
        (text,) = (file.text for file in render(intent).of(server) if file.name == "keepalived.conf")
        others = set(intent.of(intent.ingress_role)) - {server} if ingress == "unicast" else set()
        assert parse(text)["okd_INGRESS_0"].peers == {str(other.address) for other in others}


def test_a_control_plane_of_five_follows_the_policy(plan: ClusterPlan) -> None:
    five = plans.five_masters(plan)
    assert contradictions(five, render(five)) == []


@pytest.mark.parametrize("family", [0, 1])
@pytest.mark.parametrize("vip", ["API", "INGRESS"])
def test_a_contradiction_in_only_one_family_is_found(vip: str, family: int) -> None:
    """The instances of one VIP and family have no peers, on any machine."""
    intent = clusters.intent("dual-stack", vrrp={"ingress": "unicast"})
    head = f"vrrp_instance okd_{vip}_{family} {{"

    def changed(text: str) -> str:
        before, _, own = text.partition(head)
        own = re.sub(r"    unicast_peer \{.*?\n    \}\n", "", own, count=1, flags=re.S)
        return before + head + own if own else text

    found = contradictions(intent, _changed(render(intent), changed))
    claimants = 4 if vip == "API" else 2
    assert len(found) == claimants
    assert {line.partition(" ")[2] for line in found} == {"does not list exactly the other machines as unicast peers"}


def test_a_wrong_priority_in_only_the_second_family_is_found() -> None:
    intent = clusters.intent("dual-stack")

    def changed(text: str) -> str:
        return re.sub(r"(okd_API_1 \{.*?    priority) 70", r"\1 60", text, flags=re.S)

    assert "a healthy control-plane node (68) outranks the bootstrap that holds (60)" in contradictions(
        intent, _changed(render(intent), changed)
    )


def _changed(rendered: Rendered, change: Callable[[str], str]) -> Rendered:
    """The same with every keepalived.conf changed."""

    def files(given: Files) -> Files:
        return tuple(
            replace(file, text=change(file.text)) if file.name == "keepalived.conf" else file for file in given
        )

    return Rendered(
        files(rendered.bootstrap),
        {role: files(given) for role, given in rendered.roles.items()},
        {name: files(given) for name, given in rendered.servers.items()},
        rendered.keepalived,
    )


def test_the_text_has_the_priorities_proven_in_the_field(plan: ClusterPlan) -> None:
    holder, first = api(bootstrap_text(plan)), api(node_text(plan, 0))
    assert (holder.effective(), holder.effective({"own_api"})) == (70, 50)
    assert (first.effective(), first.effective(CHECKS.keys())) == (68, 40)


def test_the_oracle_reads_the_rendered_text_and_not_the_plan(plan: ClusterPlan) -> None:
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


def test_every_state_of_the_checks_counts_even_when_all_fail() -> None:
    assert nodes()[NODES[0]].ever() == {40, 43, 45, 48, 60, 63, 65, 68}
    assert bootstrap().ever(-20) == {70, 50, 30}


def test_numbers_that_follow_the_policy_are_accepted() -> None:
    assert policy_faults("release", bootstrap(), -20, nodes()) == []
    assert peer_faults("unicast", {HOLDER: bootstrap(), **nodes()}) == []
    assert peer_faults("multicast", {name: replace(node, peers=frozenset()) for name, node in nodes().items()}) == []


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
            bootstrap(),
            -8,
            {},
            f"{NODES[1]} and the bootstrap may both advertise 42, 62",
            id="tie-while-an-api-fails",
        ),
        pytest.param(
            replace(bootstrap(), priority=60),
            -20,
            {},
            f"{NODES[0]} and the bootstrap may both advertise 40, 60",
            id="tie-while-every-check-fails",
        ),
        pytest.param(
            bootstrap(),
            -20,
            {NODES[1]: replace(nodes()[NODES[1]], delay_s=0)},
            r"outrank a holder after \[0, 0, 2\] s",
            id="two-at-once",
        ),
        pytest.param(
            bootstrap(),
            -20,
            {name: replace(node, delay_s=2 - node.delay_s) for name, node in nodes().items()},
            r"outrank a holder after \[2, 1, 0\] s",
            id="the-last-first",
        ),
    ],
)
def test_numbers_that_contradict_the_policy_are_refused(
    holder: Instance, released: int, changed: dict[str, Instance], problem: str
) -> None:
    found = policy_faults("release", holder, released, {**nodes(), **changed})
    assert any(re.search(problem, line) for line in found), found


@pytest.mark.parametrize(
    ("transport", "address", "peers"),
    [
        pytest.param("unicast", HOLDER, NODES[:2], id="one-way-down"),
        pytest.param("unicast", NODES[2], NODES[:2], id="one-way-up"),
        pytest.param("unicast", NODES[0], (HOLDER, *NODES), id="self"),
        pytest.param("unicast", NODES[1], (), id="one-by-multicast"),
        pytest.param("multicast", NODES[1], (HOLDER,), id="one-by-unicast"),
    ],
)
def test_a_machine_that_would_not_hear_the_others_is_named(
    transport: Transport, address: str, peers: tuple[str, ...]
) -> None:
    good = {HOLDER: bootstrap(), **nodes()}
    if transport == "multicast":
        good = {name: replace(instance, peers=frozenset()) for name, instance in good.items()}
    machines = {**good, address: replace(good[address], peers=frozenset(peers))}
    line = f"{address} does not list exactly the other machines as unicast peers"
    assert peer_faults(transport, machines) == [line]


def test_a_text_without_an_instance_is_refused() -> None:
    with pytest.raises(ValueError, match="no track_script"):
        parse("vrrp_instance okd_API_0 {\n    priority 3\n}\n")
