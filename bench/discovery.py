"""`python -m bench.discovery [N]`: a discovery of N BMCs, compared with one of them alone, in the same run."""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pydantic import SecretStr

from bench.tables import row, table
from cli.discover.addresses import targets_of
from cli.discover.logins import BmcLogin
from cli.discover.reading import Reader
from cluster.inventory.model import DiscoveredServer
from providers.pulumi.workers import WORKERS
from testing.fakes.fleet.fleet import Fleet, Options, Pace, running_in_process
from testing.fakes.fleet.vendors import VENDORS

HOSTS = 100
LATENCY_S = (0.05, 0.15)
"""Of each answer: a choice of our own, since no real BMC was measured."""


def read_s(fleet: Fleet, hosts: Sequence[int]) -> tuple[float, int, int]:
    """Discover hosts side by side; return the seconds, the servers that were read, and the most requests of one."""
    login = BmcLogin(username=fleet.options.username, password=SecretStr(fleet.options.password))
    targets, reader = targets_of([fleet.base(host) for host in hosts], None), Reader([login], fleet.ca, verify=True)
    began = time.monotonic()
    with ThreadPoolExecutor(min(WORKERS, len(targets))) as threads:
        reads = [one for found in threads.map(reader.read, targets) for one in found]
    took_s = time.monotonic() - began
    most = max(len(fleet.figures(host).lines) for host in hosts)
    return took_s, sum(isinstance(one, DiscoveredServer) for one in reads), most


def main() -> None:
    """Read the first BMC alone, then all."""
    hosts = int(sys.argv[1]) if sys.argv[1:] else HOSTS
    table("A discovery", "BMCs", "all read, s", "ratio to one", "servers", "most requests of a BMC", "load")
    options = Options(hosts=hosts + 1, vendors=tuple(VENDORS), pace=Pace(latency_s=LATENCY_S))
    with running_in_process(options) as fleet:
        one_s, servers, most = read_s(fleet, [hosts])
        row(1, one_s, 1.0, servers, most)
        all_s, servers, most = read_s(fleet, range(hosts))
        row(hosts, all_s, all_s / one_s, servers, most)


if __name__ == "__main__":
    main()
