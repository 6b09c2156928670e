"""tools/temporal prints the path of Temporal's CLI."""

import os
import subprocess
from pathlib import Path

from testing.checkout import ROOT


def test_the_cli_of_this_machine_is_taken(tmp_path: Path) -> None:
    program = tmp_path / "temporal"
    program.touch(mode=0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run([ROOT / "tools" / "temporal"], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{program}\n", "")
    assert list(tmp_path.iterdir()) == [program]
