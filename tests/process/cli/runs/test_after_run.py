"""The program that follows a run, started by the command that a provider process starts."""

import os
import subprocess
from pathlib import Path

from cli.runs import after_run
from providers.pulumi import run_follower
from testing.checkout import ROOT


def test_the_follower_runs_and_no_module_of_a_site_replaces_its_own(tmp_path: Path) -> None:
    log = Path("log", "prod", "2026-11-23T060000.000Z.jsonl")
    (tmp_path / log).parent.mkdir(parents=True)
    (tmp_path / log).touch()
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text("config: {}\n")
    (tmp_path / "argparse.py").write_text("raise SystemExit('a module of the site')\n")
    with subprocess.Popen(["true"]) as cli:
        end = os.pidfd_open(cli.pid)
    command = run_follower.command(log, end)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, pass_fds=[end], capture_output=True, text=True, check=False
    )
    os.close(end)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "report" / "prod.html").exists()
    assert after_run.__name__ in command
