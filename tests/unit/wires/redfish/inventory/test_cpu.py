"""x86-64-v3 by the names of CPUs, of captured trees and of Intel's and AMD's lists."""

import pytest

from wires.redfish.inventory.cpu import architecture, has_v3


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz", True),
        ("Intel(R) Xeon(R) Platinum 8462Y+", True),
        ("INTEL(R) XEON(R) GOLD 6530", True),
        ("Intel(R) Xeon(R) 6787P", True),
        ("Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz", True),
        ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", True),
        ("Intel(R) Xeon(R) CPU D-1541 @ 2.10GHz", True),
        ("Intel(R) Xeon(R) W-2245 CPU @ 3.90GHz", True),
        ("AMD EPYC 7763 64-Core Processor", True),
        ("Intel(R) Xeon(R) CPU E5-2630 v2 @ 2.60GHz", False),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", False),
        ("Intel(R) Xeon(R) CPU X5650 @ 2.67GHz", False),
        ("Intel(R) Xeon(R) 6 6787P", True),
        ("Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz", True),
        ("Intel(R) Xeon(R) CPU E5520 @ 2.27GHz", False),
        ("Intel(R) Xeon(R) CPU E7450 @ 2.40GHz", False),
        ("Intel(R) Xeon(TM) CPU 7130M @ 3.20GHz", None),
        ("Intel(R) Xeon(R) processor", None),
        ("Intel(R) Pentium(R) Gold G6400", None),
        ("Intel(R) Atom(TM) CPU C3958 @ 2.00GHz", None),
        ("AMD Opteron(tm) X3421 APU", None),
        ("AMD Eng Sample: 100-000000248-08_35/21_N", None),
        ("", None),
    ],
)
def test_the_level_is_known_only_by_a_name_of_the_tables(name: str, level: bool | None) -> None:
    assert has_v3(name) is level


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("x86-64", ""), "amd64"),
        (("ARM-A64", ""), "arm64"),
        (("", "ARMv9"), "arm64"),
        (("x86", ""), ""),
        (("", "Grace A02"), ""),
    ],
)
def test_the_architecture_is_what_the_bmc_says(words: tuple[str, ...], kind: str) -> None:
    assert architecture(words) == kind
