"""The development server: real PostgreSQL, Temporal, UI, and Pulumi's CLI."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from base.errors import BusyError, FleetServerError
from fleet.server import development as module
from fleet.server.development import DevelopmentServer, running
from testing.checkout import ROOT
from testing.processes import kill
from testing.pulumi_env import pulumi_env

pytestmark = pytest.mark.fleet
BERLIN = "Site = 'berlin' AND Cluster = 'blue' AND Step = 'preview' AND Since = '2026-11-01T00:00:00Z'"


async def connected(server: DevelopmentServer) -> Client:
    return await Client.connect(server.address, namespace=server.namespace)


def begin(server: DevelopmentServer, name: str) -> None:
    """Start a workflow, which no worker runs, of cluster blue in Berlin."""

    async def start() -> None:
        words = {"Site": "berlin", "Cluster": "blue", "Step": "preview"}
        pairs: list[SearchAttributePair[str] | SearchAttributePair[datetime]] = [
            SearchAttributePair(SearchAttributeKey.for_keyword(key), word) for key, word in words.items()
        ]
        since = SearchAttributePair(SearchAttributeKey.for_datetime("Since"), datetime(2026, 11, 1, tzinfo=UTC))
        found = TypedSearchAttributes([*pairs, since])
        await (await connected(server)).start_workflow("Any", id=name, task_queue="none", search_attributes=found)

    asyncio.run(start())


def seen(server: DevelopmentServer, names: set[str]) -> set[str]:
    """Return which of these workflows a query for Berlin's finds, once it finds all or after 10 s."""

    async def query() -> set[str]:
        client, until = await connected(server), time.monotonic() + 10
        while True:
            found = {each.id async for each in client.list_workflows(BERLIN)} & names
            if found == names or time.monotonic() > until:
                return found
            await asyncio.sleep(0.05)

    return asyncio.run(query())


def is_free(folder: Path) -> bool:
    """Whether no process of a server is left: each has the lock."""
    with (folder / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_the_namespace_keeps_ended_workflows_for_thirty_days(development: DevelopmentServer) -> None:
    async def retention_s() -> int:
        client = await connected(development)
        request = DescribeNamespaceRequest(namespace=development.namespace)
        described = await client.workflow_service.describe_namespace(request)
        return described.config.workflow_execution_retention_ttl.seconds

    assert asyncio.run(retention_s()) == 30 * 24 * 3600


def test_a_query_finds_workflows_by_all_search_attributes(development: DevelopmentServer) -> None:
    begin(development, "found")
    assert seen(development, {"found"}) == {"found"}


def test_the_ui_reads_the_namespace(development: DevelopmentServer) -> None:
    url = f"{development.ui}/api/v1/namespaces/{development.namespace}"
    assert requests.get(url, timeout=10).json()["namespaceInfo"]["name"] == "fleet"
    assert "<html" in requests.get(development.ui, timeout=10).text


def test_pulumi_keeps_its_state_in_the_database(development: DevelopmentServer, tmp_path: Path) -> None:
    env = pulumi_env(tmp_path) | development.state
    (tmp_path / "Pulumi.yaml").write_text("name: empty\nruntime: yaml\n")
    for words in (["stack", "init", "organization/empty/blue"], ["stack", "ls", "--json"]):
        done = subprocess.run(["pulumi", *words], cwd=tmp_path, env=env, check=True, capture_output=True, text=True)
    assert [each["name"] for each in json.loads(done.stdout)] == ["blue"]


def test_all_listen_on_loopback_alone(development: DevelopmentServer) -> None:
    first = int(development.state["PGPORT"])
    ports = f"sport >= :{first} and sport < :{first + 20}"
    lines = subprocess.check_output(["ss", "--no-header", "-ltn", ports], text=True).splitlines()
    assert {line.split()[3] for line in lines} == {f"127.0.0.1:{first + number}" for number in range(10)}


def test_the_memory_is_that_of_the_server(development: DevelopmentServer) -> None:
    assert 50 < development.server_memory_mib() < 2000


def test_data_outlives_a_kill_of_the_server_and_an_immediate_stop_of_the_database(
    development: DevelopmentServer,
) -> None:
    begin(development, "kept")
    development.kill_server()
    development.stop_database()
    development.start_database()
    development.start_server()
    assert seen(development, {"kept"}) == {"kept"}
    begin(development, "next")


def test_the_server_lives_through_an_end_of_its_database(development: DevelopmentServer) -> None:
    development.stop_database()
    development.start_database()
    begin(development, "through")
    assert seen(development, {"through"}) == {"through"}


def test_a_second_start_has_the_data_and_the_address_of_the_first(tmp_path: Path) -> None:
    with running(tmp_path, print) as first:
        begin(first, "kept")
        address = first.address
    assert is_free(tmp_path)
    with running(tmp_path, print) as second:
        assert second.address == address
        assert seen(second, {"kept"}) == {"kept"}
    assert is_free(tmp_path)


def test_a_server_that_ends_by_itself_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    def run() -> None:
        with running(tmp_path, print) as server:
            kill("TEMPORAL_VERSION_CHECK_DISABLED", str(tmp_path))
            with pytest.raises(FleetServerError, match="ended with status -9"):
                server.wait()

    with pytest.raises(FleetServerError) as raised:
        run()
    assert str(raised.value).startswith(f"temporal: ended with status -9; the end of {tmp_path}/log/temporal.log:\n")
    assert is_free(tmp_path)


def test_a_folder_has_one_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_S", 0)
    with running(tmp_path, print):
        with pytest.raises(BusyError, match="another server runs in this folder"), running(tmp_path, print):
            pass
        assert not is_free(tmp_path)


PROGRAM = """
import sys
from pathlib import Path
from fleet.server.development import running
with running(Path(sys.argv[1]), lambda _: None) as server:
    print(server.address, flush=True)
    server.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_is_ended_takes_its_server_along(number: signal.Signals, tmp_path: Path) -> None:
    # Whoever runs the tests in the background ignores SIGINT, and so would the program.
    command = ["env", "--default-signal=INT", sys.executable, "-c", PROGRAM, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout
        assert program.stdout.readline()
        program.send_signal(number)
    with running(tmp_path, print):  # waits for the end of the last process
        log = (tmp_path / "log" / "postgres.log").read_text()
    assert "database system was interrupted" not in log
