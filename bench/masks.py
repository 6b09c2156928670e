"""`python -m bench.masks`: mask 4 MiB of the texts that take longest, and a quarter of them.

The texts are those that `tests/fuzz` mutates: what the patterns of the masks begin with, over and over. A mask that
reads a text in one pass takes four times as long for four times the text.
"""

import time
from collections.abc import Callable

from pydantic import SecretStr

from base.masking import mask_lines, mask_logins, mask_pairs
from bench.tables import row, table
from testing.fuzz.masks import PARTS
from wires.redfish.client.masking import TrafficMask

LENGTH = 4 * 1024 * 1024
TRAFFIC = TrafficMask(SecretStr("a password"))
MASKS: dict[str, Callable[[str], object]] = {
    "body of a BMC's answer": TRAFFIC.body,
    "error of a BMC": TRAFFIC.text,
    "names with values": mask_pairs,
    "logins in URLs": mask_logins,
    "lines of a log": mask_lines,
}


def spent_s(mask: Callable[[str], object], part: str, length: int) -> float:
    """Return the CPU time in which a mask reads one repeated part, the better one of two runs."""
    text, times_s = part * (length // len(part)), list[float]()
    for _ in range(2):
        began = time.process_time()
        mask(text)
        times_s.append(time.process_time() - began)
    return min(times_s)


def main() -> None:
    """Print for each mask the text that takes longest."""
    table(f"Masks of {LENGTH:,} characters", "mask", "text", "CPU, s", "ratio to a quarter", "load")
    for name, mask in MASKS.items():
        longest_s, part = max((spent_s(mask, part, LENGTH), part) for part in PARTS)
        row(name, f"`{part[:12]!r}`", longest_s, longest_s / spent_s(mask, part, LENGTH // 4))


if __name__ == "__main__":
    main()
