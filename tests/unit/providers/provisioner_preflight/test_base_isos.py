"""The base ISOs that the preflight looks for: one for each architecture of the servers."""

from cluster.values.architecture import Architecture
from providers.preflight import PreflightResult
from testing.fakes.provisioner import ISO, files, result_of

OF_ARM64 = {"base_iso_sha256": "", "base_iso_arm64_sha256": "d3"}


def faults(result: PreflightResult) -> list[str]:
    return [str(fault) for fault in result.faults]


def test_each_wanted_iso_is_checked() -> None:
    assert faults(result_of(OF_ARM64)) == []
    both = {"base_iso_arm64_sha256": "a6"}
    assert faults(result_of(both)) == [
        "base ISO of arm64: /cache/a6 is missing. Fix: `cp <live ISO> /cache/a6`, or "
        "`pulumi config set --path media.base_iso_arm64.url <its URL>`"
    ]
    by_url = result_of({**both, "base_iso_arm64_url": "https://mirror/x.iso"})
    assert by_url.not_probed == [
        "base ISO of arm64: not in the cache; media.base_iso_arm64.url is fetched when a server is installed"
    ]


def test_an_iso_of_another_architecture_is_a_fault() -> None:
    arm64, amd64 = {ISO: Architecture.ARM64}, {ISO: Architecture.AMD64}
    assert faults(result_of(architectures=arm64)) == [
        f"{ISO}: its kernel is of arm64, and media.base_iso is booted by servers of amd64. "
        "Fix: have media.base_iso name CoreOS' live ISO of amd64, with its sha256"
    ]
    assert faults(result_of(OF_ARM64, architectures=amd64)) == [
        f"{ISO}: its kernel is of amd64, and media.base_iso_arm64 is booted by servers of arm64. "
        "Fix: have media.base_iso_arm64 name CoreOS' live ISO of arm64, with its sha256"
    ]
    assert [faults(result_of(architectures=amd64)), faults(result_of(OF_ARM64, architectures=arm64))] == [[], []]


def test_the_bytes_of_an_iso_are_checked_before_its_architecture() -> None:
    (fault,) = faults(result_of(files=files(iso="ff"), architectures={ISO: Architecture.ARM64}))
    assert fault.startswith(f"base ISO {ISO}: sha256 is ff")
