"""CPU time and memory of a Pulumi command's processes, by kind."""

import os
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_S = 0.25
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KINDS = {"pulumi.dynamic": "plugin", "pulumi-language-python": "program", "pulumi ": "engine"}
"""The kind of a process, by the first of these words in its command line.

Other processes are helpers of the plugin, whose cost includes theirs.
"""


@dataclass
class Cost:
    """The cost of all processes of one kind."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0
    """Peak memory of the largest process."""


@dataclass
class Watch:
    """Samples a process and its descendants until `stop`; misses what a process spends after its last sample."""

    root: int
    _cpu_s: dict[int, tuple[str, float]] = field(default_factory=dict)
    _peaks: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> "Watch":
        """Start sampling in a thread."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def stop(self) -> dict[str, Cost]:
        """Stop sampling, and return the cost by kind."""
        self._stop.set()
        self._thread.join()
        costs: dict[str, Cost] = defaultdict(Cost)
        for kind, cpu_s in self._cpu_s.values():
            costs[kind].cpu_s += cpu_s
        for kind, peak_mib in self._peaks.items():
            costs[kind].peak_mib = peak_mib
        return costs

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            for pid in _below(self.root):
                try:
                    self._sample(pid)
                except (OSError, IndexError):  # it has ended since
                    continue

    def _sample(self, pid: int) -> None:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        kind = next((kind for mark, kind in KINDS.items() if mark in line), "")
        if not kind:
            return
        times = _fields(pid)[11:15]  # its own, and those of the children that have ended
        own = 4 if kind == "plugin" else 2
        self._cpu_s[pid] = kind, sum(map(int, times[:own])) / TICKS_PER_S
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                self._peaks[kind] = max(self._peaks[kind], int(line.split()[1]) / 1024)


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the name, which may contain spaces and brackets."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _below(root: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            children[int(_fields(int(entry.name))[1])].append(int(entry.name))
        except OSError:
            continue
    found = [root]
    for pid in found:
        found += children[pid]
    return found
