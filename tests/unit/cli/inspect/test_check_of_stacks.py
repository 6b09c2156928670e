"""`check --stack` reads the two files of a stack together, as git may have them (case 4 of issue 40)."""

import subprocess
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from assets.ignition import Config, File, Resource
from payload.release import VERSION_FILE
from testing import plans
from testing.checkout import ROOT
from testing.command_line import run
from testing.git import committed, git
from testing.install_configs import SECRETS, Change, bare, host

CONFIG, STACK = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml"
CIPHER = {"secure": "v1:cipher"}
LOGINS: dict[str, Any] = {name: {"username": "admin", "password": CIPHER} for name in plans.HOSTS}
IN_STACK: dict[str, Any] = {"pull_secret": CIPHER, "bmc_credentials": LOGINS}
PLAIN = "in plain text, as it would be in each commit. Fix: "


def without_secrets(config: dict[str, Any]) -> None:
    config["pullSecret"] = ""
    for index in range(len(plans.HOSTS)):
        host(config, index)["bmc"].update(username="", password="")


class Repository:
    """A site's repository with one stack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stacks" / "prod").mkdir(parents=True)
        self.config(without_secrets)
        self.options(**IN_STACK)

    def config(self, *changes: Change) -> None:
        config = plans.install_config()
        for change in changes:
            change(config)
        (self.folder / CONFIG).write_text(yaml.safe_dump(config))

    def options(self, *, beside: dict[str, Any] | None = None, **options: Any) -> None:
        config = {f"okd-baremetal:{name}": value for name, value in options.items()}
        (self.folder / STACK).write_text(yaml.safe_dump({"config": config, **(beside or {})}))

    def check(self, *files: str) -> CompletedProcess[str]:
        done = run("check", "--stack", *(files or (CONFIG, STACK)), folder=self.folder)
        assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
        return done


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_verdict_is_that_of_the_release_that_made_the_payload(repository: Repository) -> None:
    """Number 6 of issue 41."""
    repository.config(without_secrets, lambda c: c.update(osImageStream="rhel-9"))
    done = repository.check(CONFIG)
    notice = f"{CONFIG}: osImageStream: notice: only openshift-install 4.22 and newer know it\n"
    assert (done.returncode, done.stderr) == (0, notice)
    payload = repository.folder / "stacks" / "prod" / "payload"
    payload.mkdir()
    of_4_22 = File(VERSION_FILE, Resource.inline("data:\n  version: v4.22.1\n"))
    (payload / "bootstrap.ign").write_text(Config(files=(of_4_22,)).to_json())
    done = repository.check(CONFIG)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith(f"{CONFIG}: osImageStream: needs the feature gate OSStreams. Fix: write featureSet")


@pytest.mark.parametrize("files", [(CONFIG,), (STACK,), (STACK, CONFIG)], ids=["config", "options", "both"])
def test_secrets_that_the_stack_has_may_be_missing(repository: Repository, files: tuple[str, ...]) -> None:
    done = repository.check(*files)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{CONFIG}: ok\n", "")
    assert run("check", CONFIG, folder=repository.folder).returncode == 2, "the file alone lacks them"


def test_logins_that_are_encrypted_as_a_whole_count_as_there(repository: Repository) -> None:
    repository.options(pull_secret=CIPHER, bmc_credentials=CIPHER)
    assert repository.check().returncode == 0


def test_a_secret_that_neither_file_has_is_given_to_the_stack(repository: Repository) -> None:
    repository.options(bmc_credentials={name: login for name, login in LOGINS.items() if name != "okd-worker-0"})
    lines = repository.check().stdout.splitlines()
    path = "platform.baremetal.hosts[3].bmc"
    assert [line.partition(" Fix: ")[0] for line in lines] == [
        f"{CONFIG}: {path}.username: missing.",
        f"{CONFIG}: {path}.password: missing.",
        f"{CONFIG}: pullSecret: missing.",
    ]
    assert "`pulumi config set --secret --path 'bmc_credentials.okd-worker-0.password'`" in lines[1]


def test_secrets_in_plain_text_are_refused_also_beside_those_of_the_stack(repository: Repository) -> None:
    repository.config()
    done = repository.check()
    fix = f"{PLAIN}move it into the stack: `okd-baremetal move-secrets prod`"
    paths = ["pullSecret", *(f"platform.baremetal.hosts[{index}].bmc.password" for index in range(5))]
    assert (done.returncode, done.stdout.splitlines()) == (2, [f"{CONFIG}: {path}: {fix}" for path in paths])


def test_plain_secrets_of_the_options_are_refused(repository: Repository) -> None:
    logins = {**LOGINS, "okd-worker-0": {"username": "admin", "password": SECRETS[0]}}
    repository.options(pull_secret=SECRETS[1], notify_url="https://a.test/token", bmc_credentials=logins)
    done = repository.check(STACK)
    path = "bmc_credentials.okd-worker-0.password"
    assert done.returncode == 2
    assert done.stdout.splitlines()[-3:] == [
        f"{STACK}: pull_secret: {PLAIN}set it with `pulumi config set --secret pull_secret <FILE`",
        f"{STACK}: notify_url: {PLAIN}set it with `pulumi config set --secret notify_url <FILE`",
        f"{STACK}: {path}: {PLAIN}set it with `pulumi config set --secret --path '{path}'`",
    ]


@pytest.mark.parametrize("command", [("check", "--stack", CONFIG), ("plan", CONFIG, "--stack", "prod")], ids=str)
def test_a_key_that_nobody_reads_is_refused(repository: Repository, command: tuple[str, ...]) -> None:
    """Case 7 of issue 40: `pulumi stack init` made such keys of commented lines."""
    beside = {"okd-baremetal:media": {"address": "192.0.2.1"}, "phase": "production", "encryptionsalt": "v1:salt"}
    repository.options(**IN_STACK, beside=beside)
    loaded = yaml.safe_load((repository.folder / STACK).read_text())
    loaded["config"] |= {"wait": "install", "okd-bare:vrids": {}, "libvirt:uri": "qemu:///system"}
    (repository.folder / STACK).write_text(yaml.safe_dump(loaded, sort_keys=False))
    done = run(*command, folder=repository.folder)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(STACK)]
    outside = "not below `config:`: Pulumi does not read it, and may remove it. Fix: write it as"
    prefix = "without the prefix okd-baremetal: of this program's options. Fix: write"
    assert done.returncode == 2
    assert lines == [
        f"{STACK}: okd-baremetal:media: {outside} okd-baremetal:media below `config:`, or remove it",
        f"{STACK}: phase: {outside} okd-baremetal:phase below `config:`, or remove it",
        f"{STACK}: config: wait: {prefix} okd-baremetal:wait, or remove it",
        f"{STACK}: config: okd-bare:vrids: {prefix} okd-baremetal:vrids, or remove it",
    ]


def test_addresses_of_the_options_are_checked_with_the_file(repository: Repository) -> None:
    repository.options(**IN_STACK, node_addresses={"okd-worker-0": ["192.168.111.5"]})
    done = repository.check()
    assert done.returncode == 3
    assert (
        "config: node_addresses.okd-worker-0[0]: valid, but not installable: 192.168.111.5 is already" in done.stdout
    )


@pytest.mark.parametrize("text", [None, "- no mapping\n", "a: [\n"], ids=["missing", "list", "no-yaml"])
def test_a_file_that_cannot_be_read_is_one_line(repository: Repository, text: str | None) -> None:
    for file in (CONFIG, STACK):
        path, before = repository.folder / file, (repository.folder / file).read_text()
        path.unlink() if text is None else path.write_text(text)
        done = repository.check(CONFIG)
        assert (done.returncode, done.stderr) == (2, "")
        assert len([line for line in done.stdout.splitlines() if line.startswith(f"{file}: ")]) == 1
        assert "bmc.password: missing" not in done.stdout  # which the stack may have: nobody is to give it once more
        path.write_text(before)


def test_a_file_of_no_stack_is_refused(repository: Repository) -> None:
    done = repository.check("mine.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mine.yaml: not a file of a stack. Fix: name stacks/STACK/install-config.yaml")


def test_the_hook_of_a_site_runs_it_for_both_files() -> None:
    (hooks,) = yaml.safe_load((ROOT / "cli/start/site/.pre-commit-config.yaml").read_text())["repos"]
    (hook,) = hooks["hooks"]
    assert hook["entry"].split()[1:] == ["check", "--stack"]
    names = [CONFIG, STACK, "stacks/prod/payload/bootstrap.ign", "Pulumi.yaml", "stacks/.gitkeep"]
    matched = subprocess.run(
        ["grep", "-E", hook["files"]], input="\n".join(names), capture_output=True, text=True, check=True
    )
    assert matched.stdout.splitlines() == [CONFIG, STACK]


def test_clashes_needs_no_secrets(repository: Repository) -> None:
    assert run("clashes", CONFIG, folder=repository.folder).stdout == f"{CONFIG}: ok\n"
    repository.config(without_secrets, lambda config: bare(config).pop("apiVIPs"))
    assert run("clashes", CONFIG, folder=repository.folder).returncode == 2


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
def test_check_says_which_secrets_git_has_in_plain_text(repository: Repository, tracked: bool) -> None:
    """S21 of issue 43: the verdict stays that of openshift-install, which wants them there."""
    repository.config()
    other = repository.folder / "other.yaml"
    other.write_bytes((repository.folder / CONFIG).read_bytes())
    git(repository.folder, "init", "-q")
    if tracked:
        git(repository.folder, "add", "--all")
    done = run("check", CONFIG, "other.yaml", folder=repository.folder)
    assert (done.returncode, done.stdout) == (0, f"{CONFIG}: ok\nother.yaml: ok\n")
    paths = ["pullSecret", *(f"platform.baremetal.hosts[{index}].bmc.password" for index in range(5))]
    move = "move it into the stack: `okd-baremetal move-secrets prod`"
    fixes = {CONFIG: move, "other.yaml": "take this file out of git, which keeps it on disk: `git rm --cached FILE`"}
    said = [
        f"{file}: {path}: notice: in plain text, as it would be in each commit. Fix: {fix}"
        for file, fix in fixes.items()
        for path in paths
    ]
    assert done.stderr.splitlines() == (said if tracked else [])
    assert not any(secret in done.stderr for secret in SECRETS)


def test_the_fix_of_a_secret_in_git_keeps_the_file(repository: Repository) -> None:
    """S21 of issue 43."""
    repository.config()
    committed(repository.folder)
    git(repository.folder, "rm", "--quiet", "--cached", CONFIG)
    assert run("check", CONFIG, folder=repository.folder).stderr == ""
