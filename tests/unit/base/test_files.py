"""Private files: who can read them at each moment, and what an interrupted write leaves."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from base.files import replaced, write_private


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077], ids="umask-{:03o}".format)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes_in(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("exists", [False, True], ids=["new", "readable-before"])
def test_nobody_else_can_read_a_file_while_it_is_written(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "secret"
    if exists:
        path.touch(0o644)
        path.chmod(0o644)
    with replaced(path, 0o640) as new:
        new.write(b"canary")
        new.flush()
        readable = {each for each in tmp_path.iterdir() if each.stat().st_mode & 0o077}
        assert [each for each in readable if each.read_bytes()] == []
    assert (path.read_bytes(), modes_in(tmp_path)) == (b"canary", {0o640})


def test_a_private_file_has_its_mode_whatever_was_there(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "secret"
    write_private(path, "päss")
    assert (path.read_text(encoding="utf-8"), modes_in(path.parent)) == ("päss", {0o600})
    path.chmod(0o644)
    write_private(path, b"again")
    assert (path.read_bytes(), modes_in(path.parent)) == (b"again", {0o600})


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_private(path, "before")

    def fail(new: IO[bytes]) -> None:
        new.write(b"half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"), replaced(path) as new:
        fail(new)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]
