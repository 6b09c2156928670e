"""The protocol of one member of etcd, which engines ask; `wires.etcd.client.EtcdClient` implements it."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Block(NamedTuple):
    """The next part of a snapshot."""

    content: bytes
    left: int
    """Bytes of the database that are still to come."""


class DeclinedError(ConnectionError):
    """The member itself answered, and did not do what was asked: it has no leader, or is a learner."""


class EtcdMember(Protocol):
    """Asks the member of etcd at an address."""

    def revision(self, address: str) -> int:
        """Return the revision of the database, which a majority of the members confirms.

        Raises:
            DeclinedError: See there.
            OSError: The member cannot be reached, or refuses, or no majority answers it.
        """
        ...

    def snapshot(self, address: str) -> Iterator[Block]:
        """Yield the member's database, and at the end its SHA-256.

        Raises:
            OSError: The member cannot be reached, or refuses, or breaks off.
        """
        ...

    def members(self, address: str) -> dict[int, str]:
        """Return the address of each member by its id, as a majority confirms.

        Raises:
            OSError: As for `revision`.
        """
        ...

    def remove(self, address: str, member: int) -> None:
        """Have another member removed, by its id.

        Raises:
            OSError: As for `revision`; or etcd refuses, since too few of the others have started.
        """
        ...
