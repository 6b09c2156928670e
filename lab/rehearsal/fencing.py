"""Proofs of two servers that fence each other, and a stand-in of the fencing while they are destroyed."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cluster.plan import Server
from lab.rehearsal.kube import Kube
from lab.rehearsal.proofs import settle
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP, refuse
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from providers.vip_handoff.okd import HANDED_OVER

NOTICED_S = 4.0
"""How soon a missed peer can be fenced: corosync's default token, 3 s (corosync.conf(5) of 3.1), and a delay of 1 s.

For the first of two nodes the delay is 10 s (openshift/cluster-etcd-operator b4786ae33, pkg/tnf/pkg/pcs/fencing.go).
"""
POLL_S = 0.25
HANDED_OVER_S = 120


@dataclass(frozen=True)
class FencingProofs:
    """Proofs of one cluster whose control plane is such a pair."""

    kube: Kube
    provisioner: Provisioner
    stack: Stack
    report: Report
    servers: tuple[Server, ...]

    def gate_waits(self) -> None:
        """Prove that the gate refuses a control plane that is ready, while etcd is said not to be handed over yet."""
        with self.report.step("the gate refuses while etcd is not handed over"):
            seen = settle(self._is_handed_over, bool, HANDED_OVER_S)
            self.report.prove("etcd is handed over to Pacemaker", wanted=True, seen=seen)
            self.stack.configure(handoff={"deadline_s": 4})
            self.kube.report_on_etcd(HANDED_OVER, "False")
            line = f"at gate: etcd's condition {HANDED_OVER}: False, wanted True"
            refuse(self.stack, self.report, "a handoff before Pacemaker runs etcd", line, UP)
            self.kube.report_on_etcd(HANDED_OVER, "True")
            self.stack.configure(handoff={"deadline_s": 120})

    def _is_handed_over(self) -> bool:
        try:
            return HANDED_OVER in self.kube.etcd_conditions()
        except (OSError, http.client.HTTPException):
            return False

    @contextmanager
    def fences(self) -> Iterator[None]:
        """Fence one of the two while the block destroys them, and prove that both were cut off all the same."""
        fencing = Fencing(self.provisioner, self.servers)
        with fencing.during():
            yield
        fencing.prove(self.report)


@dataclass
class Fencing:
    """Fences the first server of a pair that is cut, once, even if its peer is off by then: like a late request."""

    provisioner: Provisioner
    servers: tuple[Server, ...]
    cuts: dict[str, float] = field(default_factory=dict)
    """When each server was first seen off, in seconds."""
    fenced: list[str] = field(default_factory=list)

    @contextmanager
    def during(self) -> Iterator[None]:
        """Fence while the block runs, in a thread of its own."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(POLL_S):
                self.look(time.monotonic())

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def look(self, now: float) -> None:
        """Look which servers are off, and switch the first one on once its peer would have noticed."""
        running = self.provisioner.running()
        off = [server for server in self.servers if server.name not in running]
        for server in off:
            self.cuts.setdefault(server.name, now)
        for server in off:
            if not self.fenced and now - self.cuts[server.name] >= NOTICED_S:
                self.fenced.append(server.name)
                self.provisioner.switch_on(server)

    def prove(self, report: Report) -> None:
        """Prove that both were cut before one of them would fence the other, and that one was fenced all the same."""
        apart = max(self.cuts.values()) - min(self.cuts.values()) if len(self.cuts) == len(self.servers) else None
        holds = apart is not None and apart < NOTICED_S
        seen = "not both were cut" if apart is None else f"{apart:.1f}"
        report.prove(
            "seconds from the first cut of the pair to the last",
            wanted=f"under {NOTICED_S:g}",
            seen=seen,
            holds=holds,
        )
        report.prove("servers that were fenced, and had to be cut once more", wanted=1, seen=len(self.fenced))
