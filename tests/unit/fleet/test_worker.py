"""What a worker asks of Temporal's SDK."""

from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client

from fleet import worker
from fleet.workflows import HEARTBEAT_TIMEOUT, UPDATE_TIMEOUT


def test_a_site_runs_four_updates_and_ends_after_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = dict[str, Any]()
    monkeypatch.setattr(worker, "Worker", lambda _client, **options: asked.update(options))
    worker.site_worker(cast(Client, None), "north", tmp_path)
    assert asked["max_concurrent_activities"] == 4
    assert asked["graceful_shutdown_timeout"] >= UPDATE_TIMEOUT
    assert asked["max_heartbeat_throttle_interval"] < HEARTBEAT_TIMEOUT / 2
