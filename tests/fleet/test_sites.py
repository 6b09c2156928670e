"""Clusters of the fake fleet at two sites, through faults: real server, database, workers and engine."""

import base64
import hashlib
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from fleet.approvers import write_approver
from fleet.site.checkout import FOLDER
from testing.command_line import run
from testing.fakes.fleet.fleet import Pace
from testing.link import link_to
from testing.sites.postgres import Postgres
from testing.sites.sites import PASSPHRASE, Got, Sites, servers_of
from testing.sites.temporal import TemporalServer

pytestmark = pytest.mark.fleet
PACE = Pace(by_requests=False, power=(0.2, 0.5), install=(4, 6), boot=(1, 2), latency_s=(0.01, 0.02))
"""Seconds; an installation is long enough for something to die in it."""
CLUSTERS = {"north": ("gates", "forged", "worker", "server", "database", "secrets"), "south": ("link",)}
SILENCE = "the server wants another attempt, after 30 s of silence"
GATE = "bootstrap: waits for approval"
Worker = subprocess.Popen[bytes]
Wanted = dict[str, Got]


@pytest.fixture(scope="module")
def sites(temporal: TemporalServer, database: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """Sites with the worker of the workflows, and none of their own."""
    server = {"TEMPORAL_ADDRESS": temporal.address, **database.environment}
    with servers_of(sum(map(len, CLUSTERS.values())), PACE) as fleet:
        found = Sites(tmp_path_factory.mktemp("sites"), fleet, CLUSTERS, server)
        with ending(found.worker()):
            yield found


@pytest.fixture
def north(sites: Sites) -> Iterator[Worker]:
    """The worker of the north."""
    with ending(sites.worker("north")) as worker:
        yield worker


@contextmanager
def ending(worker: Worker) -> Iterator[Worker]:
    """Kill a worker at last; the kernel ends what it runs."""
    with worker:
        try:
            yield worker
        finally:
            worker.kill()


def through_bootstrap(sites: Sites, cluster: str, meanwhile: Callable[[], Wanted | None]) -> None:
    """Take a cluster to the gate of production, through what happens in the middle of its `up`.

    Args:
        meanwhile: May return what the servers will have got after it, if that is not what it was before.
    """
    sites.start(cluster)
    sites.approve(cluster, "bootstrap")
    wanted = sites.wanted(cluster)
    sites.wait(lambda: any(each.installs for each in sites.got(cluster).values()), f"a server of {cluster}")
    wanted = meanwhile() or wanted
    sites.until(cluster, "production: waits for approval")
    got = sites.got(cluster)
    assert {name: each for name, each in got.items() if each.resets} == {
        name: each for name, each in wanted.items() if "master" in name
    }


@pytest.mark.usefixtures("north")
def test_an_approval_is_of_one_preview_and_a_cluster_in_one_rollout(sites: Sites) -> None:
    sites.start("gates")
    sites.until("gates", GATE)
    shown = sites.command("status", "gates")
    assert "Wipes `/dev/vda` of gates-master-0" in shown
    assert f"Digest of this preview: `{shown.split()[-1]}`" in sites.review("gates")
    refused = sites.command("approve", "gates", "0123456789abcdef", code=2)
    assert f"0123456789abcdef is not the preview that waits, which is {shown.split()[-1]}" in refused
    again = sites.command("start", "gates.yaml", "--name", "another", code=2)
    assert "gates: a workflow of this cluster is under way" in again
    sites.command("cancel", "gates")
    sites.until("gates", f"canceled at {GATE}")
    assert not any(sites.fleet.figures(host).resets for host in sites.clusters["gates"].hosts.values())


@pytest.mark.usefixtures("north")
def test_who_has_only_the_key_of_the_fleet_passes_no_gate(sites: Sites, tmp_path: Path) -> None:
    """Neither by a file without gates, nor with a key that the site's plan does not know."""
    sites.start("forged", gates=[])
    sites.until("forged", GATE)
    shown = sites.command("status", "forged")
    assert "the site did not begin: bootstrap is a gate of this site, and the order has no signed approval" in shown
    write_approver(tmp_path / "stranger.key")
    stranger = str(tmp_path / "stranger.key")
    sites.command("approve", "forged", shown.split()[-1], FLEET_APPROVER_KEY_FILE=stranger)
    sites.wait(lambda: "no approver in fleet.yaml" in sites.command("status", "forged"), "the site refuses it")
    sites.until("forged", GATE)
    sites.command("cancel", "forged")
    sites.until("forged", f"canceled at {GATE}")
    assert not any(sites.fleet.figures(host).resets for host in sites.clusters["forged"].hosts.values())


def test_another_worker_goes_on_with_the_update_of_one_that_was_killed(sites: Sites) -> None:
    with ExitStack() as stack:
        killed = stack.enter_context(ending(sites.worker("north")))

        def dies() -> Wanted:
            killed.kill()
            sites.wait(lambda: sites.attempt("worker") > 1, SILENCE)
            wanted = sites.wanted("worker")
            stack.enter_context(ending(sites.worker("north")))
            return wanted

        through_bootstrap(sites, "worker", dies)
        folder = sites.root("north") / FOLDER
        logs, plan = sorted((folder / "worker").glob("log/worker/*.jsonl")), folder / "worker.plan"
        verified = run("verify", *logs, plan)
        assert (verified.returncode, verified.stderr) == (0, "")
        assert verified.stdout.count("; bound to this plan\n") == len(logs) == 2
        assert hashlib.sha256(plan.read_bytes()).hexdigest() in sites.command("status", "worker")
        *_, last = (line for line in logs[-1].read_text().splitlines() if '"event": "write"' in line)
        logs[-1].write_text(f"{logs[-1].read_text()}{last.replace('::control-plane', '::compute')}\n")
        refused = run("verify", *logs, plan)
        assert (refused.returncode, refused.stderr.count("the plan allows no")) == (4, 1)


@pytest.mark.usefixtures("north")
def test_an_update_outlives_the_server(sites: Sites, temporal: TemporalServer) -> None:
    def dies() -> None:
        temporal.kill()
        temporal.start()

    through_bootstrap(sites, "server", dies)


@pytest.mark.usefixtures("north")
def test_an_update_outlives_the_database_with_its_state(sites: Sites, database: Postgres) -> None:
    def dies() -> None:
        database.stop()
        database.start()

    through_bootstrap(sites, "database", dies)


def test_a_site_without_a_link_goes_on_and_reports_later(sites: Sites, temporal: TemporalServer) -> None:
    with link_to(temporal.address) as link, ending(sites.worker("south", TEMPORAL_ADDRESS=link.address)):

        def is_cut() -> None:
            link.cut()
            sites.wait(lambda: sites.attempt("link") > 1, SILENCE)
            link.restore()

        through_bootstrap(sites, "link", is_cut)


@pytest.mark.usefixtures("north")
def test_no_secret_of_a_site_is_in_a_database(sites: Sites, temporal: TemporalServer, database: Postgres) -> None:
    """Histories and visibility in Temporal's, Pulumi's state in the other."""
    through_bootstrap(sites, "secrets", lambda: None)
    with closing(sqlite3.connect(temporal.history)) as history:
        dumped = "\n".join(history.iterdump()).encode() + database.dump()
    has = {
        text: any(form in dumped for form in forms(text.encode())) for text in ("cluster/secrets", "secrets-master-0")
    }
    assert all(has.values())
    approver = (sites.folder / "approver.key").read_text().splitlines()[1]
    for secret in (PASSPHRASE, sites.fleet.options.password, (sites.folder / "key").read_text().strip(), approver):
        assert not any(form in dumped for form in forms(secret.encode()))


def forms(text: bytes) -> Iterator[bytes]:
    """Yield how a dump may have a text: as it is, inside of base64, as Pulumi keeps its state, and both in hex."""
    inside = [base64.b64encode(bytes(before) + text) for before in range(3)]
    # The characters at both ends depend on the text's neighbours.
    for form in (text, *(each[4:-4] for each in inside)):
        yield form
        yield form.hex().encode()
        yield form.hex().upper().encode()  # of SQLite
