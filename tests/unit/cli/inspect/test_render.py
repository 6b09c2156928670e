"""`okd-baremetal render …` as an operator calls it."""

import gzip
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from assets.render import render
from cli.inspect.render import own_configs
from cluster.plan import ClusterPlan
from lab.inventory import load_site
from lab.payload import make_payload, write_payload
from testing import clusters, plans
from testing.checkout import ROOT
from testing.command_line import run, run_process
from testing.golden import BASE, accepted_tree, files_below
from testing.install_configs import SECRETS, Change, bare
from tests.unit.cli.inspect.test_tree import IGNITIONS

INSTALL_CONFIG = "stacks/rehearsal/install-config.yaml"
STACK = ("--stack", "rehearsal")
NO_PAYLOAD = "no --payload: no Ignition config is written\n"
FIX = "set it in the stack's options and give --stack, or try with --sample-addresses"


def written(path: Path, change: Change) -> Path:
    config = plans.install_config()
    change(config)
    path.write_text(yaml.safe_dump(config))
    return path


def unpacked(config: bytes) -> Iterator[bytes]:
    """Return a composed config and its two children."""
    yield config
    for child in json.loads(config)["ignition"]["config"]["merge"]:
        yield gzip.decompress(b64decode(child["source"].partition(";base64,")[2]))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="session")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rehearsal's payload."""
    folder = tmp_path_factory.mktemp("payload")
    write_payload(make_payload(load_site()), folder)
    return folder


def test_the_rehearsals_tree_equals_the_golden_one(out: Path) -> None:
    done = run("render", INSTALL_CONFIG, *STACK, "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}: 67 files, 0 Ignition configs\n", NO_PAYLOAD)
    assert files_below(out) == accepted_tree(BASE)
    again = run("render", INSTALL_CONFIG, *STACK, "--out", out)
    refusal = f"{NO_PAYLOAD}{out}: exists already. Fix: name another directory\n"
    assert (again.returncode, again.stdout, again.stderr) == (2, "", refusal)


def test_with_a_payload_each_machine_has_its_ignition(out: Path, payload: Path, plan: ClusterPlan) -> None:
    done = run("render", INSTALL_CONFIG, *STACK, "--payload", payload, "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}: 67 files, 6 Ignition configs\n", "")
    found = files_below(out)
    assert found.keys() - accepted_tree(BASE).keys() == IGNITIONS
    ours = own_configs(plan, render(plan))
    for path in IGNITIONS:
        assert (out / path).stat().st_mode & 0o777 == 0o600
        _, first, last = unpacked(found[path])
        assert first == (payload / Path(path).name).read_bytes()
        assert last.decode() == ours[path]


def test_no_file_holds_a_secret_of_the_install_config(out: Path, payload: Path) -> None:
    assert all(secret in Path(plans.INSTALL_CONFIG).read_text() for secret in SECRETS)
    done = run("render", INSTALL_CONFIG, *STACK, "--payload", payload, "--out", out)
    ours = [content for path, content in files_below(out).items() if path not in IGNITIONS]
    composed = [part for path in IGNITIONS for part in unpacked((out / path).read_bytes())]
    printed = [done.stdout.encode(), done.stderr.encode()]
    assert not any(secret.encode() in text for secret in SECRETS for text in (*ours, *composed, *printed))


def test_without_addresses_the_missing_options_are_named(out: Path) -> None:
    done = run("render", INSTALL_CONFIG, "--out", out)
    addresses = [*(f"node_addresses.{name}" for name in plans.HOSTS), "bootstrap.address"]
    images = "missing, and so are images.keepalived, images.haproxy and images.coredns"
    wanted = {**dict.fromkeys(addresses, "no IPv4 address"), "images.release": images}
    assert done.stderr.splitlines() == [f"{option}: {what}. Fix: {FIX}" for option, what in wanted.items()]
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)


def test_samples_are_named_and_written(out: Path) -> None:
    done = run("render", INSTALL_CONFIG, "--sample-addresses", "--out", out)
    assert done.returncode == 0
    first, *_, bootstrap, image, no_payload = done.stderr.splitlines(keepends=True)
    assert first == "made-up sample: node_addresses.okd-master-0: 192.168.111.1\n"
    assert bootstrap == "made-up sample: bootstrap.address: 192.168.111.8\n"
    assert image == f"made-up sample: images.release: registry.example.com/sample/release@sha256:{'0' * 64}\n"
    assert no_payload == NO_PAYLOAD
    assert "192.168.111.8" in (out / "hosts/okd-master-0/etc/okd-baremetal/keepalived.conf").read_text()


def test_check_names_the_readers_that_ran_and_those_that_are_missing(out: Path, payload: Path) -> None:
    done = run("render", INSTALL_CONFIG, *STACK, "--payload", payload, "--check", "--out", out)
    *readers, last = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert "bash: 26 of 26 good" in readers
    assert "dnsmasq: no file is for it" in readers
    assert all(line.endswith((" good", " it")) or ": not run: " in line for line in readers)
    assert last == f"{out}: 67 files, 6 Ignition configs"
    shown = (ROOT / "docs/how-to/look-at-the-files.md").read_text().partition(NO_PAYLOAD)[2].splitlines()
    assert [line.partition(":")[0] for line in shown[: len(readers)]] == [line.partition(":")[0] for line in readers]
    assert shown[len(readers)] == "../files: 67 files, 0 Ignition configs"


def test_nothing_is_written_if_a_reader_refuses_a_file(out: Path, tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "shellcheck").write_text("#!/bin/sh\ncat >/dev/null\necho 'I take no\nscript at all' >&2\nexit 1\n")
    (bin_ / "shellcheck").chmod(0o755)
    path = f"{bin_}:{os.environ['PATH']}"
    done = run("render", INSTALL_CONFIG, *STACK, "--check", "--out", out, PATH=path)
    assert (done.returncode, out.exists()) == (2, False)
    assert "shellcheck: 0 of 26 good" in done.stdout.splitlines()
    first, *refusals = done.stderr.splitlines(keepends=True)
    assert first == NO_PAYLOAD
    fix = "look at it with `okd-baremetal render`; if your inputs are right, report it as a defect of this program"
    line = f"bootstrap/usr/local/bin/okd-own-api.sh: refused: I take no script at all. Fix: {fix}\n"
    assert line in refusals
    assert len(refusals) == 26


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param(
            ("none.yaml", *STACK), ["none.yaml: cannot be read: No such file or directory"], id="no-install-config"
        ),
        pytest.param(
            (INSTALL_CONFIG, "--stack", "none"),
            ["stacks/Pulumi.none.yaml: cannot be read: No such file or directory"],
            id="no-stack",
        ),
        pytest.param(
            (INSTALL_CONFIG, *STACK, "--payload", "none"),
            [
                f"none/{name}.ign: cannot be read (No such file or directory). Fix: put the payload's file there"
                for name in plans.PAYLOAD
            ],
            id="no-payload",
        ),
    ],
)
def test_missing_inputs_are_named_on_stderr(out: Path, words: tuple[str, ...], lines: list[str]) -> None:
    done = run("render", *words, "--out", out)
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (2, "", lines)
    assert not out.exists()


def test_a_payload_of_another_cluster_is_refused(out: Path, payload: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "a.yaml", lambda config: config.update(baseDomain="other.test"))
    done = run("render", other, *STACK, "--payload", payload, "--out", out)
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)
    assert all(line.startswith(f"{payload}/") for line in done.stderr.splitlines())
    assert done.stderr.startswith(f"{payload}/bootstrap.ign: of another cluster: ")


def test_all_faults_of_the_install_config_are_found_at_once(out: Path, tmp_path: Path) -> None:
    def change(config: dict[str, object]) -> None:
        del config["baseDomain"]
        bare(config)["apiVIPs"] = ["10.0.0.5"]

    bad = written(tmp_path / "bad.yaml", change)
    done = run("render", bad, *STACK, "--out", out)
    assert [line.split(": ")[:2] for line in done.stderr.splitlines()] == [
        [str(bad), "baseDomain"],
        [str(bad), "platform.baremetal.apiVIPs[0]"],
    ]
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)


def test_a_family_that_cannot_be_installed_yet_can_be_rendered(out: Path, tmp_path: Path) -> None:
    done = run("render", written(tmp_path / "a.yaml", clusters.ipv6), "--sample-addresses", "--check", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "fd2e::5/128" in (out / "bootstrap/etc/okd-baremetal/keepalived.conf").read_text()


@pytest.mark.parametrize("words", [(), ("render", INSTALL_CONFIG)], ids=["no-command", "no-out"])
def test_a_wrong_command_is_refused_with_the_usage(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "usage: okd-baremetal" in done.stdout + done.stderr


def test_a_path_in_letters_that_stdout_lacks_is_escaped(out: Path) -> None:
    """S17 of issue 43."""
    done = run_process("render", INSTALL_CONFIG, *STACK, "--out", f"{out}-ü", PYTHONIOENCODING="ascii:strict")
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, f"{out}-\\xfc")


def test_render_needs_no_pulumi() -> None:
    loaded = "import cli.__main__, cli.inspect.render, cli.inspect.isos, sys"
    code = f"{loaded}; sys.exit(any(name.partition('.')[0] == 'pulumi' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
