"""README: its commands, as they stand there, and the review that it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testing.checkout import ROOT
from testing.git import clone_of_program
from testing.project import COMMAND_S

README = ROOT / "README.md"
REVIEW = ROOT / "tests" / "golden" / "review" / "first.md"
MAKE = f"""#!/bin/sh
# A stand-in for make: it links this environment for the one that `setup` makes, and only notes a rehearsal.
case $* in
    *setup) ln -s {sys.prefix} "$2/.venv" ;;
    *) echo "$@" >>"$ASKED" ;;
esac
"""


def test_six_commands_turn_an_install_config_into_a_rehearsal_of_its_twin(tmp_path: Path) -> None:
    section = README.read_text().partition("## Your own cluster\n")[2]
    lines = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert lines
    assert lines[1].count("\n") <= 6
    clone_of_program(tmp_path / "repository")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tmp_path / "bin" / "make").chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(ROOT / "stacks" / "compact" / "install-config.yaml", folder)

    script = lines[1].replace("<this repository>", str(tmp_path / "repository"))
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "ASKED": str(tmp_path / "asked")}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    clusters = folder / "clusters"
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-3:] == ["rehearsal", "STACK=prod", f"SITE={clusters}"]
    assert "config" in yaml.safe_load((clusters / "stacks" / "Pulumi.prod.yaml").read_text())
    copied = (clusters / "stacks" / "prod" / "install-config.yaml").read_bytes()
    assert copied == (ROOT / "stacks" / "compact" / "install-config.yaml").read_bytes()


@pytest.mark.golden
def test_the_review_in_readme_is_the_golden_one(accept_golden: bool) -> None:
    verdict = REVIEW.read_text().partition("\n### ")[0]
    shown = "".join(f"> {line}\n" for line in verdict.splitlines() if line.startswith("- "))
    if accept_golden:
        README.write_text(re.sub(r"(?:^> .*\n)+", lambda _: shown, README.read_text(), count=1, flags=re.MULTILINE))
    assert f"\n\n{shown}\n" in README.read_text(), "`make accept`, then review"
