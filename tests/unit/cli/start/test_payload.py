"""`okd-baremetal payload`: openshift-install generates the payload of a stack, which is then pinned."""

import fcntl
import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from payload.checks import Expected, check_payload
from payload.stack_payload import StackPayload
from testing import plans
from testing.command_line import run
from testing.fakes import openshift_install
from testing.git import git
from testing.install_configs import SECRETS, Change, host

FOLDER = "stacks/prod/payload"
NAMES = ("bootstrap", "master", "worker")
VIPS = (("192.168.111.5",), ("192.168.111.4",))
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
        pins = f'case "$2" in set-all) printf "%s\\n" "$@" >{folder}/pulumi;; esac'
        tool.write_text(
            f"#!/bin/sh\necho $2 >>{folder}/asked\n{pins}\ntest ! -e {folder}/$2.fails && cat {folder}/listed\n"
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
    def folders(self) -> set[str]:
        """The folders beside the install-config."""
        return {path.name for path in (self.folder / "stacks/prod").iterdir() if path.is_dir()}

    def keys(self, folder: str) -> bytes:
        return (self.folder / "stacks/prod" / folder / "auth/kubeconfig").read_bytes()

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
        state = json.loads((self.folder / FOLDER / openshift_install.STATE).read_text())
        loaded: dict[str, Any] = state[openshift_install.STATE_OF_CONFIG]["config"]
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


def test_a_payload_of_baremetal_is_made_without_owners_of_servers(stack: Stack) -> None:
    stack.options(platform="baremetal")
    done = stack.payload()
    assert done.returncode == 0, done.stderr
    assert "`pulumi up` in phase production waits for the bootstrap's end\n" in done.stdout
    assert "wait-for" not in done.stdout
    assert "rehearsal-only" not in json.dumps(stack.consumed), "no login of a BMC reaches openshift-install"
    options = plans.options(payload=stack.pinned, platform="baremetal")
    intent = plans.intent(options)
    contents = {name: (stack.folder / FOLDER / f"{name}.ign").read_bytes() for name in NAMES}
    values = {**intent.payload_values}
    expected = Expected(intent.domain, values, (), openshift_install.RELEASE, intent.platform, *VIPS)
    assert check_payload(Path(FOLDER), contents, expected, datetime.now(UTC)) == []


@pytest.mark.parametrize("value", ["BareMetal", "vsphere", "", 7], ids=str)
def test_a_payload_of_no_known_platform_is_refused(stack: Stack, value: object) -> None:
    stack.options(platform=value)
    done = stack.payload()
    assert (done.returncode, done.stderr) == (
        2,
        "stacks/Pulumi.prod.yaml: platform: not one of none, baremetal. Fix: write none or baremetal\n",
    )


def test_openshift_install_s_directory_stays_and_only_its_owner_reads_it(stack: Stack) -> None:
    before = os.umask(0)
    try:
        stack.payload()
    finally:
        os.umask(before)
    folder = stack.folder / FOLDER
    modes = {str(path.relative_to(folder)): oct(path.stat().st_mode & 0o777) for path in folder.rglob("*")}
    assert modes == {
        ".gitignore": "0o600",
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


def in_git(folder: Path) -> str:
    """Return what Git would commit of a folder."""
    git(folder, "init", "-q")
    return git(folder, "status", "--porcelain", "-uall", "stacks")


PINNED = (
    "stacks/Pulumi.prod.yaml: pins a payload{}; a second one has other certificates, with which no machine of the "
    f"first works. Fix: keep {FOLDER}, or put it there from where it was generated; if no machine runs with it, "
    "`pulumi config rm payload --stack prod`, and repeat: it is moved aside\n"
)


@pytest.mark.parametrize("has_folder", [True, False], ids=["here", "on-another-machine"])
def test_a_second_payload_of_a_stack_that_pins_one_is_refused(stack: Stack, has_folder: bool) -> None:
    stack.payload()
    digests = stack.digests
    stack.options(payload=stack.pinned)
    if not has_folder:
        (stack.folder / FOLDER).rename(stack.folder / "elsewhere")
    done = stack.payload()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == PINNED.format("" if has_folder else f" and {FOLDER} is not here")
    assert not has_folder or stack.digests == digests
    assert stack.folders == ({"payload"} if has_folder else set())


def test_encrypted_pins_are_pins(stack: Stack) -> None:
    stack.options(payload={"secure": "v1:x"})
    assert stack.payload().stderr == PINNED.format(f" and {FOLDER} is not here")


def test_keys_that_no_stack_pins_are_moved_aside(stack: Stack) -> None:
    """Pins lost by a branch switch; and the fix of a second payload, done as it says."""
    stack.payload()
    (stack.folder / FOLDER / "notes").write_text("of the operator")
    os.utime(stack.folder / FOLDER, (1_800_000_000, 1_800_000_000))
    before = stack.keys("payload")
    done = stack.payload()
    aside = "payload-20270115T080000Z"
    assert done.returncode == 0, done.stderr
    assert f"{FOLDER} was there, and pinned by no stack: it is stacks/prod/{aside} now\n" in done.stdout
    assert stack.folders == {"payload", aside}
    assert stack.keys(aside) == before
    assert stack.keys("payload") != before
    assert (stack.folder / "stacks/prod" / aside / "notes").read_text() == "of the operator"
    assert stack.pinned == stack.digests


def test_two_folders_of_one_second_are_both_there(stack: Stack) -> None:
    for _ in range(3):
        stack.payload()
        os.utime(stack.folder / FOLDER, (1_800_000_000, 1_800_000_000))
    assert stack.folders == {"payload", "payload-20270115T080000Z", "payload-20270115T080000Z-2"}


def test_git_sees_no_key_whatever_the_repository_ignores(stack: Stack) -> None:
    for _ in range(2):
        stack.payload()
    assert in_git(stack.folder).split() == [
        "??", "stacks/Pulumi.prod.yaml", "??", "stacks/prod/install-config.yaml"
    ]  # fmt: skip


@pytest.mark.parametrize("question", ["--json", "set-all"], ids=["before", "at-the-end"])
def test_what_cannot_be_pinned_is_not_generated_or_stays(stack: Stack, question: str) -> None:
    """`pulumi login`, a stack that Pulumi does not have; or Pulumi fails when it writes."""
    (stack.folder / f"{question}.fails").touch()
    done = stack.payload()
    assert done.returncode == 2
    assert "stacks/Pulumi.prod.yaml: pulumi config failed" in done.stderr
    assert stack.folders == ({"payload"} if question == "set-all" else set())
    assert ("generated, but not pinned; a repeated call moves it aside" in done.stderr) is (question == "set-all")


def test_an_option_file_that_cannot_be_written_is_known_first(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    done = stack.payload()
    assert done.stderr == "stacks/Pulumi.prod.yaml: cannot be written. Fix: make it writable for this user\n"
    assert stack.folders == set()


def test_what_a_killed_run_left_is_named_and_moved_aside(stack: Stack) -> None:
    left = stack.folder / "stacks/prod/.payload-x"
    (left / "auth").mkdir(parents=True)
    (left / "auth/kubeconfig").write_text("a key")
    os.utime(left, (1_800_000_000, 1_800_000_000))
    done = stack.payload()
    aside = "stacks/prod/payload-20270115T080000Z"
    assert done.stderr.startswith(f"{aside}: left by a run that was killed, with keys that no stack pins\n")
    assert (stack.folder / aside / "auth/kubeconfig").read_text() == "a key"
    assert stack.folders == {"payload", "payload-20270115T080000Z"}


def test_a_second_run_at_the_same_time_is_refused(stack: Stack) -> None:
    at_work = stack.folder / "stacks/prod/.payload-x"
    at_work.mkdir()
    descriptor = os.open(at_work, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        done = stack.payload()
    finally:
        os.close(descriptor)
    what = "another run generates a payload there. Fix: wait for that run, or end it\n"
    assert (done.returncode, done.stderr) == (2, f"stacks/prod/.payload-x: {what}")
    assert stack.folders == {".payload-x"}


def test_without_openshift_install_the_lines_to_run_by_hand_are_printed(stack: Stack) -> None:
    done = stack.payload(PATH="/nonexistent")
    assert done.returncode == 2
    assert done.stderr == ("openshift-install: not on PATH. Fix: put it there, or run the lines above where it is\n")
    assert f"umask 077 && mkdir {FOLDER} &&\n" in done.stdout, "not into a folder that is there"
    assert f"openshift-install create ignition-configs --dir {FOLDER} &&\n" in done.stdout
    assert not (stack.folder / FOLDER).exists()


def test_a_failure_is_shown_without_secrets_and_leaves_nothing(stack: Stack) -> None:
    auth = SECRETS[1]
    quoted = json.dumps(plans.install_config()["pullSecret"])
    done = stack.payload(FAILS=f"pullSecret: Invalid value: {quoted} is wrong")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "openshift-install create ignition-configs: exit code 3: failed to fetch Ignition Configs: "
    )
    assert last.endswith("is wrong. Fix: correct what it names in stacks/prod/install-config.yaml, and repeat")
    assert auth not in done.stdout + done.stderr
    assert "[masked]" in last
    assert {each.name for each in (stack.folder / "stacks/prod").iterdir()} == {"install-config.yaml"}
    assert not (stack.folder / "pulumi").exists()


def test_an_error_of_two_lines_is_told_whole_with_its_fix(stack: Stack) -> None:
    """fips-rsa-key."""
    stack.config(lambda c: (c.update(fips=True), c.pop("sshKey")))
    last = stack.payload().stderr.splitlines()[-1]
    assert "fips: Forbidden: target cluster is in FIPS mode, use the FIPS-capable installer binary for RHEL 9" in last
    assert "extract the openshift-install-fips command from the release payload." in last
    assert last.partition(". Fix: ")[2] == (
        "on a host of RHEL 9 in FIPS mode, put openshift-install-fips of the release on PATH, named "
        "openshift-install, and repeat"
    )
    assert stack.payload(OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION="1").returncode == 0


def of_arm64(config: dict[str, Any]) -> None:
    config["compute"][0]["architecture"] = "arm64"


def test_servers_of_another_architecture_than_the_release_are_refused(stack: Stack) -> None:
    """compute-arm64: the payload of none has amd64 for compute, so openshift-install cannot tell."""
    stack.config(of_arm64)
    done = stack.payload()
    assert (done.returncode, done.stderr) == (
        2,
        "stacks/prod/install-config.yaml: compute[0].architecture: notice: arm64 beside amd64 needs a release image "
        "of several architectures\n"
        "stacks/prod/install-config.yaml: compute[0].architecture: arm64, but the release of the openshift-install "
        "on PATH is for amd64 only. Fix: put the openshift-install of a release for several architectures on PATH: "
        "`openshift-install version` prints multi\n",
    )
    assert stack.folders == set()
    assert stack.payload(ARCHITECTURE="multi").returncode == 0, "as the fix says"


OTHER_RELEASE = f"registry.lab.test/okd/release@sha256:{'6f' * 32}"


def test_a_release_that_is_not_the_stacks_is_refused(stack: Stack) -> None:
    stack.options(images={"release": OTHER_RELEASE})
    done = stack.payload()
    assert (done.returncode, done.stderr) == (
        2,
        f"stacks/Pulumi.prod.yaml: images.release: {OTHER_RELEASE}, but the payload would be of "
        f"{openshift_install.RELEASE}. Fix: `pulumi config set --stack prod --path images.release "
        f"{openshift_install.RELEASE}`, or put the openshift-install of that release on PATH\n",
    )
    assert stack.payload(OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE=OTHER_RELEASE).returncode == 0


def test_the_release_that_the_environment_names_is_that_of_the_payload(stack: Stack) -> None:
    stack.options(images={"release": openshift_install.RELEASE})
    done = stack.payload(OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE=OTHER_RELEASE)
    assert done.returncode == 2
    assert f"but the payload would be of {OTHER_RELEASE}. Fix: " in done.stderr
    assert done.stderr.endswith("or unset OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE\n")


def test_a_payload_passes_the_checks_of_its_stack(stack: Stack) -> None:
    stack.payload()
    files = {name: (stack.folder / FOLDER / f"{name}.ign").read_bytes() for name in NAMES}
    plan = plans.plan(images={"release": openshift_install.RELEASE})
    payload = StackPayload.of(plan, "prod", [])
    assert check_payload(Path(FOLDER), files, payload.expected, datetime.now(UTC)) == []


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
    for name in ("99-site.yaml", "99-site.yml", "99-site.json"):
        (stack.folder / "mine" / name).write_text("kind: ConfigMap\n")
    (stack.folder / "mine" / "notes.txt").write_text("none")
    assert stack.payload("--manifests", "mine").returncode == 0
    written = json.loads((stack.folder / FOLDER / "bootstrap.ign").read_text())["storage"]["files"]
    ours = {each["path"]: each["contents"]["source"] for each in written if "99-site" in each["path"]}
    assert [*ours] == [f"/opt/openshift/openshift/99-site.{ending}" for ending in ("json", "yaml", "yml")]
    assert not any("notes" in each["path"] for each in written)
    assert stack.pinned == stack.digests


def test_a_folder_without_manifests_is_refused(stack: Stack) -> None:
    done = stack.payload("--manifests", "bin")
    assert (done.returncode, done.stderr) == (
        2,
        "--manifests: no *.yaml, no *.yml, no *.json in bin. Fix: name the folder that has them\n",
    )


def test_payload_config_takes_the_stacks_pull_secret(stack: Stack) -> None:
    stack.config(lambda c: c.pop("pullSecret"))
    stack.options(pull_secret=PULL_SECRET)
    words = ("payload-config", "stacks/prod/install-config.yaml", "--stack", "prod")
    done = run(*words, folder=stack.folder)
    assert (done.returncode, yaml.safe_load(done.stdout)["pullSecret"]) == (0, PULL_SECRET)
