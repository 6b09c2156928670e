"""The payload's files: found by convention, pinned by digest; and the CA in the pointer configs."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from base.errors import PayloadError
from payload.reading import payload_ca, read_payload
from testing.payloads import good, root_ca

FOLDER = Path("stacks/lab/payload")
CONTENT = json.dumps(good()["master"]).encode()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def _stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack `lab` with a master.ign, in the working directory."""
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "master.ign").write_bytes(CONTENT)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_stack")
def test_a_pinned_payload_is_read() -> None:
    assert read_payload("lab", "master", SHA256) == CONTENT


@pytest.mark.usefixtures("_stack")
@pytest.mark.parametrize(
    ("stack", "name", "pinned", "line"),
    [
        pytest.param(
            "lab",
            "worker",
            SHA256,
            "stacks/lab/payload/worker.ign: cannot be read (No such file or directory). "
            "Fix: put the payload's worker.ign there",
            id="missing-file",
        ),
        pytest.param(
            "none",
            "master",
            SHA256,
            "stacks/none/payload/master.ign: cannot be read (No such file or directory). "
            "Fix: put the payload's master.ign there",
            id="missing-stack",
        ),
        pytest.param(
            "lab",
            "master",
            "0" * 64,
            f"stacks/lab/payload/master.ign: sha256 is {SHA256}, the stack pins {'0' * 64}. Fix: put the pinned file "
            "there; if no machine runs with that one, pin this one: "
            f"`pulumi config set --path payload.master {SHA256}`",
            id="another-one",
        ),
    ],
)
def test_a_payload_with_another_digest_than_the_pinned_one_is_one_line(
    stack: str, name: str, pinned: str, line: str
) -> None:
    with pytest.raises(PayloadError) as caught:
        read_payload(stack, name, pinned)
    assert str(caught.value) == line


def config_with_ca(source: str | None) -> bytes:
    tls = {"certificateAuthorities": [{"source": source}]}
    return json.dumps({"ignition": {"version": "3.2.0", "security": {"tls": tls}}}).encode()


@pytest.mark.parametrize(
    "kind", ["text/plain;charset=utf-8;", ";", "text/plain;"], ids=["installer", "bare", "plain"]
)
def test_the_ca_is_the_one_in_the_pointer(kind: str) -> None:
    source = f"data:{kind}base64,{base64.b64encode(root_ca().encode()).decode()}"
    assert payload_ca(config_with_ca(source)) == root_ca()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{}", id="empty"),
        pytest.param(b"no json", id="no-json"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(config_with_ca(None), id="no-source"),
        pytest.param(config_with_ca("data:;base64,%%%"), id="no-base64"),
        pytest.param(config_with_ca("data:;base64,"), id="empty-source"),
        pytest.param(config_with_ca("https://ca.example/ca.crt"), id="a-url"),
    ],
)
def test_a_pointer_without_a_ca_is_one_line(content: bytes) -> None:
    with pytest.raises(PayloadError, match=r"^payload: .*openshift-install wrote$"):
        payload_ca(content)
