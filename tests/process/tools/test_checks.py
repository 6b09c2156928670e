"""What guards this repository: the workflow of a pull request, and the hooks of a commit."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from testing.checkout import ROOT
from testing.workflows import assert_linted, bash

WORKFLOW, NIGHT = (ROOT / ".github" / "workflows" / f"{name}.yml" for name in ("checks", "survivors"))
(REPOSITORY,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
HOOKS = {hook["id"]: hook for hook in REPOSITORY["hooks"]}
FAULTS = {"ruff-format": "x = {'a':1}\n", "ruff-check": "import os\n"}
"""By hook: a file that it refuses or changes."""


@pytest.mark.parametrize("workflow", [WORKFLOW, NIGHT], ids=lambda path: path.stem)
def test_actionlint_and_shellcheck_accept_the_workflow(workflow: Path, tmp_path: Path) -> None:
    assert_linted(workflow, "$PWD", tmp_path)


def test_the_workflow_calls_targets_that_the_makefile_has(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/targets\n')
    make.chmod(0o755)
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for step in job["steps"]:
        if "make " in step.get("run", "") and "apt-get" not in step["run"]:
            subprocess.run(bash(step["run"]), cwd=tmp_path, env=env, check=True)
    targets = (tmp_path / "targets").read_text().split()
    assert targets == ["check", "test-fast", "BASE="]
    assert HOOKS["check"]["entry"] == "make check"
    done = subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_faults_of_the_night_are_reported_and_fail_nothing(tmp_path: Path) -> None:
    """The report is appended to the summary of the run; what precedes the night's step is as for a pull request."""
    (job,) = yaml.safe_load(NIGHT.read_text())["jobs"].values()
    (checks,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    assert (job["container"], job["steps"][0], job["steps"][2]) == (
        checks["container"], checks["steps"][0], checks["steps"][2]
    )  # fmt: skip
    make, summary = tmp_path / "make", tmp_path / "summary"
    make.write_text('#!/bin/sh\n[ "$*" = setup ] || echo "1 of 7 planted faults went unnoticed ($*)"\n')
    make.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)}
    subprocess.run(bash(job["steps"][-1]["run"]), cwd=tmp_path, env=env, check=True, capture_output=True)
    assert summary.read_text() == "1 of 7 planted faults went unnoticed (survivors)\n"
    subprocess.run(["make", "--dry-run", "survivors"], cwd=ROOT, capture_output=True, check=True)


def test_what_a_test_starts_is_built_before_the_tests() -> None:
    """They have no network. On a machine whose caches are warm, a test that builds one itself is not noticed."""
    texts = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    texts = [text for text in texts if "pytest.mark.kubernetes" not in text]
    started = {name for text in texts for name in re.findall(r'ensure_binary\("([^"]+)"\)', text)}
    made = subprocess.run(
        ["make", "--dry-run", "_test-binaries"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert started
    assert started <= {*made.stdout.split()}


@pytest.mark.parametrize("name", FAULTS)
def test_a_hook_notices_a_fault(tmp_path: Path, name: str) -> None:
    file = tmp_path / "module.py"

    def accepts(text: str) -> bool:
        file.write_text(text)
        command = [*HOOKS[name]["entry"].split(), str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return (done.returncode, file.read_text()) == (0, text)

    assert accepts('"""A module without a fault."""\n')
    assert not accepts(FAULTS[name])


def test_every_hook_runs_from_this_checkout() -> None:
    assert REPOSITORY["repo"] == "local"
    assert HOOKS.keys() == {*FAULTS, "check"}
    for hook in HOOKS.values():
        assert hook["entry"] == "make check" or hook["entry"].startswith(".venv/bin/")
