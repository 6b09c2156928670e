"""The architecture of a live ISO, as its kernel names it."""

import os
import tracemalloc
from pathlib import Path

import pytest

from boot_media.architecture import architecture_of
from testing.live_iso import kernel, live_iso


@pytest.mark.parametrize(
    ("content", "architecture"),
    [
        pytest.param(live_iso(kernel(0x8664)), "amd64", id="amd64"),
        pytest.param(live_iso(kernel(0xAA64)), "arm64", id="arm64"),
        pytest.param(live_iso(kernel(0x5064)), None, id="another-machine"),
        pytest.param(live_iso(b"\x1f\x8b".ljust(4096, b"\0")), None, id="packed-kernel"),
        pytest.param(live_iso(), None, id="no-kernel"),
        pytest.param(bytes(200_000), None, id="no-directory"),
        pytest.param(b"", None, id="empty"),
    ],
)
def test_a_kernel_names_its_architecture(tmp_path: Path, content: bytes, architecture: str | None) -> None:
    path = tmp_path / "live.iso"
    path.write_bytes(content)
    with path.open("rb") as iso:
        assert architecture_of(iso) == architecture


@pytest.mark.parametrize("length", range(1, 40))
def test_a_torn_record_of_a_directory_is_no_kernel(tmp_path: Path, length: int) -> None:
    """S17 of issue 43: each length of the root directory's first record, and of a directory that ends within it."""
    iso = bytearray(live_iso(kernel(0x8664)))
    root = int.from_bytes(iso[16 * 2048 + 158 : 16 * 2048 + 162], "little") * 2048
    for content in (iso[:root] + bytes([length]) + iso[root + 1 :], iso[: root + length]):
        path = tmp_path / "live.iso"
        path.write_bytes(content)
        with path.open("rb") as file:
            architecture_of(file)


def test_a_directory_that_claims_the_whole_disk_takes_no_memory(tmp_path: Path) -> None:
    """S17 of issue 43."""
    iso = bytearray(live_iso(kernel(0x8664)))
    iso[16 * 2048 + 166 : 16 * 2048 + 170] = b"\xff" * 4
    path = tmp_path / "live.iso"
    path.write_bytes(iso)
    os.truncate(path, 2**33)
    with path.open("rb") as file:
        tracemalloc.start()
        architecture_of(file)
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
        tracemalloc.stop()
