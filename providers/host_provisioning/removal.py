"""Takes a server that has left the install-config out of a cluster that runs: drained, then off, then without node.

The BMC is asked first, so that no node is drained whose server cannot be switched off. That comes before the deletion
of the node: a kubelet that runs would make it again. A server that is off has nothing to drain: its pods never end
there, and the cluster starts them elsewhere once the node is gone. Its system is shut down, which ends the pods that
a drain leaves, as those of DaemonSets; only one that does not go off by itself has its power cut.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from base.clock import Clock, Wait
from base.errors import (
    BmcError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    BusyError,
    ProvisioningError,
    word,
    words_of,
)
from base.progress import Progress, Report, Say, with_time_left
from providers.host_provisioning.drain import Drain
from providers.joining.nodes import Node
from providers.patience import patiently
from wires.api.resources import NODE_LIST, answer_first, unasked
from wires.bmc.client import BmcClient, Power
from wires.bmc.identity import named
from wires.bmc.steps import STEP_S, Steps, run_steps

ASK_S = 60.0
"""Time for the BMC to say which machine it is that of, and whether that is on."""
NODE_S, POLL_S = 300.0, 5.0
"""Time for the API to delete the node."""
LATE_S = 360.0
"""Time for the node of a server that is off to be seen as not ready.

Kubernetes takes up to 50 s, and OKD with the worker latency profile LowUpdateSlowReaction 5 minutes
(`node-monitor-grace-period`).
"""
SHUTDOWN_S = 180.0
"""Time for its system to shut down, as metal3 has it (`softPowerOffTimeout` in ironic.go of baremetal-operator)."""
OFF, OUT = "switching it off", "out of the cluster"
KEEP = "put the host back into the install-config"
ANSWER = f"since the node is drained by it; then run `pulumi up` again; or {KEEP}"
ANOTHER = (
    "if another machine runs under its name, drain that node and switch the machine off yourself, then run "
    f"`pulumi up` again; or {KEEP}"
)
AGAIN = "see `oc get node`, then run `pulumi up` again, which goes on from here"
LET_GO = (
    "have what holds these pods let them go (`oc get pdb -A`), or raise deadlines.host_s; then run `pulumi up` again"
)


@dataclass(frozen=True)
class Removal:
    """One server that leaves the cluster."""

    host: str
    uuid: str
    """Identity that its BMC must report, a UUID or serial; if empty, any machine is accepted."""
    bmc: Callable[[], AbstractContextManager[BmcClient]]
    """Returns a client of its BMC, which no other run uses meanwhile."""
    drain: Drain
    clock: Clock
    report: Report
    warn: Say
    deadline_s: float
    """Time for the drain, in seconds."""

    def take_out(self) -> None:
        """Drain the node if its server is on, switch that off, and delete the node. If done already, do nothing.

        Raises:
            OkdBaremetalError: It is not out. If its drain did not end, it runs as before.
        """
        node = self._node()
        if node is None:
            self._off_if_it_answers()
            return
        left = "nothing was changed"
        try:
            if self._power() is Power.OFF:
                self._refuse_running_node()
            else:
                self._drain(node)
                left = f"{self.host} is drained, and stays cordoned (`oc adm uncordon {word(self.host)}`)"
            self.report(Progress(OFF))
            self._switch_off()
        except (BmcError, BusyError) as error:
            gone = f"if its machine is gone for good, `oc delete node {word(self.host)}`, then run `pulumi up` again"
            what, fix = (
                f"{error.fault.what}; {left}",
                "; ".join(filter(None, (error.fault.fix, f"{gone}; or {KEEP}"))),
            )
            raise ProvisioningError(what, where=error.fault.where, fix=fix) from None
        self._delete_node()
        self.report(Progress(OUT))

    def _node(self) -> Node | None:
        try:
            return patiently(self.drain.node, self.clock, self.report)
        except OSError as error:
            what = f"not drained: {unasked(self.drain.vip, error)}"
            raise ProvisioningError(what, where=self.host, fix=f"{answer_first(error)}, {ANSWER}") from None

    def _refuse_running_node(self) -> None:
        """Return once the node of a server that is off is not ready: of one that runs, no pod may be cut off."""

        def running() -> str | None:
            try:
                node = self.drain.node()
            except OSError as error:
                return unasked(self.drain.vip, error)
            return f"node {self.host} is ready" if node and not node.problem else None

        wait = Wait(self.clock, LATE_S, poll_s=POLL_S)
        if late := wait.until(running, with_time_left(self.report, "seeing its node off")):
            what = f"its BMC says that it is off, but after {LATE_S:.0f} s {late}"
            raise ProvisioningError(what, where=self.host, fix=ANOTHER)

    def _drain(self, node: Node) -> None:
        if left := self.drain.run(self.deadline_s):
            cordoned = node.spec.unschedulable or not self._is_uncordoned()
            stays = f"stays cordoned (`oc adm uncordon {word(self.host)}`)" if cordoned else "takes pods again"
            what = f"not drained within {self.deadline_s:.0f} s, so it runs on, and {stays}: {left}"
            raise ProvisioningError(what, where=self.host, fix=f"{LET_GO}; or {KEEP}")

    def _is_uncordoned(self) -> bool:
        try:
            patiently(lambda: self.drain.cordon(on=False), self.clock, self.report)
        except OSError:
            return False
        return True

    def _off_if_it_answers(self) -> None:
        """Switch off what is no node any more: `BmcHost`, which deletes the server, has the way on if that fails."""
        try:
            self._switch_off()
        except (BmcError, BusyError) as error:
            self.warn(f"{self.host}: it has no node, and was not switched off: {error}")

    def _power(self) -> Power:
        with self._steps(ASK_S) as steps:
            return run_steps(steps.current_power(), self.clock)

    def _switch_off(self) -> None:
        with self._steps(STEP_S) as steps:
            with suppress(BmcRefusedError, BmcTimeoutError):
                run_steps(steps.shutdown(within_s=SHUTDOWN_S), self.clock)
            run_steps(steps.power(Power.OFF), self.clock)

    def _delete_node(self) -> None:
        path = f"{NODE_LIST}/{self.host}"

        def left() -> str | None:
            try:
                if self.drain.node() is None:
                    return None
                self.drain.api.delete(self.drain.vip, path)
            except OSError as error:
                return words_of(error)
            return f"node {self.host} exists"

        wait = Wait(self.clock, NODE_S, poll_s=POLL_S)
        if late := wait.until(left, with_time_left(self.report, "deleting its node")):
            what = f"off, but after {NODE_S:.0f} s its node is not deleted: {late}"
            raise ProvisioningError(what, where=self.host, fix=AGAIN)

    @contextmanager
    def _steps(self, within_s: float) -> Iterator[Steps]:
        """Yield steps on the BMC, which is that of the machine.

        Raises:
            BmcError: It is not, or does not say so in time.
            BusyError: Another run works on it.
        """
        with self.bmc() as bmc:
            steps = Steps(bmc, self.clock, self.clock.now() + within_s)
            machine = run_steps(steps.identity(self.uuid), self.clock)
            if self.uuid and not machine.answers_to(self.uuid):
                what = f"the BMC is that of {named(machine)}, wanted {self.uuid}"
                fix = "drain this node and switch its server off yourself"
                raise BmcIdentityError(what, where=f"{self.host} ({bmc.url})", fix=fix)
            yield steps
