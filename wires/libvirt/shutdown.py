"""The end of a virtual machine: it is shut down gracefully if the guest allows, else by force."""

from base.clock import Clock, Wait
from base.progress import Progress, Report
from wires.libvirt.hypervisor import Hypervisor

BUTTON_AGAIN_S = 10.0  # a busy guest may miss the first press


def stop(hypervisor: Hypervisor, name: str, *, deadline_s: float, clock: Clock, report: Report) -> bool:
    """Press the power button, wait up to `deadline_s` seconds, then cut the power.

    Returns:
        Whether the guest shut down by itself; True for a domain that is off or does not exist.
    """

    def running() -> str | None:
        domain = hypervisor.find(name)
        return "running" if domain and domain.running else None

    def press(_missing: str, left_s: float) -> None:
        report(Progress("power button pressed", f"{name} is forced off in {left_s:.0f} s"))
        hypervisor.shut_down(name)

    if not Wait(clock, deadline_s, report_s=BUTTON_AGAIN_S).until(running, press):
        return True
    report(Progress("forced off", f"{name} ignored its power button for {deadline_s:g} s"))
    hypervisor.power_off(name)
    return False


def end(hypervisor: Hypervisor, name: str, *, deadline_s: float, clock: Clock, report: Report) -> None:
    """Stop it as `stop` does, then remove its definition; if it does not exist, that is a success."""
    stop(hypervisor, name, deadline_s=deadline_s, clock=clock, report=report)
    if hypervisor.find(name):
        hypervisor.undefine(name)
