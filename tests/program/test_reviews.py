"""Reviews of changes, from the graphs before and after; tests/e2e/test_review.py has some of them by the engine."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets import contract, render
from assets.templates import templates_in
from cluster.plan import ClusterPlan
from components.cluster import Cluster, ClusterArgs
from review.document import page_of
from review.markdown import markdown
from review.preview import SECRET, read_preview
from testing import clusters, plans
from testing.checkout import ROOT
from testing.clusters import Variant
from testing.golden import REVIEWS, check_review, masked
from testing.install_configs import bare
from testing.plan_files import Files, addresses
from testing.preview_steps import preview, step_on
from tests.program.graph import Declared, Graph, run
from wires.bmc.identity import MachineId

IN_PRODUCTION: dict[str, Any] = {"phase": "production", "import_production": True}
CHANGES = {
    "api-vip": Variant(lambda config: bare(config).update(apiVIPs=["192.168.111.6"])),
    "deadline": Variant(options={"handoff": {**plans.options()["handoff"], "deadline_s": 240}}),
    "domain": Variant(lambda config: config.update(baseDomain="site.test")),
    "ingress-vip": Variant(lambda config: bare(config).update(ingressVIPs=["192.168.111.7"])),
    "nothing": Variant(),
    "payload": Variant(options={"payload": {**plans.PAYLOAD, "master": "e5" * 32}}),
    "peer": Variant(options={"node_addresses": addresses(okd_master_1=["192.168.111.32"])}),
    "policy": Variant(options={"vrrp": {"policy": "preempt"}}),
    "vrid": Variant(options={"vrids": {"api": 77}}),
}
"""Changes of the stack in phase bootstrap. A peer changes before the control plane is installed."""
RELEASES = {
    "byte-of-a-script": (IN_PRODUCTION, "common/okd-check.sh", "PORT PATH", "PORT PAGE"),
    "forwarder": ({}, "common/Corefile.j2", "{{ contract.UPSTREAMS }}", "192.0.2.53"),
    "weight": (
        {},
        "common/keepalived.conf.j2",
        "{{ check.weight }}",
        "{{ 19 if check.weight == 20 else check.weight }}",
    ),
}
"""Changes of the program, with the options of the stack: a file of assets/, and what another release has there."""


def declared(plan: ClusterPlan, olds: Graph | None = None) -> Graph:
    """Return the graph of a plan, also of one that a preview refuses yet."""

    def program() -> None:
        Cluster(plan.name, ClusterArgs(plan))

    return run(olds, program)


def steps(before: Graph, after: Graph) -> Iterator[dict[str, Any]]:
    """Yield what an update does from one graph, all of whose servers are installed, to another."""
    for name in sorted(before.resources.keys() | after.resources.keys()):
        old, new = before.resources.get(name), after.resources.get(name)
        if old is None and new:
            yield step_on("create", new.urn, new.parent, None, printed(new))
        elif old and new is None:
            yield step_on("delete", old.urn, old.parent, printed(old), None)
        elif old and new and old.inputs != new.inputs:
            update = step_on("update", new.urn, new.parent, printed(old), printed(new), outs=records(old))
            yield update | {
                "diffReasons": sorted(each for each in new.inputs if old.inputs.get(each) != new.inputs[each])
            }


def printed(declared: Declared) -> dict[str, Any]:
    """Return the inputs as the engine prints them."""
    return {name: SECRET if name in declared.secrets else value for name, value in declared.inputs.items()}


def records(declared: Declared) -> dict[str, Any]:
    """Return the records of a `HostProvisioning` that has installed its hosts; other resources have none."""
    own = {host: MachineId(**who).own for host, who in declared.inputs.get("identities", {}).items()}
    return {"installed": {host: {"uuid": uuid, "iso_sha256": "", "at": ""} for host, uuid in own.items()}}


def review(before: Graph, after: Graph, name: str, **options: Any) -> str:
    text = preview(*steps(before, after), **plans.options(**options))
    return masked(markdown(page_of(read_preview(text, name), plans.STACK)))


def to_production(name: str) -> str:
    """Return the review of the change to production of one of `clusters.VARIANTS`."""
    before, after = clusters.plan(name), clusters.plan(name, phase="production")
    bootstrap = declared(before)
    return review(bootstrap, declared(after, bootstrap), name, **clusters.VARIANTS[name].options)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.golden
@pytest.mark.parametrize("name", clusters.REVIEWED)
def test_a_review_equals_the_golden_one(name: str, accept_golden: bool) -> None:
    check_review(f"to-production-{name}", to_production(name), accept_golden)


def test_the_review_of_a_graph_is_that_of_the_engine() -> None:
    assert to_production("rehearsal") == (REVIEWS / "to-production.md").read_text()


@pytest.mark.golden
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_stack_shows_that_and_nothing_else(tmp_path: Path, name: str, accept_golden: bool) -> None:
    change, before = CHANGES[name], declared(plans.plan())
    if name == "peer":
        del before.resources["okd-control-plane"]
    after = declared(Files(tmp_path).plan(change.change, **change.options), before)
    assert after.refused == []
    check_review(name, review(before, after, name, **change.options), accept_golden)


@pytest.mark.golden
@pytest.mark.parametrize("name", RELEASES)
def test_a_change_of_the_program_shows_that_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, accept_golden: bool
) -> None:
    options, file, old, new = RELEASES[name]
    plan = plans.plan(**options)
    before = declared(plan)
    text = (render.FOLDER / file).read_text()
    assert text.count(old) == 1
    shutil.copytree(render.FOLDER, tmp_path / "assets")
    (tmp_path / "assets" / file).write_text(text.replace(old, new))
    templates = templates_in(tmp_path / "assets")
    templates.globals["contract"] = contract
    monkeypatch.setattr(render, "FOLDER", tmp_path / "assets")
    monkeypatch.setattr(render, "TEMPLATES", templates)
    check_review(name, review(before, declared(plan, before), name, **options), accept_golden)
