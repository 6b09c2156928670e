"""Proofs that `okd-baremetal status` tells an operator what the cluster and its servers are."""

import json
from dataclasses import dataclass

from cli.shared.command_line import EXIT_ERROR, EXIT_OK
from cli.status.answers import Level
from lab.rehearsal.proofs import settle
from lab.rehearsal.report import RehearsalError, Report, say
from lab.rehearsal.stack import Stack

NONE = "none"
SETTLES_S = 60.0
_OF_OPERATORS = {("etcd", "members"), ("etcd", "health")}
"""What OKD's etcd operator writes down, which nobody does where etcd stands in for the API."""


@dataclass(frozen=True)
class StatusProofs:
    """Proofs of one cluster, by the command that its operator runs."""

    stack: Stack
    report: Report
    etcd_is_reported: bool = False

    def finds_nothing_wrong(self, when: str) -> None:
        """Prove that no row is, or soon will be, wrong of a cluster that serves: one look may meet a busy API."""
        wrong = settle(self._wrong, lambda rows: not rows, SETTLES_S)
        self.report.prove(f"rows of status that are wrong {when}", wanted=NONE, seen=_listed(wrong))

    def misses_the_bmcs(self, servers: set[str]) -> None:
        """Prove that the rows of the BMCs, which do not answer now, are wrong, and no other."""
        wanted = {("bmc", name) for name in servers}
        seen = _listed(self._wrong())
        self.report.prove("rows of status that are wrong without the BMCs", wanted=_listed(wanted), seen=seen)

    def _wrong(self) -> set[tuple[str, str]]:
        """Return kind and name of the rows that are wrong; the exit code says whether there is one.

        Raises:
            RehearsalError: There are no rows, or the exit code differs from them.
        """
        outcome = self.stack.execute(["okd-baremetal", "status", self.stack.name, "--json"], quiet=True)
        if outcome.code not in (EXIT_OK, EXIT_ERROR):
            raise RehearsalError(f"`okd-baremetal status` ended with {outcome.code}")
        rows = [row for row in json.loads(outcome.text)["rows"] if row["level"] == Level.WRONG.word]
        for row in rows:
            say(f"    status: {row['kind']} {row['name']}: {row['says']}")
        wrong = {(row["kind"], row["name"]) for row in rows}
        self.report.prove("exit code of status", wanted=EXIT_ERROR if wrong else EXIT_OK, seen=outcome.code)
        return wrong if self.etcd_is_reported else wrong - _OF_OPERATORS


def _listed(rows: set[tuple[str, str]]) -> str:
    return ", ".join(" ".join(row) for row in sorted(rows)) or NONE
