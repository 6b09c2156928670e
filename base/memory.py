"""Files in memory, for secrets that a program or library accepts only as files; they never reach a disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from base.files import PRIVATE


@contextmanager
def in_memory(content: bytes = b"") -> Iterator[IO[bytes]]:
    """Yield a file that holds `content` and is gone after the block."""
    with open(os.memfd_create("okd-baremetal"), "w+b", buffering=0) as file:
        os.fchmod(file.fileno(), PRIVATE)
        file.write(content)
        yield file


def path_of(file: IO[bytes]) -> Path:
    """Return a path to a file without a name, valid in this process while the file is open."""
    return Path(f"/proc/self/fd/{file.fileno()}")
