"""From an empty folder and an install-config to a stack that can be installed, with the real Pulumi."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from testing.command_line import run
from testing.fakes import openshift_install
from testing.fakes.fleet.fleet import Options, running, uuid_of
from testing.fakes.site import FakeSite
from testing.install_configs import bare, host
from testing.pulumi_env import pulumi_env

PULL_SECRET = '{"auths": {"a.test": {"auth": "aHVudGVyMg=="}}}'
CONFIG, STACK, FOLDER = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml", "stacks/prod/payload"


class Project:
    """A project without stacks, with Pulumi and a stand-in of openshift-install on PATH."""

    def __init__(self, folder: Path) -> None:
        shutil.copy(ROOT / "Pulumi.yaml", folder)
        openshift_install.put_on_path(folder / "bin")
        self.folder, self.env = folder, pulumi_env(folder, folder / "bin")

    def pulumi(self, *words: str, given: str = "") -> None:
        command = ["pulumi", *words, "--stack", "prod", "--non-interactive"]
        subprocess.run(
            command, cwd=self.folder, env=self.env, check=True, capture_output=True, input=given, text=True
        )

    def __call__(self, *words: str) -> str:
        """Run a command of ours, which must succeed, and return what it prints."""
        done = run(*words, folder=self.folder, **self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def text(self) -> str:
        return (self.folder / STACK).read_text()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr("cli.start.init.LocalSite", lambda: FakeSite(elsewhere="172.22.0.2"))
    return Project(tmp_path)


def test_three_commands_lead_to_a_stack_that_can_be_installed(project: Project) -> None:
    with running(Options(hosts=len(plans.HOSTS))) as fleet:
        config: dict[str, Any] = plans.install_config()
        bare(config)["bmcVerifyCA"] = fleet.ca
        del config["pullSecret"]
        for index in range(len(plans.HOSTS)):
            host(config, index)["bmc"].update(address=fleet.address(index), password=fleet.options.password)
        (project.folder / "mine.yaml").write_text(yaml.safe_dump(config))
        project("init", "prod", "--install-config", "mine.yaml", "--consents")
    written = project.text.splitlines()
    project.pulumi("stack", "init")
    project.pulumi("config", "set", "--secret", "pull_secret", given=PULL_SECRET)
    assert f"{FOLDER}/auth/kubeconfig" in project("payload", "prod")
    assert project("plan", CONFIG, "--stack", "prod")
    options = yaml.safe_load(project.text)["config"]
    assert options["okd-baremetal:consent"] == {name: uuid_of(index) for index, name in enumerate(plans.HOSTS)}
    assert "aHVudGVyMg==" not in project.text
    assert "aHVudGVyMg==" in (project.folder / FOLDER / openshift_install.STATE).read_text()
    assert [line for line in written if line not in project.text.splitlines()] == [], "Pulumi keeps each line"


def test_a_serial_of_digits_is_set_as_documented(project: Project) -> None:
    shutil.copy(plans.INSTALL_CONFIG, project.folder / "mine.yaml")
    project("init", "prod", "--install-config", "mine.yaml")
    project.pulumi("stack", "init")
    for index, name in enumerate(plans.HOSTS):
        project.pulumi("config", "set", "--path", f"consent.{name}", f"00{index}" if index else "1234567")
    assert "okd-master-0: 1234567\n" in project.text, "Pulumi writes a number"
    project("payload", "prod")
    assert project("plan", CONFIG, "--stack", "prod")


def test_a_stack_is_removed_as_documented_and_keeps_its_options(project: Project) -> None:
    """Issue 40, 16: without the option, Pulumi deletes the file."""
    shutil.copy(plans.INSTALL_CONFIG, project.folder / "mine.yaml")
    project("init", "prod", "--install-config", "mine.yaml")
    project.pulumi("stack", "init")
    before = project.text
    (words,) = re.findall(r"`pulumi (stack rm .*) <stack>`", (ROOT / "docs/how-to/day-two.md").read_text())
    project.pulumi(*words.split(), "--yes")
    assert project.text == before
    project.pulumi("stack", "init")


def test_another_payload_is_generated_as_the_fix_says(project: Project) -> None:
    """Number 1 of issue 41, with the real Pulumi: it refuses a stack that it does not have, and one with pins."""
    shutil.copy(plans.INSTALL_CONFIG, project.folder / "mine.yaml")
    project("init", "prod", "--install-config", "mine.yaml")
    done = run("payload", "prod", folder=project.folder, **project.env)
    assert (done.returncode, "pulumi config failed" in done.stderr) == (2, True), done.stderr
    assert not (project.folder / FOLDER).exists(), "nothing is generated for a stack that Pulumi does not have"
    project.pulumi("stack", "init")
    project("payload", "prod")
    done = run("payload", "prod", folder=project.folder, **project.env)
    assert (done.returncode, "pins a payload; a second one" in done.stderr) == (2, True), done.stderr
    project.pulumi("config", "rm", "payload")
    project("payload", "prod")
    kubeconfigs = [*(project.folder / FOLDER).parent.glob("*/auth/kubeconfig")]
    assert len({path.read_text() for path in kubeconfigs}) == 2, "the old keys, and the new ones"
    assert "okd-baremetal:payload:\n" in project.text
