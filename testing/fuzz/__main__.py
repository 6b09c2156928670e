"""Search for a finding, with new seeds until the time is over, or replay one. USAGE: make fuzz FUZZ_S=SECONDS."""

import argparse
import sys
import time
from itertools import count
from pathlib import Path

from testing.fuzz.engine import SURFACES, Finding, replay, search

BATCH = 200
FINDINGS = Path("fuzz-findings")


def main() -> int:
    """Search or replay; exit code 1 for a finding."""
    parser = argparse.ArgumentParser(prog="python -m testing.fuzz", description=__doc__)
    parser.add_argument("surfaces", nargs="*", metavar="SURFACE", help=f"of {', '.join(SURFACES)}; default: all")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--first", type=int, help="the first seed; by default, of the clock")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="the case of a finding of the one SURFACE")
    options = parser.parse_args()
    if options.replay:
        (name,) = options.surfaces
        return _report(replay(name, options.replay))
    return _report(_search(options.surfaces or [*SURFACES], options.seconds, options.first))


def _search(names: list[str], seconds: float, first: int | None) -> Finding | None:
    until, done = time.monotonic() + seconds, 0
    for start in count(int(time.time()) * 1000 if first is None else first, BATCH):
        for name in names:
            if finding := search(name, range(start, start + BATCH)):
                return finding
            done += BATCH
            print(f"{done:,} cases, the last of {name} from seed {start}", flush=True)
            if time.monotonic() > until:
                return None
    return None


def _report(finding: Finding | None) -> int:
    if finding is None:
        print("no finding")
        return 0
    FINDINGS.mkdir(exist_ok=True)
    file = FINDINGS / f"{finding.surface}-{finding.seed}"
    file.write_bytes(finding.case)
    print(finding.what, file=sys.stderr)
    print(f"replay: {sys.executable} -m testing.fuzz {finding.surface} --replay {file}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
