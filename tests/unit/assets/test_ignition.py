"""Composed Ignition: the payload first, ours last; and digests that stand for it."""

import base64
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assets.ignition import compose, composed_sha256, own_config
from assets.render import RenderedFile, render_bootstrap, render_role, render_server
from cluster.plan import ClusterPlan

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "okd-baremetal")
VALIDATE = shutil.which("ignition-validate") or shutil.which("ignition-validate", path=CACHE / "bin")
PAYLOAD = b'{"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": "core"}]}}'


def machines(plan: ClusterPlan) -> dict[str, tuple[RenderedFile, ...]]:
    files = {server.name: (*render_role(plan, server.role), *render_server(plan, server)) for server in plan.servers}
    return {"bootstrap": render_bootstrap(plan), **files}


MACHINES = ("bootstrap", "okd-master-0", "okd-worker-0")


def children(composed: bytes) -> list[bytes]:
    merge = json.loads(composed)["ignition"]["config"]["merge"]
    assert {child["compression"] for child in merge} == {"gzip"}
    return [gzip.decompress(base64.b64decode(child["source"].partition(";base64,")[2])) for child in merge]


def test_ours_is_the_last_child_so_that_it_wins() -> None:
    assert children(compose(PAYLOAD, "{ours}")) == [PAYLOAD, b"{ours}"]


@pytest.mark.parametrize("machine", MACHINES)
def test_own_config_carries_every_file_unchanged(plan: ClusterPlan, machine: str) -> None:
    files = machines(plan)[machine]
    config = json.loads(own_config(files))
    carried: dict[str, tuple[str, int]] = {
        each["path"]: (base64.b64decode(each["contents"]["source"].partition(";base64,")[2]).decode(), each["mode"])
        for each in config["storage"]["files"]
    }
    units = {f"/etc/systemd/system/{unit['name']}": unit for unit in config["systemd"]["units"]}
    carried |= {path: (unit["contents"], 0o644) for path, unit in units.items()}
    assert carried == {file.path: (file.text, file.mode) for file in files}
    assert all(unit["enabled"] for unit in units.values())
    assert all(each["overwrite"] for each in config["storage"]["files"])


def test_the_same_files_give_the_same_bytes_in_any_order(plan: ClusterPlan) -> None:
    files = machines(plan)["okd-master-0"]
    assert own_config(reversed(files)) == own_config(files)
    assert compose(PAYLOAD, own_config(files)) == compose(PAYLOAD, own_config(files))


@pytest.mark.skipif(
    VALIDATE is None, reason=f"no ignition-validate on PATH or in {CACHE}/bin (the rehearsal builds it)"
)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("composed", [False, True], ids=["ours", "composed"])
def test_ignition_takes_it(plan: ClusterPlan, tmp_path: Path, machine: str, composed: bool) -> None:
    ours = own_config(machines(plan)[machine])
    path = tmp_path / "config.ign"
    path.write_bytes(compose(PAYLOAD, ours) if composed else ours.encode())
    run = subprocess.run([str(VALIDATE), str(path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr, run.stdout) == (0, "", "")


@pytest.mark.parametrize(
    ("payload", "ours"), [("a" * 64, "other"), ("b" * 64, "{}")], ids=["our-part", "the-payload"]
)
def test_a_digest_of_a_composed_config_stands_for_both_parts(payload: str, ours: str) -> None:
    assert composed_sha256(payload, ours) != composed_sha256("a" * 64, "{}")
    assert composed_sha256(payload, ours) == composed_sha256(payload, ours)
