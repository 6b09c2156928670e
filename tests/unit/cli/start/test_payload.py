"""`okd-baremetal payload`: openshift-install generates the payload of a stack, which is then pinned."""

import hashlib
import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.fakes import openshift_install
from testing.install_configs import SECRETS, Change, host

FOLDER = "stacks/prod/payload"
NAMES = ("bootstrap", "master", "worker")
PULL_SECRET = '{"auths": {"registry.example.com": {"auth": "c2VjcmV0OnNlY3JldA=="}}}'


class Stack:
    """The stack `prod`, with stand-ins of openshift-install and Pulumi on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stacks" / "prod").mkdir(parents=True)
        self.config(lambda _: None)
        self.options()
        self.path = openshift_install.put_on_path(folder / "bin")
        tool = folder / "bin" / "pulumi"
        tool.write_text(
            f'#!/bin/sh\nfor last; do :; done\nprintf "%s\\n" "$@" >> {folder}/pulumi\ncat {folder}/listed\n'
        )
        tool.chmod(0o755)
        (folder / "listed").write_text("")

    def config(self, change: Change) -> None:
        config = plans.install_config()
        change(config)
        (self.folder / "stacks/prod/install-config.yaml").write_text(yaml.safe_dump(config))

    def options(self, **options: Any) -> None:
        text = yaml.safe_dump({"config": {f"okd-baremetal:{name}": value for name, value in options.items()}})
        (self.folder / "stacks/Pulumi.prod.yaml").write_text(text)

    def payload(self, *words: object, **environment: str) -> CompletedProcess[str]:
        return run("payload", "prod", *words, folder=self.folder, **{**self.path, **environment})

    @property
    def digests(self) -> dict[str, str]:
        found = {name: (self.folder / FOLDER / f"{name}.ign").read_bytes() for name in NAMES}
        return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}

    @property
    def pinned(self) -> Any:
        """What Pulumi was told to write."""
        words = (self.folder / "pulumi").read_text().splitlines()
        assert words[:3] == ["config", "set-all", "--json"]
        assert words[4:] == ["--stack", "prod", "--non-interactive"]
        return json.loads(words[3])["okd-baremetal:payload"]["objectValue"]

    @property
    def consumed(self) -> dict[str, Any]:
        """The install-config that openshift-install read."""
        loaded: dict[str, Any] = json.loads((self.folder / FOLDER / openshift_install.STATE).read_text())
        return loaded


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def test_the_payload_is_generated_kept_and_pinned(stack: Stack) -> None:
    done = stack.payload()
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{FOLDER}: bootstrap.ign, master.ign, worker.ign, pinned in stacks/Pulumi.prod.yaml\n"
        f"{FOLDER}/auth/kubeconfig: the cluster's administrator\n"
        "complete the installation within 24 hours: openshift-install wait-for bootstrap-complete "
        f"--dir {FOLDER}\n"
    )
    assert stack.pinned == stack.digests
    assert stack.consumed["platform"] == {"none": {}}
    assert stack.consumed["pullSecret"] == plans.install_config()["pullSecret"]
    assert "Consuming Install Config" in done.stderr


def test_openshift_install_s_directory_stays_and_only_its_owner_reads_it(stack: Stack) -> None:
    before = os.umask(0)
    try:
        stack.payload()
    finally:
        os.umask(before)
    folder = stack.folder / FOLDER
    modes = {str(path.relative_to(folder)): oct(path.stat().st_mode & 0o777) for path in folder.rglob("*")}
    assert modes == {
        ".openshift_install.log": "0o600",
        ".openshift_install_state.json": "0o600",
        "auth": "0o700",
        "auth/kubeadmin-password": "0o600",
        "auth/kubeconfig": "0o600",
        "bootstrap.ign": "0o600",
        "master.ign": "0o600",
        "metadata.json": "0o600",
        "worker.ign": "0o600",
    }
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    assert {each.name for each in folder.parent.iterdir()} == {"install-config.yaml", "payload"}


def test_a_pinned_payload_is_never_replaced(stack: Stack) -> None:
    stack.payload()
    digests = stack.digests
    stack.options(payload={**digests, "bootstrap": "0" * 64})
    done = stack.payload()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{FOLDER}/master.ign: there already, and pinned in stacks/Pulumi.prod.yaml; a second payload has other "
        f"certificates. Fix: if no machine runs with it, remove it first: rm -r {FOLDER}\n"
    )
    assert stack.digests == digests


def test_a_payload_that_no_digest_names_is_replaced(stack: Stack) -> None:
    stack.payload()
    digests = stack.digests
    stack.options(payload=dict.fromkeys(NAMES, "0" * 64))
    assert stack.payload().returncode == 0
    assert {*stack.digests.values()}.isdisjoint(digests.values())


def test_without_openshift_install_the_lines_to_run_by_hand_are_printed(stack: Stack) -> None:
    done = stack.payload(PATH="/nonexistent")
    assert done.returncode == 2
    assert done.stderr == ("openshift-install: not on PATH. Fix: put it there, or run the lines above where it is\n")
    assert f"openshift-install create ignition-configs --dir {FOLDER}\n" in done.stdout
    assert not (stack.folder / FOLDER).exists()


def test_a_failure_is_shown_without_secrets_and_leaves_nothing(stack: Stack) -> None:
    auth = SECRETS[1]
    quoted = json.dumps(plans.install_config()["pullSecret"])
    done = stack.payload(FAILS=f'invalid "install-config.yaml" file: pullSecret: Invalid value: {quoted} is wrong')
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("openshift-install create ignition-configs: exit code 3: level=error msg=failed to fetch")
    assert last.endswith("is wrong. Fix: correct what it names in the install-config, and repeat")
    assert auth not in done.stdout + done.stderr
    assert "[masked]" in last
    assert {each.name for each in (stack.folder / "stacks/prod").iterdir()} == {"install-config.yaml"}
    assert not (stack.folder / "pulumi").exists()


def test_an_invalid_install_config_is_refused_before_anything_runs(stack: Stack) -> None:
    stack.config(lambda c: c.pop("baseDomain"))
    done = stack.payload()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("stacks/prod/install-config.yaml: baseDomain: missing. Fix: ")


def test_the_stacks_pull_secret_comes_in_place_of_the_files(stack: Stack) -> None:
    stack.config(lambda c: (c.pop("pullSecret"), host(c)["bmc"].pop("password")))
    stack.options(pull_secret={"secure": "v1:x"})
    (stack.folder / "listed").write_text(
        json.dumps({"okd-baremetal:pull_secret": {"value": f"{PULL_SECRET}\n", "secret": True}})
    )
    done = stack.payload()
    assert done.returncode == 0, done.stderr
    assert stack.consumed["pullSecret"] == PULL_SECRET
    assert "c2VjcmV0OnNlY3JldA==" not in done.stdout + done.stderr


def test_a_pull_secret_that_is_none_is_refused(stack: Stack) -> None:
    stack.options(pull_secret="not JSON")
    done = stack.payload()
    assert done.returncode == 2
    assert done.stderr.startswith("stacks/Pulumi.prod.yaml: pull_secret: is not JSON. Fix: write ")


def test_without_any_pull_secret_the_option_is_named(stack: Stack) -> None:
    stack.config(lambda c: c.pop("pullSecret"))
    done = stack.payload()
    assert done.returncode == 2
    assert "stacks/prod/install-config.yaml: pullSecret: missing. Fix: " in done.stderr
    assert "`pulumi config set --secret pull_secret <FILE`" in done.stderr


def test_manifests_of_the_site_are_in_the_payload(stack: Stack) -> None:
    (stack.folder / "mine").mkdir()
    (stack.folder / "mine" / "99-site.yaml").write_text("kind: ConfigMap\n")
    (stack.folder / "mine" / "notes.txt").write_text("none")
    assert stack.payload("--manifests", "mine").returncode == 0
    written = json.loads((stack.folder / FOLDER / "bootstrap.ign").read_text())["storage"]["files"]
    ours = {each["path"]: each["contents"]["source"] for each in written if "99-site" in each["path"]}
    assert [*ours] == ["/opt/openshift/openshift/99-site.yaml"]
    assert not any("notes" in each["path"] for each in written)
    assert stack.pinned == stack.digests


def test_a_folder_without_manifests_is_refused(stack: Stack) -> None:
    done = stack.payload("--manifests", "bin")
    assert (done.returncode, done.stderr) == (
        2,
        "--manifests: no *.yaml in bin. Fix: name the folder that has them\n",
    )


def test_payload_config_takes_the_stacks_pull_secret(stack: Stack) -> None:
    stack.config(lambda c: c.pop("pullSecret"))
    stack.options(pull_secret=PULL_SECRET)
    words = ("payload-config", "stacks/prod/install-config.yaml", "--stack", "prod")
    done = run(*words, folder=stack.folder)
    assert (done.returncode, yaml.safe_load(done.stdout)["pullSecret"]) == (0, PULL_SECRET)
