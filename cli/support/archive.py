"""The archive of `gather`: parts that are collected one by one, and an index of what is there, or why not."""

import errno
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from base.errors import OkdBaremetalError, one_line, unexpected
from base.files import replaced
from base.masking import Secrets
from cli.shared.command_line import writing

INDEX = "index.md"
_CELL = str.maketrans({"|": r"\|"})


@dataclass
class Bundle:
    """Collects files in a folder of its own, and packs them. Every text loses the known secrets on its way in."""

    title: str
    secrets: Secrets = field(default_factory=Secrets)
    _rows: list[tuple[str, str]] = field(default_factory=list)
    _folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="okd-baremetal-gather-")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, name: str, text: str) -> None:
        """Put a text into the archive, without the known secrets."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.secrets.mask(text), encoding="utf-8", errors="replace")

    def note(self, part: str, what: str) -> None:
        """Write a row of the index, and a line of progress."""
        line = self.secrets.mask(one_line(what))
        self._rows.append((part, line))
        print(f"{part}: {line}", file=sys.stderr)

    def collect(self, part: str, collect: Callable[["Bundle"], str]) -> None:
        """Collect one part, which says what is there; if it fails, the index says why, and the others follow."""
        try:
            self.note(part, collect(self))
        except OkdBaremetalError as error:
            self.note(part, f"not there: {error}")
        except OSError as error:
            self.note(part, f"not there: {error.strerror or type(error).__name__}")
        except Exception as error:
            self.note(part, f"not there: {unexpected(error)}")

    def pack(self, out: Path) -> int:
        """Write the archive, which only its owner can read, and return the number of its files.

        Raises:
            ConfigError: `out` exists already, or cannot be written.
        """
        rows = "".join(f"| {part} | {what.translate(_CELL)} |\n" for part, what in self._rows)
        self.add(INDEX, f"# {self.title}\n\n| part | what is there, or why it is not |\n|---|---|\n{rows}")
        files = sorted(path for path in self._folder.rglob("*") if path.is_file())
        with writing(out, "name another --out, in a directory that is writable"):
            if out.is_symlink() or out.exists():  # since gathering began
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            with replaced(out) as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
                for path in files:
                    archive.add(path, str(Path(out.name.partition(".tar")[0]) / path.relative_to(self._folder)))
        return len(files)
