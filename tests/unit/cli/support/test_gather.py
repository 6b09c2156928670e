"""`okd-baremetal gather`: one archive of all that can be reached, with why the rest is not there, and no secret."""

import base64
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

import cli.inspect.render
from cli.support import bootstrap_journals
from cluster.plan.model import Keyfile
from testing.command_line import run
from tests.unit.cli.test_bmc import CANARY, FILE, Site, site_of

PULLED = "canary-of-the-registry"
AUTH = base64.b64encode(f"user:{PULLED}".encode()).decode()
ENCRYPTED, CIPHERTEXT = "canary-of-an-encrypted-option", "v1:canary-of-ciphertext"
KUBEADMIN, CLIENT_KEY = "canary-of-kubeadmin", "Y2FuYXJ5LW9mLWEtY2xpZW50"
IGNITION = "canary-of-ignition"
NETWORK = "canary-of-a-supplicant"
SECRETS = (CANARY, PULLED, AUTH, ENCRYPTED, CIPHERTEXT, KUBEADMIN, CLIENT_KEY, NETWORK, IGNITION)
DEAD = "redfish-virtualmedia+https://127.0.0.1:1/redfish/v1/Systems/1"
TIME = "2026-11-23T045857.889Z"
OPTIONS = {
    "bootstrap": {"address": "192.168.111.20"},
    "node_addresses": {f"h{index}": [f"192.168.111.3{index}"] for index in range(3)},
    "images": {"release": f"quay.io/okd/release@sha256:{'ab' * 32}"},
}
LOG = f"log/prod/{TIME}.jsonl"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A project with secrets in each of its files, whose third BMC does not answer, and whose VM has no console."""
    with site_of(tmp_path, hosts=3) as site:
        config = yaml.safe_load((tmp_path / FILE).read_text())
        config["pullSecret"] = json.dumps({"auths": {"quay.io": {"auth": AUTH}}})
        config["platform"]["baremetal"]["hosts"][2]["bmc"]["address"] = DEAD
        supplicant = {"interfaces": [{"name": "eth0", "type": "ethernet", "802.1x": {"password": NETWORK}}]}
        config["platform"]["baremetal"]["hosts"][0]["networkConfig"] = supplicant
        (tmp_path / FILE).write_text(yaml.safe_dump(config))
        keyfile = Keyfile(name="eth0.nmconnection", text=f"password={NETWORK}\n", secret=True)
        monkeypatch.setattr(cli.inspect.render, "keyfiles_of", lambda _: (keyfile,))
        login = {"username": "operator", "password": {"secure": CIPHERTEXT}}
        site.options(bmc_credentials={"h2": login}, **OPTIONS)
        opened = {"h2": {"username": "operator", "password": ENCRYPTED}}
        known = {"bmc_ca": {"value": site.fleet.ca}, "bmc_credentials": {"value": "", "objectValue": opened}}
        for name, text in {
            "payload/auth/kubeadmin-password": KUBEADMIN,
            "payload/auth/kubeconfig": yaml.safe_dump({"users": [{"user": {"client-key-data": CLIENT_KEY}}]}),
            "payload/master.ign": IGNITION,
        }.items():
            path = tmp_path / "stacks" / "prod" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / LOG).parent.mkdir(parents=True)
        (tmp_path / LOG).write_text(json.dumps({"event": "step", "text": f"a step {' '.join(SECRETS[:-1])}"}) + "\n")
        listed = {f"okd-baremetal:{name}": value for name, value in known.items()}
        (tmp_path / "listed").write_text(json.dumps(listed))
        tool(
            tmp_path, "pulumi", f'case $1 in config) cat {tmp_path}/listed;; *) echo \'{{"api": "[secret]"}}\';; esac'
        )
        monkeypatch.setattr(bootstrap_journals, "CONSOLES", tmp_path)
        monkeypatch.setattr(bootstrap_journals, "connect_problem", lambda *_, **__: "timed out")
        yield site


def tool(folder: Path, name: str, script: str) -> None:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / name).chmod(0o755)


def gathered(site: Site, *words: str) -> tuple[CompletedProcess[str], dict[str, str]]:
    """Return the command's end, and the archive's files without their common folder."""
    path = f"{site.folder}/bin:/usr/bin:/bin"
    done = run("gather", "prod", "--out", "of-prod.tar.gz", *words, folder=site.folder, PATH=path)
    with tarfile.open(site.folder / "of-prod.tar.gz") as archive:
        members = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        texts = {name.removeprefix("of-prod/"): file.read().decode() for name, file in members.items() if file}
    return done, texts


def row(index: str, part: str) -> str:
    (line,) = [line for line in index.splitlines() if line.startswith(f"| {part} |")]
    return line.removeprefix(f"| {part} | ").removesuffix(" |")


def test_the_secrets_of_a_refused_install_config_are_masked_too(project: Site) -> None:
    file = project.folder / FILE
    file.write_text(f"{file.read_text()}baseDomain: there.twice\n")
    _, files = gathered(project)
    assert "a duplicate key" in row(files["index.md"], "inputs")
    assert files[LOG]
    assert [secret for secret in SECRETS for text in files.values() if secret in text] == []


def test_the_archive_has_what_is_reachable_and_says_why_the_rest_is_not(project: Site) -> None:
    done, files = gathered(project)
    assert (done.returncode, done.stdout) == (
        0, f"of-prod.tar.gz: {len(files)} files. Read them before you send it.\n"
    )  # fmt: skip
    assert {"index.md", LOG, FILE, "stacks/Pulumi.prod.yaml", "plan.json", "outputs.json", "versions.txt"} < {*files}
    assert {name for name in files if name.startswith("bmc/")} == {"bmc/h0.json", "bmc/h1.json"}
    assert json.loads(files["bmc/h0.json"])["resources"]
    index = files["index.md"]
    assert row(index, "bmcs") == "bmc/: captures of 2 of 3 hosts"
    assert "connection refused" in row(index, "bmc of h2")
    assert row(index, "console") == (
        f"not there: {project.folder}/okd-bootstrap-serial0.log: cannot be read (No such file or directory)"
    )
    assert row(index, "journals").startswith("not there: bootstrap VM: ")
    assert row(index, "files").endswith(
        " files as `okd-baremetal render` writes them; masked, as they hold a secret: 1"
    )
    assert any(name.startswith("files/bootstrap/") for name in files)
    assert files["files/hosts/h0/etc/NetworkManager/system-connections/eth0.nmconnection"] == "[masked]\n"
    assert [project.fleet.figures(each).writes for each in (0, 1)] == [[], []]
    assert (project.folder / "of-prod.tar.gz").stat().st_mode & 0o777 == 0o600


def test_no_secret_of_the_inputs_is_in_any_file_of_it(project: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap_journals, "connect_problem", lambda *_, **__: None)
    tool(project.folder, "ssh", f"echo joined with {' '.join(SECRETS[:-1])}; echo 'data:;base64,{IGNITION}'")
    done, files = gathered(project)
    assert set(files) >= {"bootstrap/bootkube.log", "bootstrap/okd.log", "bootstrap/failed-units.log"}
    everything = "\n".join([done.stdout, done.stderr, *files.values()])
    assert [secret for secret in SECRETS if secret in everything] == []
    assert files[LOG].count("[masked]") == len(SECRETS[:-1])
    config = yaml.safe_load(files[FILE])
    assert (config["pullSecret"], config["sshKey"][:11]) == ("[masked]", "ssh-ed25519")
    options = yaml.safe_load(files["stacks/Pulumi.prod.yaml"])["config"]
    assert options["okd-baremetal:bmc_credentials"]["h2"]["password"] == "[masked]"


def test_ssh_never_asks_a_question(project: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap_journals, "connect_problem", lambda *_, **__: None)
    tool(project.folder, "ssh", "case $* in *BatchMode=yes*) ;; *) echo asks for a password >&2; exit 1 ;; esac")
    _, files = gathered(project)
    assert row(files["index.md"], "journals").startswith("bootstrap/: ")


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("no route", ""),
        ("Permission denied", ". Fix: give your ssh agent the key that belongs to sshKey of install-config.yaml"),
    ],
)
def test_a_vm_that_cannot_be_asked_is_said_with_what_to_do(
    project: Site, monkeypatch: pytest.MonkeyPatch, said: str, fix: str
) -> None:
    monkeypatch.setattr(bootstrap_journals, "connect_problem", lambda *_, **__: None)
    tool(project.folder, "ssh", f"echo 'ssh: {said}' >&2; exit 255")
    _, files = gathered(project)
    assert row(files["index.md"], "journals").endswith(f"failed: ssh: {said}{fix}")


def test_without_pulumi_the_rest_is_gathered(project: Site) -> None:
    (project.folder / "bin" / "pulumi").unlink()
    _, files = gathered(project)
    for part in ("encrypted", "outputs", "bmcs"):
        assert row(files["index.md"], part).startswith("not there: pulumi is not in PATH")
    assert "plan.json" in files


def test_a_wrong_install_config_hides_neither_logs_nor_versions(project: Site) -> None:
    (project.folder / FILE).write_text("a: [")
    _, files = gathered(project)
    assert {LOG, "versions.txt", "index.md"} == {*files} - {"outputs.json"}
    assert "not valid YAML at line" in row(files["index.md"], "inputs")


def test_an_archive_that_exists_stays_as_it_is(project: Site) -> None:
    (project.folder / "of-prod.tar.gz").write_text("mine")
    done = run("gather", "prod", "--out", "of-prod.tar.gz", folder=project.folder)
    assert (done.returncode, done.stderr) == (
        2, "of-prod.tar.gz: exists already. Fix: name another --out\n"
    )  # fmt: skip
    assert (project.folder / "of-prod.tar.gz").read_text() == "mine"


def test_a_console_log_of_the_vm_is_there(project: Site) -> None:
    (project.folder / "okd-bootstrap-serial0.log").write_text("ready\npassword: hunter2\n")
    _, files = gathered(project)
    assert files["bootstrap/console.log"] == "ready\npassword: [masked]\n"
