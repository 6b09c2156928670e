"""Boot ISOs: what the real coreos-installer writes, as patches of the base."""

import hashlib
import lzma
import os
import subprocess
from pathlib import Path

import pytest

from assets.errors import AssetError
from assets.iso import Iso, cache_dir, customize, ensure_base, find_installer

CONFIG = b'{"ignition":{"version":"3.2.0"}}'
FIXTURE = "registry/src/*/coreos-installer-0.27.0/fixtures/iso/embed-areas-2023-07.x86_64.iso.xz"


@pytest.fixture(scope="module")
def installer() -> Path:
    try:
        return find_installer()
    except AssetError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest ISO with the layout of a CoreOS live ISO: a fixture of the tool's own crate."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    packed = next(cargo.glob(FIXTURE), None)
    if packed is None:
        pytest.skip(
            "the sources of coreos-installer are not in the cargo registry (tools/coreos-installer fetches them)"
        )
    path = tmp_path_factory.mktemp("iso") / "base.iso"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def whole(iso: Iso) -> bytes:
    content = bytearray(iso.base.read_bytes().ljust(iso.size, b"\0")[: iso.size])
    for offset, patch in iso.patches:
        content[offset : offset + len(patch)] = patch
    return bytes(content)


def test_base_and_patches_are_what_the_tool_writes(base: Path, installer: Path, tmp_path: Path) -> None:
    iso = customize(base, ignition=CONFIG, root_device="/dev/vda", coreos_installer=installer)
    merged = tmp_path / "merged.iso"
    merged.write_bytes(whole(iso))
    shown = subprocess.run(
        [installer, "iso", "ignition", "show", merged], check=True, capture_output=True, text=True
    ).stdout
    assert "dest.ign" in shown
    assert "post-install" in shown
    assert 0 < sum(len(patch) for _, patch in iso.patches) < 512 * 1024
    assert iso.base == base


def test_the_digest_names_the_content(base: Path, installer: Path) -> None:
    def made(config: bytes, device: str) -> str:
        return customize(base, ignition=config, root_device=device, coreos_installer=installer).sha256

    first = made(CONFIG, "/dev/vda")
    assert first == made(CONFIG, "/dev/vda")
    assert len({first, made(CONFIG, "/dev/vdb"), made(b'{"ignition":{"version":"3.3.0"}}', "/dev/vda")}) == 3


def test_nothing_is_left_on_disk(
    base: Path, installer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    customize(base, ignition=CONFIG, root_device="/dev/vda", coreos_installer=installer)
    with pytest.raises(AssetError):
        customize(base, ignition=b"no json", root_device="/dev/vda", coreos_installer=installer)
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
        customize(path, ignition=CONFIG, root_device="/dev/vda", coreos_installer=tool or installer)
    assert "\n" not in str(caught.value)


def test_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    """A tool that tells the modes of what it is handed."""
    tool, seen, base = tmp_path / "tool", tmp_path / "modes", tmp_path / "base.iso"
    tool.write_text(f'#!/bin/sh\nstat -c %a "$4" "$(dirname "$4")" >{seen}\ncat {base}\n')
    tool.chmod(0o755)
    base.write_bytes(bytes(200_000))
    iso = customize(base, ignition=CONFIG, root_device="/dev/vda", coreos_installer=tool)
    assert seen.read_text().split() == ["600", "700"]
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
