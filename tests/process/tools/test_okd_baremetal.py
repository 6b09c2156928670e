"""`tools/okd-baremetal`, which starts the command line from any folder."""

import shutil
import subprocess
from pathlib import Path

import pytest

from testing.checkout import ROOT
from testing.namespaces import needs_root


def test_a_folder_of_the_operator_does_not_replace_the_command(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").touch()
    (tmp_path / "cli" / "__main__.py").write_text("raise SystemExit('a folder of the operator')\n")
    command = [str(ROOT / "tools" / "okd-baremetal"), "vrid", "okd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("okd ")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_closed_stream_is_no_error(closed: str) -> None:
    command = ["bash", "-c", f"{ROOT}/tools/okd-baremetal vrid okd {closed}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("" if closed == ">&-" else "okd ")


def before_set_up(checkout: Path) -> str:
    """Return what the command says in this checkout, after its name."""
    (checkout / "tools").mkdir(parents=True)
    command = shutil.copy(ROOT / "tools" / "okd-baremetal", checkout / "tools")
    done = subprocess.run([command, "check", "a.yaml"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.removeprefix("okd-baremetal: ")


def test_a_checkout_that_is_not_set_up_says_what_sets_it_up(tmp_path: Path) -> None:
    assert before_set_up(tmp_path) == f"{tmp_path} is not set up. Fix: make -C {tmp_path} setup\n"


def test_the_command_that_sets_it_up_is_one_to_paste(tmp_path: Path) -> None:
    checkout = tmp_path / "a b"
    assert before_set_up(checkout) == f"{checkout} is not set up. Fix: make -C {tmp_path}/a\\ b setup\n"


@needs_root
def test_a_checkout_of_another_user_is_not_to_be_set_up_again(tmp_path: Path) -> None:
    """Whose Python may be in a home that only that user enters."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/home/nobody/python")
    shutil.chown(tmp_path / ".venv", "nobody")
    fix = "run it as nobody, or in a checkout of your own"
    assert (
        before_set_up(tmp_path) == f"you cannot run the Python of {tmp_path}, which nobody has set up. Fix: {fix}\n"
    )
