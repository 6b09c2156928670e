"""`python -m bench.hung_member [RUNS]`, as root: one of three API servers hangs and returns, behind real haproxy.

The rendered haproxy.cfg is compared with itself when its checks are those that upstream had until August 2026
(machine-config-operator#6400). The two take turns, so that a busy moment of the machine affects both.
"""

import re
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from testing.namespaces import in_own_network
from testing.scene.machine import until
from testing.scene.members import API, Members, ended, members_of

RUNS = 3
HUNG = "okd-master-1"
EARLIER = "default-server check check-ssl verify none inter 5s fall 3 rise 1"
WATCHED_S = 60
"""For which the member hangs. haproxy ends a silent connection of an API client after 5 minutes."""
BETWEEN_S = 0.5
CONNECTS = 60


@dataclass(frozen=True)
class Figures:
    """The figures of a run."""

    pinned_s: float
    """Until the connections that the hung member had were closed; `WATCHED_S` if they never were."""
    failing_s: float
    """Until the last new connection had failed."""
    share: float
    """Of the connects right after its return, those that it got over those that it gets in the long run."""


def measure(members: Members) -> Figures:
    """Freeze a member while clients connect, thaw it, and count what it gets."""
    hung, pinned = members.node(HUNG), [float(WATCHED_S)]
    with members.to_each() as clients:
        began = time.monotonic()
        hung.freeze(API)

        def watch() -> None:
            if ended(clients[HUNG], WATCHED_S):
                pinned[0] = time.monotonic() - began

        watcher = threading.Thread(target=watch)
        watcher.start()
        failed_s = list(failures(members, began))
        watcher.join()
    hung.signal("CONT", API)
    until("haproxy notices", lambda: members.reported(f"{HUNG} is UP"))
    share = members.serving(CONNECTS).count(HUNG) / (CONNECTS / len(members.nodes))
    return Figures(pinned[0], max(failed_s, default=0.0), share)


def failures(members: Members, began: float) -> Iterator[float]:
    """Connect again and again; yield the time of each failure, in seconds since the freeze."""
    while time.monotonic() - began < WATCHED_S:
        try:
            members.serving(1)
        except OSError:
            yield time.monotonic() - began
        time.sleep(BETWEEN_S)


@contextmanager
def balanced(folder: Path, checks: str | None) -> Iterator[Members]:
    """Run the members behind haproxy, with these checks in place of the rendered ones."""
    with members_of("rehearsal", folder) as members:
        if checks:
            config = members.balancer.folder / "etc/okd-baremetal/haproxy.cfg"
            config.write_text(re.sub("default-server .*", checks, config.read_text()))
        members.start()
        yield members


def main() -> None:
    """Measure both, and print the medians and their ratio."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    figures: dict[str, list[Figures]] = defaultdict(list)
    for run in range(runs):
        for name, checks in {"earlier": EARLIER, "rendered": None}.items():
            with tempfile.TemporaryDirectory() as scratch:

                def work(folder: Path = Path(scratch), checks: str | None = checks) -> Figures:
                    with balanced(folder, checks) as members:
                        return measure(members)

                figures[name].append(in_own_network(work))
                print(f"run {run + 1}, {name}: {figures[name][-1]}", flush=True)
    print("| figure | earlier | rendered | ratio |\n|---|---|---|---|")
    for field in fields(Figures):
        earlier, rendered = (statistics.median(getattr(one, field.name) for one in of) for of in figures.values())
        print(f"| {field.name} | {earlier:.2f} | {rendered:.2f} | {rendered / earlier:.2f} |")


if __name__ == "__main__":
    main()
