"""README: its commands, as they stand there, and the review that it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lab.inventory import load_site
from testing.checkout import ROOT
from testing.command_line import run
from testing.git import clone_of_program
from testing.newcomer import INSTALL_CONFIG, commands_of_discovery, documented_commands
from testing.project import COMMAND_S

README = ROOT / "README.md"
REVIEW = ROOT / "tests" / "golden" / "review" / "first.md"
SETUP = "import pathlib, sys; from testing.checkout import make_environment as make; make(pathlib.Path(sys.argv[1]))"
MAKE = f"""\
#!/bin/sh -e
# A stand-in for make: `setup` makes an environment of the packages of this one, and a rehearsal is only noted.
case $* in
    *setup) PYTHONPATH={ROOT} {sys.executable} -c '{SETUP}' "$PWD/$2" ;;
    *) echo "$@" >>"$ASKED" ;;
esac
"""


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """The folder that README's commands make, beside the install-config of a newcomer. No rehearsal is run."""
    clone_of_program(tmp_path / "repository")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tmp_path / "bin" / "make").chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(INSTALL_CONFIG, folder)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "ASKED": str(tmp_path / "asked")}
    script = "\n".join(["set -e", *documented_commands(tmp_path / "repository")])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=COMMAND_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "clusters"


def test_six_commands_without_a_value_lead_to_a_rehearsal() -> None:
    commands = documented_commands(Path("repository"))
    assert len(commands) <= 6
    assert not any(word in command for command in commands for word in ("<", "config set"))


def test_readmes_commands_turn_an_install_config_into_a_rehearsal(clusters: Path, tmp_path: Path) -> None:
    """Issue 40: from a folder with one's own install-config to a rehearsal; `make newcomer` runs that, too."""
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-3:] == ["rehearsal", "STACK=prod", f"SITE={clusters}"]
    assert "config" in yaml.safe_load((clusters / "stacks" / "Pulumi.prod.yaml").read_text())
    assert (clusters / "stacks" / "prod" / "install-config.yaml").read_bytes() == INSTALL_CONFIG.read_bytes()
    config = "stacks/prod/install-config.yaml"
    assert run("check", config, folder=clusters).stdout == f"{config}: ok\n"
    assert run("plan", config, folder=clusters).returncode == 0

    site = load_site("prod", clusters / "stacks")
    machines = [address for machine in (site.plan.bootstrap, *site.plan.servers) for address in machine.addresses]
    vips = [*site.plan.api.addresses, *site.plan.ingress.addresses]
    assert len({*machines, *vips, *site.services}) == len(machines) + len(vips) + len(site.services)
    assert sorted(map(str, site.services)) == ["10.60.0.2", "10.60.0.3"]
    assert [str(own.ip) for own in site.provisioners] == ["10.60.0.1"]


def test_the_page_about_discovery_types_no_value_of_a_server() -> None:
    reading, writing = commands_of_discovery()
    words = "okd-baremetal discover --logins logins.yaml --ca bmc-ca.pem --from bmcs.txt --json > servers.json"
    assert reading[-1] == words
    assert [command.split()[:2] for command in writing] == [
        ["okd-baremetal", "init"],
        ["git", "add"],
        ["okd-baremetal", "rehearse"],
    ]
    assert "<" not in "".join([*reading, *writing])


@pytest.mark.golden
def test_the_review_in_readme_is_the_golden_one(accept_golden: bool) -> None:
    verdict = REVIEW.read_text().partition("\n### ")[0]
    shown = "".join(f"> {line}\n" for line in verdict.splitlines() if line.startswith("- "))
    if accept_golden:
        README.write_text(re.sub(r"(?:^> .*\n)+", lambda _: shown, README.read_text(), count=1, flags=re.MULTILINE))
    assert f"\n\n{shown}\n" in README.read_text(), "`make accept`, then review"
