"""The architecture of a live ISO, as its kernel names it."""

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
