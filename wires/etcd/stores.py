"""Keeps snapshots of etcd, each whole or not at all: in a folder of this machine, or in a bucket of S3."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from base.errors import ConfigError, Fault
from base.files import PRIVATE_FOLDER, replaced
from cluster.values.snapshots import BucketUrl, Store
from wires.s3.bucket import Bucket

Put = Callable[[bytes], object]
"""Takes the next part of a file."""


class Keeper(Protocol):
    """Keeps files."""

    def new(self, name: str) -> AbstractContextManager[Put]:
        """Return what takes a new file, which is there once the block has ended, and only if it ended well.

        Raises:
            ConfigError: It cannot be written, also while its parts are.
        """
        ...


@dataclass(frozen=True)
class Folder:
    """`Keeper` in a folder, which is made if it is missing. Only its owner can read it."""

    path: Path

    @contextmanager
    def new(self, name: str) -> Iterator[Put]:
        """See `Keeper`. The file has been flushed to the disk."""
        path = self.path / name
        try:
            self.path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            with replaced(path) as file:
                yield file.write
        except ConnectionError:
            raise  # of whom the parts come from
        except OSError as error:
            what = f"not saved: {path} cannot be written ({error.strerror or error})"
            fix = "have room in that folder, and rights to write into it; or name another one in `snapshots`"
            raise ConfigError(Fault("etcd", what, fix)) from None


def keeper_of(store: Store) -> Keeper:
    """Return what keeps the snapshots of a stack."""
    return Bucket(store) if isinstance(store, BucketUrl) else Folder(store)
