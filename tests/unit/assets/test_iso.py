"""Boot ISOs: what the real coreos-installer writes, as patches of the base."""

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from assets.errors import AssetError
from assets.iso import Iso, cache_dir, customize, ensure_base
from tests import live_iso

CONFIG = b'{"ignition":{"version":"3.2.0"}}'
KEYFILES = {"eth0.nmconnection": "[connection]\nid=eth0\n", "eth1.nmconnection": "[connection]\nid=eth1\n"}


@pytest.fixture(scope="module")
def installer() -> Path:
    return live_iso.installer()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("iso") / "base.iso"
    path.write_bytes(live_iso.live_iso())
    return path


def made(
    base: Path,
    tool: Path,
    *,
    ignition: bytes = CONFIG,
    keyfiles: Mapping[str, str] | None = None,
    root_device: str = "/dev/vda",
) -> Iso:
    return customize(base, ignition=ignition, keyfiles=keyfiles or {}, root_device=root_device, coreos_installer=tool)


def whole(iso: Iso) -> bytes:
    content = bytearray(iso.base.read_bytes().ljust(iso.size, b"\0")[: iso.size])
    for offset, patch in iso.patches:
        content[offset : offset + len(patch)] = patch
    return bytes(content)


def test_base_and_patches_are_what_the_tool_writes(base: Path, installer: Path, tmp_path: Path) -> None:
    iso = made(base, installer, keyfiles=KEYFILES)
    merged = tmp_path / "merged.iso"
    merged.write_bytes(whole(iso))
    shown = subprocess.run(
        [installer, "iso", "ignition", "show", merged], check=True, capture_output=True, text=True
    ).stdout
    assert "dest.ign" in shown
    assert "post-install" in shown
    subprocess.run([installer, "iso", "network", "extract", "-C", tmp_path / "network", merged], check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "network").iterdir()} == KEYFILES
    assert 0 < sum(len(patch) for _, patch in iso.patches) < 512 * 1024
    assert iso.base == base


def test_the_digest_names_the_content(base: Path, installer: Path) -> None:
    first = made(base, installer).sha256
    assert first == made(base, installer).sha256
    others = (
        made(base, installer, root_device="/dev/vdb"),
        made(base, installer, ignition=b'{"ignition":{"version":"3.3.0"}}'),
        made(base, installer, keyfiles=KEYFILES),
        made(base, installer, keyfiles={**KEYFILES, "eth1.nmconnection": "[connection]\nid=other\n"}),
    )
    assert len({first, *(other.sha256 for other in others)}) == 5


def test_nothing_is_left_on_disk(
    base: Path, installer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made(base, installer, keyfiles=KEYFILES)
    with pytest.raises(AssetError):
        made(base, installer, ignition=b"no json", keyfiles=KEYFILES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "tool", "message"),
    [(b"no iso", None, "refuses to customize"), (b"no iso", Path("/none"), "cannot be run")],
    ids=["no-iso", "no-tool"],
)
def test_a_refusal_is_one_line(
    installer: Path, tmp_path: Path, content: bytes, tool: Path | None, message: str
) -> None:
    path = tmp_path / "x.iso"
    path.write_bytes(content)
    with pytest.raises(AssetError, match=message) as caught:
        made(path, tool or installer)
    assert "\n" not in str(caught.value)


def test_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    """A tool that tells the modes of what it is handed."""
    tool, seen, base = tmp_path / "tool", tmp_path / "modes", tmp_path / "base.iso"
    tool.write_text(f'#!/bin/sh\nstat -c %a "$4" "${{10}}" "$(dirname "$4")" >{seen}\ncat {base}\n')
    tool.chmod(0o755)
    base.write_bytes(bytes(200_000))
    iso = made(base, tool, keyfiles=KEYFILES)
    assert seen.read_text().split() == ["600", "600", "700"]
    assert (iso.patches, iso.size) == ((), 200_000)


class TestBase:
    """The base ISO in the cache."""

    content = b"iso" * 1_000_000
    sha256 = hashlib.sha256(content).hexdigest()

    @pytest.fixture(autouse=True)
    def _own_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        path = tmp_path / "source.iso"
        path.write_bytes(self.content)
        return path

    def test_it_is_downloaded_once(self, source: Path) -> None:
        lines: list[str] = []
        path = ensure_base(self.sha256, source.as_uri(), lines.append)
        source.unlink()
        assert ensure_base(self.sha256, source.as_uri(), lines.append) == path
        assert path.read_bytes() == self.content
        assert lines[-1] == "base ISO: 2 of 2 MiB"

    def test_another_one_is_refused_and_not_kept(self, source: Path) -> None:
        with pytest.raises(AssetError, match=rf"sha256 is {self.sha256}, the stack wants {'0' * 64}"):
            ensure_base("0" * 64, source.as_uri(), lambda _: None)
        assert list((cache_dir() / "images").iterdir()) == []

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("", r"no such base ISO.*media\.base_iso\.url"),
            ("file:///none", "cannot be downloaded"),
            ("/x", "must start"),
        ],
        ids=["no-url", "missing", "no-scheme"],
    )
    def test_what_cannot_be_had_is_one_line(self, url: str, message: str) -> None:
        with pytest.raises(AssetError, match=message):
            ensure_base(self.sha256, url, lambda _: None)
