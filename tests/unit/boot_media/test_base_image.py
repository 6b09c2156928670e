"""The base ISO in the cache: downloaded once, identified by its digest."""

import hashlib
from pathlib import Path

import pytest

from boot_media.base_image import DISK_SOURCE, ISO_URLS, base_path, ensure_base
from cluster.values.architecture import Architecture
from providers.base.errors import BootMediaError

ISO_URL = ISO_URLS[Architecture.AMD64]
CONTENT = b"iso" * 1_000_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.iso"
    path.write_bytes(CONTENT)
    return path


def test_the_base_iso_is_downloaded_once(source: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    path = ensure_base(ISO_URL, SHA256, source.as_uri(), lines.append)
    source.unlink()
    assert ensure_base(ISO_URL, SHA256, source.as_uri(), lines.append) == path
    assert path == base_path(SHA256) == tmp_path / "cache" / "okd-baremetal" / "images" / SHA256
    assert path.read_bytes() == CONTENT
    assert lines[-1] == "base ISO: 2 of 2 MiB"


def test_a_download_with_another_digest_is_refused_and_not_kept(source: Path, tmp_path: Path) -> None:
    with pytest.raises(BootMediaError) as caught:
        ensure_base(ISO_URL, "0" * 64, source.as_uri(), lambda _: None)
    assert str(caught.value) == (
        f"{source.as_uri()}: sha256 is {SHA256}, the stack wants {'0' * 64}. Fix: set media.base_iso.sha256 to it if "
        f"{source.as_uri()} has the right image; else correct media.base_iso.url"
    )
    assert list((tmp_path / "cache" / "okd-baremetal" / "images").iterdir()) == []


@pytest.mark.parametrize(
    ("option", "pin", "place"),
    [
        (DISK_SOURCE, "provisioner.base_image.sha256", "provisioner.base_image.source"),
        (ISO_URLS[Architecture.ARM64], "media.base_iso_arm64.sha256", "media.base_iso_arm64.url"),
    ],
)
def test_a_refusal_names_the_options_of_the_image(source: Path, option: str, pin: str, place: str) -> None:
    with pytest.raises(BootMediaError) as caught:
        ensure_base(option, "0" * 64, source.as_uri(), lambda _: None)
    assert caught.value.fault.fix == f"set {pin} to it if {source.as_uri()} has the right image; else correct {place}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "",
            r"/images/[0-9a-f]{64}: no such base ISO\. Fix: put it there, or set media\.base_iso\.url$",
        ),
        (
            "file:///none",
            r"^file:///none: cannot be downloaded \(.*\)\. "
            r"Fix: correct media\.base_iso\.url, or put the image into the cache$",
        ),
        ("/x", r"^/x: unknown scheme\. Fix: start media\.base_iso\.url with one of https://, http://, file://$"),
    ],
    ids=["no-url", "missing", "no-scheme"],
)
def test_a_failed_download_is_one_line(url: str, message: str) -> None:
    with pytest.raises(BootMediaError, match=message) as caught:
        ensure_base(ISO_URL, SHA256, url, lambda _: None)
    assert "\n" not in str(caught.value)
