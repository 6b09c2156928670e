"""The programs that make boot media: what tools/ builds is what the program searches for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import BootMediaError
from boot_media.tools import cache_dir, find_coreos_installer, find_nmstatectl
from testing.checkout import ROOT

COMMANDS = ("bash", "dirname", "flock", "mkdir")
"""What tools/coreos-installer and tools/nmstatectl need if nothing is to be built: cargo is not among them."""
CACHES = {"named": {"XDG_CACHE_HOME": "/a/cache"}, "empty": {"XDG_CACHE_HOME": ""}, "unnamed": {}}


@pytest.mark.parametrize("find", [find_coreos_installer, find_nmstatectl])
def test_the_tool_that_is_built_is_the_one_that_is_found(
    find: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in COMMANDS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(BootMediaError) as missing:
        find()
    wanted = Path(str(missing.value).partition(" nor at ")[2].partition(". Fix:")[0])
    wanted.parent.mkdir(parents=True)
    wanted.touch(0o755)
    assert find() == wanted
    script = ROOT / "tools" / wanted.name
    done = subprocess.run(["bash", str(script)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{wanted}\n"), done.stderr


@pytest.mark.parametrize("cache", CACHES.values(), ids=CACHES)
def test_program_scripts_and_makefile_use_one_cache(cache: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/a/home", **cache}
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    of_scripts = ["bash", "-c", 'source tools/lib.sh && echo "$CACHE"']
    of_makefile = ["make", "--no-print-directory", "--eval", "cache: ; @echo $(CACHE)", "cache"]
    for command in (of_scripts, of_makefile):
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        assert done.stdout == f"{cache_dir()}\n"
