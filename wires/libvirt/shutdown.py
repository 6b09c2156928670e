"""Shutdown of a virtual machine: gracefully if the guest allows, else by force."""

from base.clock import Clock
from base.progress import Progress, Report
from wires.libvirt.hypervisor import Hypervisor

POLL_S = 0.5
BUTTON_AGAIN_S = 10.0  # a busy guest may miss the first press


def stop(hypervisor: Hypervisor, name: str, *, deadline_s: float, clock: Clock, report: Report) -> bool:
    """Press the power button, wait up to `deadline_s` seconds, then cut the power.

    Returns:
        Whether the guest shut down by itself; True for a domain that is off or does not exist.
    """
    until = clock.now() + deadline_s
    press = clock.now()
    while (found := hypervisor.find(name)) and found.running:
        now = clock.now()
        if now >= until:
            report(Progress("forced off", f"{name} ignored its power button for {deadline_s:g} s"))
            hypervisor.power_off(name)
            return False
        if now >= press:
            report(Progress("power button pressed", f"{name} is forced off in {until - now:.0f} s"))
            hypervisor.shut_down(name)
            press = now + BUTTON_AGAIN_S
        clock.sleep(POLL_S)
    return True
