"""A site's own repository, with the real engine: its stacks, and this program as its submodule."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from testing import plans
from testing.approvers import JANE, public_key
from testing.checkout import ROOT, make_environment
from testing.git import clone_of_program, git
from testing.install_configs import SECRETS
from testing.project import COMMAND_S
from testing.pulumi_env import pulumi_env
from testing.workflows import bash

STACK = plans.STACK
PASSWORD = plans.install_config()["platform"]["baremetal"]["hosts"][0]["bmc"]["password"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site that `new-site` made of a clone that is set up as by `make setup`, with the rehearsal's stack."""
    site = tmp_path / "site"
    program = site / "okd-baremetal"
    clone_of_program(program)
    make_environment(program)
    subprocess.run([program / "tools" / "okd-baremetal", "new-site"], check=True, timeout=COMMAND_S)
    shutil.copytree(ROOT / "stacks" / STACK, site / "stacks" / STACK, ignore=shutil.ignore_patterns("payload"))
    config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options().items()}
    (site / "stacks" / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump({"config": config}))
    return site


def test_the_pinned_program_reads_the_stacks_of_the_site(site: Path, tmp_path: Path) -> None:
    def said(*words: str) -> str:
        command = [str(site / "okd-baremetal/tools/okd-baremetal"), *words]
        return subprocess.run(command, cwd=site, capture_output=True, text=True, check=True).stdout

    def pulumi(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["pulumi", *words, "--stack", STACK, "--non-interactive"]
        env = pulumi_env(tmp_path)
        return subprocess.run(
            command, cwd=site, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )

    commit = git(site / "okd-baremetal", "rev-parse", "--short", "HEAD")
    assert said("--version").endswith(f", commit {commit}\n")
    file = f"stacks/{STACK}/install-config.yaml"
    assert said("check", file) == f"{file}: ok\n"
    assert pulumi("stack", "init").returncode == 0
    payload = site / "stacks" / STACK / "payload"
    payload.mkdir()
    (payload / "bootstrap.ign").write_text("{}")
    tried = pulumi("up", "--yes", "--skip-preview")
    assert (tried.returncode != 0, tried.stderr) == (True, "")
    assert f"stacks/{STACK}/payload/master.ign: cannot be read (No such file or directory)" in tried.stdout
    assert f"stacks/{STACK}/payload/bootstrap.ign: " in tried.stdout
    assert f"stacks/{STACK}/payload/bootstrap.ign: cannot be read" not in tried.stdout


@dataclass(frozen=True)
class Gates:
    """What a site's repository runs on each commit and pull request, with the programs of its environment."""

    folder: Path
    env: dict[str, str]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {**self.env, "STACK": STACK, **environment}
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False, timeout=COMMAND_S
        )

    def hook(self) -> subprocess.CompletedProcess[str]:
        """Run the hook as pre-commit does: its entry with the files in git that match."""
        (repository,) = yaml.safe_load((self.folder / ".pre-commit-config.yaml").read_text())["repos"]
        (hook,) = repository["hooks"]
        files = git(self.folder, "ls-files").splitlines()
        return self.run(*hook["entry"].split(), *(name for name in files if re.search(hook["files"], name)))

    def github(self, *names: str) -> list[str]:
        """Run steps of the workflow, or all after the set-up; return those that fail, with what they print."""
        (job,) = yaml.safe_load((self.folder / ".github/workflows/review.yml").read_text())["jobs"].values()
        steps = [step for step in job["steps"] if "run" in step and step["name"] != "set up"]
        steps = [step for step in steps if not names or step["name"] in names]
        done = {step["name"]: self.run(*bash(step["run"])) for step in steps}
        return [f"{name}: {step.stdout}{step.stderr}" for name, step in done.items() if step.returncode]

    def gitlab(self, steps: int) -> subprocess.CompletedProcess[str]:
        """Run the first steps of the job's script; tests/process/cli/test_site_workflows.py runs all."""
        job = yaml.safe_load((self.folder / ".gitlab-ci.yml").read_text())["review"]
        return self.run(*bash("\n".join([*job["script"][:steps], 'exit "$status"'])))

    def previews(self) -> set[str]:
        """Return the commands of both jobs that run Pulumi."""
        jobs = [(self.folder / name).read_text() for name in (".github/workflows/review.yml", ".gitlab-ci.yml")]
        return {command for job in jobs for command in re.findall(r"pulumi .*? >preview\.json .*?true", job)}


@pytest.fixture
def gates(site: Path, tmp_path: Path) -> Gates:
    """The gates of a site whose secrets `move-secrets` has moved; the services of GitHub and GitLab only say yes."""
    (tmp_path / "bin").mkdir()
    for name in ("gh", "curl"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\ncat >/dev/null\n")
        (tmp_path / "bin" / name).chmod(0o755)
    env = pulumi_env(tmp_path, tmp_path / "bin")
    env["PATH"] = f"{site / '.venv/bin'}:{tmp_path / 'bin'}:{env['PATH']}"
    gates = Gates(site, env)
    gates.run("okd-baremetal", "init", STACK).check_returncode()
    gates.run("pulumi", "stack", "init", STACK, "--non-interactive").check_returncode()
    gates.run("okd-baremetal", "move-secrets", STACK).check_returncode()
    written = (site / f"stacks/Pulumi.{STACK}.yaml").read_text()
    gates.run("okd-baremetal", "init", STACK).check_returncode()
    assert (site / f"stacks/Pulumi.{STACK}.yaml").read_text() == written
    (site / "fleet.yaml").write_text(f"sites: {{north: [{STACK}]}}\napprovers: {{jane: {public_key(JANE)}}}\n")
    git(site, "add", "--all")
    git(site, "commit", "-qm", "The clusters of this site")
    files = [file.read_text() for file in (site / "stacks").rglob("*.yaml")]
    assert not any(secret in file for file in files for secret in SECRETS)
    return gates


def test_a_repository_without_secrets_passes_its_gates_and_no_secret_does(gates: Gates) -> None:
    """Issue 40, 4: hook, CI and fleet, and the fix of a secret that is put back; 7: Pulumi reads what was moved."""
    shown = gates.run("pulumi", "config", "--show-secrets", "--json", "--stack", STACK, "--non-interactive").stdout
    options = {name.partition(":")[2]: option for name, option in json.loads(shown).items()}
    assert options["pull_secret"]["value"] == plans.install_config()["pullSecret"]
    login = {"username": "admin", "password": PASSWORD}
    assert options["bmc_credentials"]["objectValue"] == dict.fromkeys(plans.HOSTS, login)
    config = f"stacks/{STACK}/install-config.yaml"
    done = gates.hook()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{config}: ok\n", "")
    assert gates.github() == []
    done = gates.gitlab(2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(gates.previews()) == 1, "the preview of GitLab is that of GitHub, which has run"
    assert "## What `pulumi up` will do" in (gates.folder / "review.md").read_text()
    done = gates.run("okd-baremetal", "fleet", "check")
    assert done.stdout == f"{config}: ok\nfleet.yaml: 1 site, 1 cluster, 1 wave: ok\n"
    assert gates.run("okd-baremetal", "clashes", config).stdout == f"{config}: ok\n"

    file = gates.folder / "stacks" / STACK / "install-config.yaml"
    file.write_text(file.read_text().replace('password: ""', f"password: {PASSWORD}", 1))
    done = gates.hook()
    where = f"stacks/{STACK}/install-config.yaml: platform.baremetal.hosts[0].bmc.password"
    assert (done.returncode, PASSWORD in done.stdout + done.stderr) == (2, False)
    assert done.stdout.startswith(f"{where}: in plain text")
    assert [failed.partition(": ")[0] for failed in gates.github("check")] == ["check"]
    assert gates.gitlab(2).returncode == 2
    fix = done.stdout.split("`")[1]
    assert gates.run(*fix.split()).returncode == 0
    assert gates.hook().returncode == 0
