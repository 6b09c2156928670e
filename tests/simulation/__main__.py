"""Lives histories: `python -m tests.simulation SEEDS [FIRST]`; or tells the one of a seed: `… --tell SEED`."""

import sys
import time
from collections import Counter

from tests.simulation.history import drawn
from tests.simulation.judge import lived


def main(words: list[str]) -> int:
    if words[0] == "--tell":
        life = lived(drawn(words[1]), story=True)
        print("\n".join(life.world.story))
        print("\n".join(map(str, life.breaches)))
        return 0
    count, first = int(words[0]), int(words[1]) if words[1:] else 0
    began, runs, seconds, broken = time.monotonic(), 0, 0.0, Counter[str]()
    examples: dict[str, list[str]] = {}
    for number in range(first, first + count):
        life = lived(drawn(str(number)))
        for breach in life.breaches:
            broken[breach.promise] += 1
            examples.setdefault(breach.promise, []).append(f"{number}: {breach.what[:300]}")
        runs, seconds = runs + life.runs, seconds + life.world.clock.now()
    spent = time.monotonic() - began
    print(f"{count} histories, {runs} runs, {seconds:,.0f} simulated s, in {spent:.1f} s: {count / spent:.1f} per s")
    for promise, times in broken.most_common():
        print(f"{times} {promise}")
        for line in examples[promise][:4]:
            print(f"    {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
