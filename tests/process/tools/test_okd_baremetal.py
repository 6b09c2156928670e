"""`tools/okd-baremetal`, which starts the command line from any folder."""

import subprocess
from pathlib import Path

from testing.checkout import ROOT


def test_a_folder_of_the_operator_does_not_replace_the_command(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").touch()
    (tmp_path / "cli" / "__main__.py").write_text("raise SystemExit('a folder of the operator')\n")
    command = [str(ROOT / "tools" / "okd-baremetal"), "vrid", "okd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("okd ")
