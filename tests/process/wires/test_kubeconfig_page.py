"""The lines of the page by which a stack gets another kubeconfig, with a stand-in of ssh."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from payload.kubeconfig import kubeconfig_path, read_kubeconfig
from testing.certificates import authority
from testing.documents import commands
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from testing.plans import STACK

SSH = """#!/bin/sh
[ "$1 $2 $3" = "core@192.0.2.11 sudo cat" ] && cat "$KEPT/${4##*/}"
"""


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a stack's payload, in a project of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stacks" / STACK / "payload"


def follow(folder: Path) -> int:
    """Run the lines with ssh of a folder, and return their exit code."""
    block = commands("how-to/what-changed.md", "lb-ext.kubeconfig").replace("<stack>", STACK)
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "KEPT": str(folder)}
    return subprocess.run(
        ["bash", "-euc", block.replace("<server>", "192.0.2.11")], cwd=Path.cwd(), env=environment, check=False
    ).returncode


def test_the_kubeconfig_of_a_server_takes_the_place_of_an_expired_one(payload: Path) -> None:
    before = write_kubeconfig(payload).read_bytes()
    content = kubeconfig(authority("test-ca"))
    content["clusters"][0]["name"] = "lb-ext"
    (payload / "lb-ext.kubeconfig").write_text(yaml.safe_dump(content))
    assert follow(payload) == 0
    read, path = read_kubeconfig(STACK), kubeconfig_path(STACK)
    assert read
    assert read.host == "api.okd.lab.test"
    assert path.read_bytes() != before
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_name("kubeconfig.old").read_bytes() == before


def test_a_server_that_does_not_answer_costs_no_kubeconfig(payload: Path) -> None:
    before = write_kubeconfig(payload).read_bytes()
    assert follow(payload) != 0
    assert kubeconfig_path(STACK).read_bytes() == before
