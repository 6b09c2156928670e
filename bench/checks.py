"""`python -m bench.checks [N [SICK]]`: compare a check of N BMCs, SICK of which hang, with that of N healthy ones.

It runs the real check on BMCs of the fake fleet, over TLS, with the bound of a check and without: as `up` would wait.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from pydantic import SecretStr

from base.clock import SYSTEM_CLOCK
from bench.tables import row, table
from providers.bmc_host.checks import Check
from providers.bmc_host.engine import BmcHostEngine
from providers.pulumi.workers import WORKERS
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running_in_process
from testing.fakes.fleet.vendors import VENDORS
from wires.bmc.access import CHECK_LIMITS, LIMITS, BmcAccess, Limits
from wires.redfish.probe import BmcProbe

HOSTS, SICK = 100, 10
ANSWERED = 4
"""Number of answers after which a sick BMC hangs."""


def ends_s(fleet: Fleet, limits: Limits) -> list[float]:
    """Check all hosts at once, as `bmc check` does, and return after how many seconds each was done, sorted."""
    began = time.monotonic()

    def end_of(host: int) -> float:
        access = BmcAccess(address=fleet.address(host), username=fleet.options.username, ca=fleet.ca)
        bmc = BmcProbe(access, SecretStr(fleet.options.password), limits)
        Check(bmc, BmcHostEngine(bmc, SYSTEM_CLOCK, print, f"h{host}", "", 0), has_stack=False).report()
        bmc.close()
        return time.monotonic() - began

    hosts = range(fleet.options.hosts)
    with ThreadPoolExecutor(min(WORKERS, len(hosts))) as threads:
        return sorted(threads.map(end_of, hosts))


def main() -> None:
    """Check the same fleet while all are well, then while some are sick, without the bound and with it."""
    numbers = [int(word) for word in sys.argv[1:]]
    hosts, sick = [*numbers, *(HOSTS, SICK)[len(numbers) :]]
    table(f"A check of {hosts} BMCs", "hang", "bound", "all done, s", "ratio to all well", "the well ones, s", "load")
    with running_in_process(Options(hosts=hosts, vendors=tuple(VENDORS))) as fleet:
        ends_s(fleet, CHECK_LIMITS)  # imports, and the first certificates
        well_s = ends_s(fleet, CHECK_LIMITS)[-1]
        row(0, "yes", well_s, 1.0, well_s)
        for bound, limits in (("no", LIMITS), ("yes", CHECK_LIMITS)):
            fleet.fault(Fault("GET", "hang", skip=ANSWERED), hosts=tuple(range(sick)))
            ends = ends_s(fleet, limits)
            row(sick, bound, ends[-1], ends[-1] / well_s, ends[-1 - sick])
            fleet.heal()


if __name__ == "__main__":
    main()
