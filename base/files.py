"""Files: read up to a limit, and written whole or not at all, so that other users cannot read them."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""The modes of what only its owner can read."""
OTHERS = 0o077
"""The bits of a mode that let anybody but the owner in."""
MOST_BYTES = 64 * 1024**2
"""The limit of a file that is read as a whole. The largest, bootstrap.ign, has 300 KiB to a few MiB."""


def read_file(path: Path) -> bytes:
    """Return the content of a regular file. A device may have no end, and a FIFO may never have a writer.

    Raises:
        OSError: It cannot be read, is no regular file, or has more than `MOST_BYTES`; its `strerror` says which.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"longer than {MOST_BYTES // 1024**2} MiB", str(path))
    return content


@contextmanager
def replaced(path: Path, mode: int = PRIVATE) -> Iterator[IO[bytes]]:
    """Yield a new file, which takes the place of `path` at the end. On an error, `path` stays as it was.

    Only its owner can read the new file before it is complete and has `mode`. After a power cut, the old file is
    there or the new one: one that takes another's place before its content is on the disk may be empty then.

    Raises:
        OSError: It cannot be written.
    """
    # mkstemp, below this, creates it with mode 0600: a chmod of a file that exists would come too late.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as new:
        try:
            yield new
            new.flush()
            Path(new.name).chmod(mode)
            os.fsync(new.fileno())
            Path(new.name).replace(path)
            _flush_folder(path.parent)
        finally:
            Path(new.name).unlink(missing_ok=True)


def _flush_folder(path: Path) -> None:
    """Have the names in a folder on its disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_private(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    """Write a file that only those can read whom `mode` lets, also while it is being written.

    Args:
        path: Its folder is made if it is missing.
        content: A text is written as UTF-8.
        mode: Also of a file that is there already.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path, mode) as new:
        new.write(content.encode() if isinstance(content, str) else content)
