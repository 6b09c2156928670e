"""Private files: who can read them at each moment, and what an interrupted write leaves."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from base.files import MOST_BYTES, read_file, replaced, write_private
from testing.checkout import ROOT


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


def test_who_has_the_old_file_open_reads_nothing_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("before")
    with path.open() as early:
        write_private(path, "after")
        assert early.read() == "before"


OPEN_WRITES = {
    "base/lock.py": "a lock, which is empty or names its holder",
    "base/memory.py": "a file in memory, without a name",
    "cli/bmc.py": "a capture, with secrets masked",
    "cli/review.py": "the write plan, which a pull request shows",
    "cli/support/archive.py": "in the archive's own private folder, with secrets masked",
    "fleet/keys.py": "opened with the mode of a private file",
    "fleet/site/record.py": "opened with the mode of a private file",
    "providers/rendered_asset/readers.py": "a copy in a temporary folder, which is private",
}
"""The files of the program that write one file without `write_private` and `replaced`, and why they may."""

WRITING = re.compile(r"write_text|write_bytes|open")


@cache
def writes() -> Counter[str]:
    """Return how many calls write a file, of each file of the program."""
    found = Counter[str]()
    for room in ("assets", "base", "boot_media", "cli", "cluster", "components", "fleet", "payload", "providers",
                 "review", "wires"):  # fmt: skip
        for path in (ROOT / room).rglob("*.py"):
            if not WRITING.search(text := path.read_text()):  # to parse the whole program takes two seconds
                continue
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            found.update(str(path.relative_to(ROOT)) for call in calls if is_write(call))
    return found


def test_no_other_file_is_written_for_others_to_read() -> None:
    assert writes() == dict.fromkeys(OPEN_WRITES, 1)


def is_write(call: ast.Call) -> bool:
    """Return whether a call writes a file at a path: `write_text`, `write_bytes`, or `open` to write."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    modes = [text.value for text in call.args if isinstance(text, ast.Constant) and isinstance(text.value, str)]
    return name in ("write_text", "write_bytes") or (
        name == "open" and any(re.fullmatch(r"[wax]b?\+?b?", mode) for mode in modes)
    )


@pytest.mark.parametrize("exists", [False, True], ids=["new", "there-before"])
def test_after_a_power_cut_the_old_file_is_there_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    path = tmp_path / "secret"
    if exists:
        write_private(path, "before")
    flushed = list[tuple[bytes | None, bytes | None]]()
    """What each flush brought to the disk (None: the names of the folder), and what `path` held by then."""

    def flush(descriptor: int) -> None:
        is_folder = os.path.samestat(os.fstat(descriptor), tmp_path.stat())
        content = None if is_folder else Path(f"/proc/self/fd/{descriptor}").read_bytes()
        flushed.append((content, path.read_bytes() if path.exists() else None))

    monkeypatch.setattr(os, "fsync", flush)  # in place of the disk
    write_private(path, "after")
    assert flushed == [(b"after", b"before" if exists else None), (None, b"after")]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_private(path, "before")

    def fail(new: IO[bytes]) -> None:
        new.write(b"half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"), replaced(path) as new:
        fail(new)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("kind", ["device", "fifo", "folder", "long"])
def test_only_a_regular_file_of_bounded_size_is_read(kind: str, tmp_path: Path) -> None:
    """S24 of issue 43: `check /dev/zero` took all memory, and a FIFO had no end."""
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "long":
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
    said = {"folder": "Is a directory", "long": "longer than 64 MiB"}.get(kind, "not a regular file")
    with pytest.raises(OSError, match=said):
        read_file(path)


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff\0")
    (tmp_path / "link").symlink_to("file")
    assert read_file(tmp_path / "link") == b"\xff\0"


OWN_READERS = {
    *("base/files.py", "base/memory.py", "base/log_file.py", "base/log_entries.py", "base/lock.py"),
    *("assets/render.py", "boot_media/disk.py", "cli/shared/version.py", "fleet/site/updates.py"),
    *("fleet/keys.py", "fleet/site/record.py"),
    "cli/runs/verifier.py",  # which imports only the standard library
    *("boot_media/iso.py", "boot_media/download.py", "boot_media/media_server.py", "cli/start/payload.py"),
    *("cli/support/gather.py", "cli/support/bootstrap_journals.py", "cli/runs/timeline.py", "payload/pem.py"),
    *(
        "providers/pulumi/plugin_process.py",
        "providers/pulumi/run_follower.py",
        "providers/rendered_asset/readers.py",
    ),
    *("providers/provisioner_preflight/probe.py", "providers/host_provisioning/installation/durations.py"),
    *("cli/start/payload_folders.py", "cli/shared/command_line.py", "cli/support/archive.py"),
}
"""Modules that read what this program, its tools or the kernel wrote: templates, logs, images, /proc, /sys."""


def test_what_a_site_wrote_is_read_by_one_helper() -> None:
    """S24 of issue 43."""
    rooms = (
        "assets",
        "base",
        "boot_media",
        "cli",
        "cluster",
        "components",
        "fleet",
        "payload",
        "providers",
        "review",
        "wires",
    )
    reads = re.compile(
        r"\.read_(?:text|bytes)\(|(?<!def )(?<![\w.])open\(|(?:path|(?<!tar)file|source|Path\(.*\)|os)\.open\("
    )
    found = {
        str(module.relative_to(ROOT))
        for room in rooms
        for module in (ROOT / room).rglob("*.py")
        if reads.search(module.read_text())
    }
    assert found <= OWN_READERS
