"""Where coreos-installer and nmstatectl are found, and the fix if they are not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import BootMediaError
from boot_media.tools import find_coreos_installer, find_nmstatectl
from testing.checkout import ROOT

TOOLS = [
    pytest.param(find_coreos_installer, "coreos-installer", "0.27.0", id="coreos-installer"),
    pytest.param(find_nmstatectl, "nmstatectl", "2.2.62", id="nmstatectl"),
]
Find = Callable[[], Path]


@pytest.fixture(autouse=True)
def _own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return path


@pytest.mark.parametrize(("find", "name", "version"), TOOLS)
def test_a_tool_in_path_is_preferred_to_the_built_one(find: Find, name: str, version: str, tmp_path: Path) -> None:
    built = program(tmp_path / "okd-baremetal" / f"{name}-{version}" / "bin" / name)
    assert find() == built
    installed = program(tmp_path / "bin" / name)
    assert find() == installed


@pytest.mark.parametrize(("find", "name", "version"), TOOLS)
def test_a_missing_tool_is_an_error_with_the_command_that_installs_it(
    find: Find, name: str, version: str, tmp_path: Path
) -> None:
    built = tmp_path / "okd-baremetal" / f"{name}-{version}" / "bin" / name
    with pytest.raises(BootMediaError) as caught:
        find()
    line = f"{name}: neither on PATH nor at {built}. Fix: install the package, or run {ROOT}/tools/{name}"
    assert str(caught.value) == line
