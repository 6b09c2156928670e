"""CPU time and memory of processes, by kind."""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_S = 0.25
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PULUMI = {"pulumi.dynamic": "plugin", "pulumi-language-python": "program", "pulumi ": "engine"}
"""The kinds of a Pulumi command's processes. All others are helpers of the plugin, whose cost includes theirs."""


def by_words(kinds: Mapping[str, str]) -> Callable[[int], str]:
    """Return a function for the kind of a process: that of the first of these words in its command line, or empty."""

    def kind_of(pid: int) -> str:
        line = command_line(pid)
        return next((kind for word, kind in kinds.items() if word in line), "")

    return kind_of


@dataclass
class Cost:
    """The cost of all processes of one kind."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0
    """Peak memory of the largest process."""
    together_mib: float = 0.0
    """Peak memory of all of them together; a page that n processes share counts 1/n in each."""


@dataclass
class Watch:
    """Samples a process and its descendants from `start` to `stop`, without their cost after their last sample."""

    root: int
    kind_of: Callable[[int], str] = field(default_factory=lambda: by_words(PULUMI))
    every_s: float = SAMPLE_S
    _before_s: dict[int, float] = field(default_factory=dict)
    _cpu_s: dict[int, tuple[str, float]] = field(default_factory=dict)
    _peaks: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _together: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> "Watch":
        """Start sampling in a thread."""
        self._sample_all()
        self._before_s = {pid: cpu_s for pid, (_, cpu_s) in self._cpu_s.items()}
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def stop(self) -> dict[str, Cost]:
        """Stop sampling, and return the cost by kind."""
        self._stop.set()
        self._thread.join()
        costs: dict[str, Cost] = defaultdict(Cost)
        for pid, (kind, cpu_s) in self._cpu_s.items():
            costs[kind].cpu_s += cpu_s - self._before_s.get(pid, 0)
        for kind, peak_mib in self._peaks.items():
            costs[kind].peak_mib = peak_mib
            costs[kind].together_mib = self._together[kind]
        return costs

    def _run(self) -> None:
        while not self._stop.wait(self.every_s):
            self._sample_all()

    def _sample_all(self) -> None:
        together: dict[str, float] = defaultdict(float)
        for pid in _below(self.root):
            try:
                if kind := self.kind_of(pid):
                    together[kind] += self._sample(pid, kind)
            except (OSError, IndexError):  # it has ended
                continue
        for kind, now_mib in together.items():
            self._together[kind] = max(self._together[kind], now_mib)

    def _sample(self, pid: int, kind: str) -> float:
        """Record a process, and return its share of memory in MiB."""
        times = fields(pid)[11:15]  # its own, and those of the children that have ended
        own = 4 if kind == "plugin" else 2
        self._cpu_s[pid] = kind, sum(map(int, times[:own])) / TICKS_PER_S
        self._peaks[kind] = max(self._peaks[kind], _mib(pid, "status", "VmHWM"))
        return _mib(pid, "smaps_rollup", "Pss")


def command_line(pid: int) -> str:
    """Return the command line of a process.

    Raises:
        OSError: It has ended.
    """
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _mib(pid: int, file: str, name: str) -> float:
    lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), 0.0)


def fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the name, which may contain spaces and brackets."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _below(root: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            children[int(fields(int(entry.name))[1])].append(int(entry.name))
        except OSError:
            continue
    pids = [root]
    for pid in pids:
        pids += children[pid]
    return pids
