"""Key files: made for their owner only, and refused if others can read them (S18)."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import ConfigError
from fleet import approvers, codec
from fleet.approvers import write_approver
from fleet.keys import write_key

MAKERS: dict[str, Callable[[Path], object]] = {codec.KEY_FILE: write_key, approvers.KEY_FILE: write_approver}
READERS: dict[str, Callable[[], object]] = {codec.KEY_FILE: codec.converter, approvers.KEY_FILE: approvers.approver}
NO_KEYS = {codec.KEY_FILE: "32 bytes in hexadecimal", approvers.KEY_FILE: "the key of an approver"}


@pytest.fixture(params=MAKERS)
def variable(request: pytest.FixtureRequest) -> str:
    """The variable of a kind of key."""
    return str(request.param)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> Path:
    """A key file, which the environment names."""
    file = tmp_path / "a key"
    MAKERS[variable](file)
    monkeypatch.setenv(variable, str(file))
    return file


def refusal(variable: str) -> str:
    with pytest.raises(ConfigError) as caught:
        READERS[variable]()
    return str(caught.value)


def test_only_its_owner_can_read_a_new_key_whatever_the_umask(tmp_path: Path, variable: str) -> None:
    before = os.umask(0)
    try:
        MAKERS[variable](tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_new_key_is_another(tmp_path: Path, variable: str) -> None:
    for name in ("first", "second"):
        MAKERS[variable](tmp_path / name)
    assert (tmp_path / "first").read_text() != (tmp_path / "second").read_text()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_key_replaces_no_file(tmp_path: Path, variable: str, kind: str) -> None:
    path = tmp_path / "key"
    if kind == "file":
        path.write_text("the fleet's")
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=r"there is a file already\. Fix: name one that does not exist$"):
        MAKERS[variable](path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_missing_is_one_line(tmp_path: Path, variable: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file or directory\)\. Fix: name a file in"):
        MAKERS[variable](tmp_path / "none" / "key")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o622, 0o601])
def test_a_key_that_others_can_read_is_refused_until_its_fix_is_done(file: Path, variable: str, mode: int) -> None:
    file.chmod(mode)
    line = refusal(variable)
    what = f"{variable}: {file} has mode {mode:04o}, so not only its owner can read it"
    assert line == f"{what}. Fix: chmod 600 '{file}'"
    subprocess.run(["sh", "-c", line.partition("Fix: ")[2]], check=True)
    READERS[variable]()


@pytest.mark.parametrize("content", [None, "", "no key", "\N{SNOWMAN}", "-----BEGIN PRIVATE KEY-----"])
def test_a_file_without_a_key_is_refused(file: Path, variable: str, content: str | None) -> None:
    file.unlink()
    if content is not None:
        file.touch(0o600)
        file.write_text(content)
    assert refusal(variable).startswith(f"{variable}: {file} is not a file with {NO_KEYS[variable]}. Fix: ")


def test_a_key_of_the_other_kind_is_refused(tmp_path: Path, file: Path, variable: str) -> None:
    [other] = MAKERS.keys() - {variable}
    file.unlink()
    MAKERS[other](file)
    assert refusal(variable).startswith(f"{variable}: {file} is not a file with {NO_KEYS[variable]}. Fix: ")


def test_without_the_variable_one_line_says_what_helps(
    tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    assert refusal(variable).startswith(f"{variable}: not set. Fix: ")
