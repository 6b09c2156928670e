"""The payload of a stack: whether its files and its kubeconfig fit the plan."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, Self

from base.errors import Fault, PayloadError
from cluster.options import PayloadDigests
from cluster.payload_values import PULL_SECRET, pull_secret_value
from cluster.values.phase import Phase
from cluster.values.role import BOOTSTRAP
from payload.checks import Expected, check_payload
from payload.kubeconfig import Kubeconfig, check_kubeconfig, needed, read_kubeconfig
from payload.reading import payload_folder, read_payload

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class PayloadFiles(Protocol):
    """The files of payloads, and the time by which their certificates are valid."""

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        """Return a file of the stack's payload.

        Raises:
            PayloadError: The file is missing, or has another digest.
        """
        ...

    def kubeconfig(self, stack: str) -> Kubeconfig | None:
        """Return the kubeconfig beside the stack's payload, or None if it is missing.

        Raises:
            PayloadError: The kubeconfig is unusable.
        """
        ...

    def now(self) -> datetime:
        """Return the time, with its zone."""
        ...


class LocalPayloadFiles:
    """`PayloadFiles` of this project."""

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        """See `PayloadFiles`."""
        return read_payload(stack, name, sha256)

    def kubeconfig(self, stack: str) -> Kubeconfig | None:
        """See `PayloadFiles`."""
        return read_kubeconfig(stack)

    def now(self) -> datetime:
        """See `PayloadFiles`."""
        return datetime.now(UTC)


@dataclass(frozen=True)
class StackPayload:
    """The payload that a stack pins.

    Args:
        expected: What the plan expects of the files.
        asks_okd: Whether `up` waits for OKD itself, which takes the kubeconfig.
    """

    stack: str
    digests: PayloadDigests
    phase: Phase
    expected: Expected
    asks_okd: bool

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str, paths: Iterable[str]) -> Self:
        """Return the payload of a plan's stack; `paths` are those of all files that this program writes."""
        options, values = plan.options, dict(plan.payload_values)
        if secret := options.pull_secret.get_secret_value():
            values = {path: value for path, value in values.items() if path != PULL_SECRET} | pull_secret_value(
                secret
            )
        expected = Expected.of(plan, values, tuple(paths))
        return cls(stack, options.payload, options.phase, expected, options.wait == "install")

    def faults(self, files: PayloadFiles) -> list[Fault]:
        """Return all faults of the pinned files that the phase reads."""
        contents, faults = dict[str, bytes](), list[Fault]()
        # Phase production does not use bootstrap.ign; it may be gone, and its certificates expire after a day.
        unused = {BOOTSTRAP} if self.phase is Phase.PRODUCTION else set()
        for name, digest in ((name, digest) for name, digest in self.digests if digest and name not in unused):
            try:
                contents[name] = files.payload(self.stack, name, digest)
            except PayloadError as error:
                faults.append(error.fault)
        faults += check_payload(payload_folder(self.stack), contents, self.expected, files.now())
        try:
            kubeconfig = files.kubeconfig(self.stack)
            check_kubeconfig(
                self.stack, None if faults else contents.get("bootstrap"), self.expected.domain, kubeconfig
            )
            if self.asks_okd:
                needed(self.stack, kubeconfig, "wait: install")
        except PayloadError as error:
            faults.append(error.fault)
        return faults
