"""The repository of a fleet, as those have it who commit there, and the clone of its site `north`: real git."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import yaml

from fleet.approvers import Approver, Subject
from fleet.messages import Step
from fleet.site.checkout import Clone
from fleet.site.orders import Orders
from testing.approvers import JANE, public_key
from testing.git import committed, git

RUN = "0f9b2b0e-6a0d-4a3a-9d8e-1c5b1c2c3d4e"


class SiteClone:
    """Remote and clone.

    Args:
        folder: Its folder `remote` may have files, which are in the first commit.
        cluster: The one cluster of site `north`.
    """

    def __init__(self, folder: Path, cluster: str = "north-a") -> None:
        self.cluster, self.remote, self.root = cluster, folder / "remote", folder / "site"
        self.remote.mkdir(parents=True, exist_ok=True)
        self._fleet = {
            "sites": {"north": [cluster], "south": ["south-a"]},
            "approvers": {"jane": public_key(JANE)},
        }
        self._write()
        committed(self.remote)
        git(folder, "clone", "-q", str(self.remote), str(self.root))

    @cached_property
    def orders(self) -> Orders:
        """The orders that the site carries out."""
        return Orders(Clone(self.root), "north")

    @property
    def commit(self) -> str:
        """The newest commit of the remote's present branch."""
        return git(self.remote, "rev-parse", "HEAD")

    def change(self, **fields: object) -> str:
        """Change fields of `fleet.yaml` in a new commit of the remote's present branch, and return it."""
        self._fleet |= fields
        self._write()
        return self.committed()

    def committed(self) -> str:
        """Commit all files of the remote, and return the commit."""
        git(self.remote, "add", "--all")
        git(self.remote, "commit", "-q", "--allow-empty", "-m", "next")
        return self.commit

    def step(self, phase: str = "bootstrap", digest: str = "") -> Step:
        """Return an order of the newest commit, without an approval."""
        return Step(self.cluster, self.commit, phase, digest, order="an order", run=RUN)

    def approved(self, digest: str, approver: Approver = JANE, phase: str = "bootstrap") -> Step:
        """Return an order of the newest commit, with an approval."""
        return approved(self.step(phase, digest), approver)

    def _write(self) -> None:
        (self.remote / "fleet.yaml").write_text(yaml.safe_dump(self._fleet))


def approved(step: Step, approver: Approver = JANE) -> Step:
    """Return an order with the approval of its digest."""
    subject = Subject(step.cluster, step.commit, step.order)
    return replace(step, approval=approver.approval(subject, step.phase, step.digest, "somebody"))
