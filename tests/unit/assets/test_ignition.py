"""Composed Ignition: the payload first, ours last; and digests that stand for it."""

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assets.errors import AssetError
from assets.ignition import compose, composed_sha256, own_config, payload_ca, read_payload
from assets.render import RenderedFile, render_bootstrap, render_role, render_server
from cluster.plan import ClusterPlan

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "okd-baremetal")
VALIDATE = shutil.which("ignition-validate") or shutil.which("ignition-validate", path=CACHE / "bin")
PAYLOAD = b'{"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": "core"}]}}'
CA = "-----BEGIN CERTIFICATE-----\nTWFkZSB1cA==\n-----END CERTIFICATE-----\n"


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


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack `lab` with a payload, in the working directory."""
    folder = tmp_path / "stacks" / "lab" / "payload"
    folder.mkdir(parents=True)
    (folder / "master.ign").write_bytes(PAYLOAD)
    monkeypatch.chdir(tmp_path)
    return folder


SHA256 = hashlib.sha256(PAYLOAD).hexdigest()


@pytest.mark.usefixtures("stack")
def test_a_pinned_payload_is_read() -> None:
    assert read_payload("lab", "master", SHA256) == PAYLOAD


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize(
    ("stack_name", "name", "pinned", "said"),
    [
        pytest.param("lab", "worker", SHA256, ["stacks/lab/payload/worker.ign: cannot be read"], id="missing-file"),
        pytest.param(
            "none", "master", SHA256, ["stacks/none/payload/master.ign: cannot be read"], id="missing-stack"
        ),
        pytest.param(
            "lab", "master", "0" * 64, [f"sha256 is {SHA256}", "0" * 64, f"payload.master {SHA256}"], id="another-one"
        ),
    ],
)
def test_a_payload_that_is_not_the_pinned_one_is_one_line(
    stack_name: str, name: str, pinned: str, said: list[str]
) -> None:
    with pytest.raises(AssetError) as caught:
        read_payload(stack_name, name, pinned)
    assert "\n" not in str(caught.value)
    assert all(part in str(caught.value) for part in said)


def pointer(source: Any) -> bytes:
    tls = {"certificateAuthorities": [{"source": source}]}
    return json.dumps({"ignition": {"security": {"tls": tls}}}).encode()


@pytest.mark.parametrize(
    "kind", ["text/plain;charset=utf-8;", ";", "text/plain;"], ids=["installer", "bare", "plain"]
)
def test_the_ca_is_the_one_in_the_pointer(kind: str) -> None:
    assert payload_ca(pointer(f"data:{kind}base64,{base64.b64encode(CA.encode()).decode()}")) == CA


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{}", id="empty"),
        pytest.param(b"no json", id="no-json"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(pointer(None), id="no-source"),
        pytest.param(pointer("data:;base64,%%%"), id="no-base64"),
        pytest.param(pointer("data:;base64,"), id="empty-source"),
        pytest.param(pointer("https://ca.example/ca.crt"), id="a-url"),
    ],
)
def test_a_pointer_without_a_ca_is_one_clean_line(content: bytes) -> None:
    with pytest.raises(AssetError, match=r"carries no certificate authority.*openshift-install wrote$"):
        payload_ca(content)
