"""Files on no disk, for secrets that a program or a library takes from files alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def in_memory(content: bytes = b"") -> Iterator[IO[bytes]]:
    """A file that holds `content`, and is gone after the block."""
    with open(os.memfd_create("okd-baremetal"), "w+b", buffering=0) as file:
        file.write(content)
        yield file


def path_of(file: IO[bytes]) -> Path:
    """Path of a file without a name, for who has it open."""
    return Path(f"/proc/self/fd/{file.fileno()}")
