"""Comparison of a machine with the operator's consent: the one machine whose disk may be wiped for a host."""

from base.errors import Fault
from cluster.values.consent import consent_command
from wires.bmc.client import Identity
from wires.bmc.identity import is_shared, named, usable


def naming(host: str, machine: Identity) -> str:
    """Return what the operator does to consent to a machine."""
    if value := usable(machine):
        kind = "UUID" if value == machine.uuid else "serial"
        return f"name its {kind}: {consent_command(host, value)}"
    if not (machine.uuid or machine.serial):
        return "run this again in 2 minutes, if its BMC has just started; else set a serial number in its firmware"
    return "set a serial number in its firmware first: neither its serial nor its UUID is unique"


def consent_fault(host: str, consent: str, machine: Identity) -> Fault | None:
    """Return why the consent to a host's disk is not one to this machine; None if it is."""
    if not machine.answers_to(consent):
        what = f"consent names {consent or 'no machine'}, the BMC is that of {named(machine)}"
        return Fault("", what, f"if that machine's disk may be wiped, {naming(host, machine)}{_zeros(consent)}")
    if is_shared(consent):
        what = f"consent names {consent}, which many machines share; this one is {named(machine)}"
        return Fault("", what, f"if its disk may be wiped, {naming(host, machine)}")
    return None


def _zeros(consent: str) -> str:
    """Return a hint for a consent that may have lost its first digits: YAML reads 0012 as a number."""
    return "; a serial that begins with 0 stands in quotes in the stack's file" if consent.isdecimal() else ""
