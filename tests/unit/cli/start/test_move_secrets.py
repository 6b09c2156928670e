"""`okd-baremetal move-secrets`: the secrets of an install-config go into the stack (case 4 of issue 40)."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.install_configs import SECRETS, Change, bare, host

CONFIG, STACK = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml"
PULUMI = """\
#!/bin/sh
if [ "$2" = --show-secrets ]; then cat {folder}/listed; exit; fi
echo "$* $(cat)" >>{folder}/pulumi
exit $(cat {folder}/code)
"""


class Stack:
    """The stack `prod`, with a stand-in of Pulumi on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stacks" / "prod").mkdir(parents=True)
        (folder / "bin").mkdir()
        tool = folder / "bin" / "pulumi"
        tool.write_text(PULUMI.format(folder=folder))
        tool.chmod(0o755)
        (folder / "code").write_text("0")
        self.options()
        self.config()

    def config(self, change: Change = lambda _: None) -> str:
        """Write the install-config, with comments, and return its text."""
        config = plans.install_config()
        change(config)
        text = "# mine\n" + yaml.safe_dump(config, sort_keys=False).replace("platform:", "platform: # mine, too")
        (self.folder / CONFIG).write_text(text)
        (self.folder / CONFIG).chmod(0o600)
        return text

    def options(self, **options: Any) -> None:
        config = {f"okd-baremetal:{name}": value for name, value in options.items()}
        (self.folder / STACK).write_text(yaml.safe_dump({"config": config}))

    def move(self) -> CompletedProcess[str]:
        done = run("move-secrets", "prod", folder=self.folder, PATH=f"{self.folder}/bin:/bin:/usr/bin")
        assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
        return done

    @property
    def text(self) -> str:
        return (self.folder / CONFIG).read_text()

    @property
    def calls(self) -> list[str]:
        log = self.folder / "pulumi"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def test_all_secrets_go_to_pulumi_and_nothing_else_of_the_file_changes(stack: Stack) -> None:
    before = stack.text
    pull_secret = plans.install_config()["pullSecret"]
    assert stack.move().returncode == 0
    wanted = (
        before.replace(f"'{pull_secret}'", '""')
        .replace("rehearsal-only", '""')
        .replace("username: admin", 'username: ""')
    )
    assert stack.text == wanted
    assert (stack.folder / CONFIG).stat().st_mode & 0o777 == 0o600
    end = "--stack prod --non-interactive"
    logins = [
        f"config set --secret --path bmc_credentials.{name}.{key} {end} {text}"
        for name in plans.HOSTS
        for key, text in (("username", "admin"), ("password", "rehearsal-only"))
    ]
    assert stack.calls == [f"config set --secret --path pull_secret {end} {pull_secret}", *logins]


def test_no_secret_is_an_argument_that_other_users_see(stack: Stack) -> None:
    stack.move()
    arguments = [call.partition("--non-interactive")[0] for call in stack.calls]
    assert len(arguments) == 11
    assert not any(secret in line for line in arguments for secret in SECRETS)


def test_what_the_stack_has_stays_there(stack: Stack) -> None:
    stack.options(pull_secret={"secure": "a"}, bmc_credentials={"okd-master-0": {"password": {"secure": "b"}}})
    logins = {"okd-master-0": {"password": "another"}}
    listed = {"okd-baremetal:pull_secret": {"value": "{}"}, "okd-baremetal:bmc_credentials": {"objectValue": logins}}
    (stack.folder / "listed").write_text(json.dumps(listed))
    done = stack.move()
    assert f"{STACK}: pull_secret: unchanged\n" in done.stdout
    assert f"{STACK}: bmc_credentials.okd-master-0.password: unchanged\n" in done.stdout
    assert len(stack.calls) == 9
    assert not any(secret in stack.text for secret in SECRETS)


def test_a_failure_of_pulumi_leaves_the_file_as_it_is(stack: Stack) -> None:
    before = stack.text
    (stack.folder / "code").write_text("255")
    done = stack.move()
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"{STACK}: pulumi config failed: ")
    assert stack.text == before


def test_a_second_call_has_nothing_to_do(stack: Stack) -> None:
    stack.move()
    first, calls = stack.text, len(stack.calls)
    done = stack.move()
    assert (done.returncode, done.stdout) == (0, f"{CONFIG}: no secret that a stack can have\n")
    assert (stack.text, len(stack.calls)) == (first, calls)


def test_a_name_with_a_dot_is_one_key_of_the_path(stack: Stack) -> None:
    stack.config(lambda config: host(config).update(name="a.b"))
    stack.move()
    assert any(' bmc_credentials["a.b"].password ' in call for call in stack.calls)


def test_logins_of_an_anchor_are_moved_for_each_host(stack: Stack) -> None:
    text = stack.text.replace("password: rehearsal-only", "password: &one rehearsal-only", 1)
    head, _, tail = text.partition("&one rehearsal-only")
    (stack.folder / CONFIG).write_text(f"{head}&one rehearsal-only{tail.replace('rehearsal-only', '*one')}")
    assert stack.move().returncode == 0
    assert len([call for call in stack.calls if call.endswith(" rehearsal-only")]) == 5
    assert {section["bmc"]["password"] for section in bare(yaml.safe_load(stack.text))["hosts"]} == {""}


def test_a_byte_order_mark_moves_no_place_of_a_secret(stack: Stack) -> None:
    (stack.folder / CONFIG).write_text(f"\ufeff{stack.text}")
    assert stack.move().returncode == 0
    assert not any(secret in stack.text for secret in SECRETS)
    assert {section["bmc"]["password"] for section in bare(yaml.safe_load(stack.text))["hosts"]} == {""}


def test_the_ends_of_lines_stay(stack: Stack) -> None:
    file = stack.folder / CONFIG
    file.write_bytes(stack.text.replace("\n", "\r\n").encode())
    before = file.read_bytes().splitlines(keepends=True)
    assert stack.move().returncode == 0
    changed = [
        old for old, new in zip(before, file.read_bytes().splitlines(keepends=True), strict=True) if old != new
    ]
    assert {line.strip().partition(b":")[0] for line in changed} == {b"pullSecret", b"username", b"password"}


def test_a_name_that_is_a_login_by_an_alias_is_refused(stack: Stack) -> None:
    name = plans.HOSTS[0]
    text = stack.text.replace(f"name: {name}\n", f"name: &one {name}\n").replace(
        "username: admin", "username: *one", 1
    )
    (stack.folder / CONFIG).write_text(text)
    done = stack.move()
    assert (done.returncode, stack.text, stack.calls) == (2, text, [])
    assert done.stderr.startswith(f"{CONFIG}: platform.baremetal.hosts[0].name: is a secret's text, by an anchor")


def test_a_file_that_check_refuses_is_refused_before_anything_is_moved(stack: Stack) -> None:
    before = stack.config(lambda config: config.pop("baseDomain"))
    done = stack.move()
    assert (done.returncode, stack.text, stack.calls) == (2, before, [])
    assert done.stderr.startswith(f"{CONFIG}: baseDomain: missing")
