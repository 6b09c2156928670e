"""`tools/okd-baremetal`, which starts the command line from any folder."""

import shutil
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


def test_a_checkout_that_is_not_set_up_says_what_sets_it_up(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    command = shutil.copy(ROOT / "tools" / "okd-baremetal", tmp_path / "tools")
    done = subprocess.run([command, "check", "a.yaml"], capture_output=True, text=True, check=False)
    line = f"okd-baremetal: {tmp_path} is not set up. Fix: make -C {tmp_path} setup\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
