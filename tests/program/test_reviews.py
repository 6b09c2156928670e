"""The review of the change to phase production, for each kind of cluster, from the graphs of both phases."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.plan import ClusterPlan
from components.cluster import Cluster, ClusterArgs
from review.document import page_of
from review.markdown import markdown
from review.preview import SECRET, read_preview
from testing import clusters, plans
from testing.checkout import ROOT
from testing.golden import REVIEWS, masked
from testing.preview_steps import preview, step_on
from tests.program.graph import Declared, Graph, run
from wires.bmc.identity import MachineId


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
            yield step_on("update", new.urn, new.parent, printed(old), printed(new), outs=records(old))


def printed(declared: Declared) -> dict[str, Any]:
    """Return the inputs as the engine prints them."""
    return {name: SECRET if name in declared.secrets else value for name, value in declared.inputs.items()}


def records(declared: Declared) -> dict[str, Any]:
    """Return the records of a `HostProvisioning` that has installed its hosts; other resources have none."""
    own = {host: MachineId(**who).own for host, who in declared.inputs.get("identities", {}).items()}
    return {"installed": {host: {"uuid": uuid, "iso_sha256": "", "at": ""} for host, uuid in own.items()}}


def review(name: str) -> str:
    """Return the review of the change to production of one of `clusters.VARIANTS`."""
    before, after = clusters.plan(name), clusters.plan(name, phase="production")
    bootstrap = declared(before)
    text = preview(*steps(bootstrap, declared(after, bootstrap)), **plans.options(**clusters.VARIANTS[name].options))
    return masked(markdown(page_of(read_preview(text, name), plans.STACK)))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.golden
@pytest.mark.parametrize("name", clusters.REVIEWED)
def test_a_review_equals_the_golden_one(name: str, accept_golden: bool) -> None:
    found, file = review(name), REVIEWS / f"to-production-{name}.md"
    if accept_golden:
        file.write_text(found)
    assert found == file.read_text(), "`make accept`, then review"


def test_the_review_of_a_graph_is_that_of_the_engine() -> None:
    assert review("rehearsal") == (REVIEWS / "to-production.md").read_text()
