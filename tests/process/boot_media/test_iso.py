"""Boot ISOs: the bytes that the real coreos-installer writes, kept as patches of the base."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from base.errors import BootMediaError
from boot_media.disk import FAILED, LIVE_CONFIG, SCRIPT_NAME, disk_script
from boot_media.iso import POWER_OFF, Iso, IsoMaker, names_boot_iso
from boot_media.media_server import MediaServer
from boot_media.tools import find_coreos_installer
from cluster.values.architecture import Architecture
from cluster.values.disk_hints import Hints
from testing.checkout import ROOT
from testing.ignition_validate import validate
from testing.live_disks import run_script
from testing.live_iso import kernel, live_iso

INSTALL_VERSION = rf"Fix: install coreos-installer 0\.27\.0, or run {ROOT}/tools/coreos-installer$"
CONFIG = b'{"ignition":{"version":"3.2.0"}}'
BIG = b'{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:;base64,%s"}}]}}'
KEYFILES = {"eth0.nmconnection": "[connection]\nid=eth0\n", "eth1.nmconnection": "[connection]\nid=eth1\n"}
AREA = 256 * 1024
DISK = {"deviceName": "/dev/vda"}
URL = "http://192.0.2.1:8080/box"


@pytest.fixture(scope="module")
def installer() -> Path:
    return find_coreos_installer()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("iso") / "base.iso"
    path.write_bytes(live_iso())
    return path


@pytest.fixture(scope="module")
def maker(base: Path, installer: Path) -> Iterator[IsoMaker]:
    with IsoMaker(base, digest(base), installer) as maker:
        yield maker


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made(
    maker: IsoMaker,
    *,
    ignition: bytes = CONFIG,
    keyfiles: Mapping[str, str] | None = None,
    hints: Hints = DISK,
    url: str = URL,
) -> Iso:
    return maker.make(ignition=ignition, keyfiles=keyfiles or {}, choose_disk=disk_script(hints, url))


def whole(iso: Iso) -> bytes:
    content = bytearray(iso.base.read_bytes())
    for offset, patch in iso.patches:
        content[offset : offset + len(patch)] = patch
    return bytes(content)


def written_by_the_tool(base: Path, tool: Path, folder: Path, ignition: bytes, keyfiles: Mapping[str, str]) -> bytes:
    """Return the ISO that `coreos-installer iso customize` makes of an untouched base."""
    scripts = {"poweroff.sh": POWER_OFF.encode(), "disk.sh": disk_script(DISK, URL).encode()}
    scripts["live.ign"] = json.dumps(LIVE_CONFIG).encode()
    files = {"dest.ign": ignition, **scripts}
    for name, content in (files | {name: text.encode() for name, text in keyfiles.items()}).items():
        (folder / name).write_bytes(content)
    command: list[str | Path] = [
        tool,
        "iso",
        "customize",
        "--dest-ignition",
        folder / "dest.ign",
        "--pre-install",
        folder / "disk.sh",
    ]
    command += ["--post-install", folder / "poweroff.sh", "--live-ignition", folder / "live.ign"]
    command += [word for name in keyfiles for word in ("--network-keyfile", folder / name)]
    return subprocess.run([*command, "-o", "-", base], check=True, capture_output=True).stdout


def test_each_iso_equals_the_one_that_coreos_installer_makes(
    base: Path, maker: IsoMaker, installer: Path, tmp_path: Path
) -> None:
    big = BIG % base64.b64encode(os.urandom(150_000))
    for ignition, keyfiles in ((big, KEYFILES), (CONFIG, {}), (big, {}), (CONFIG, KEYFILES)):
        iso = made(maker, ignition=ignition, keyfiles=keyfiles)
        assert whole(iso) == written_by_the_tool(base, installer, tmp_path, ignition, keyfiles)
        assert (iso.base, iso.size) == (base, base.stat().st_size)
    assert 0 < sum(len(patch) for _, patch in iso.patches) < AREA / 20, "only the differing bytes are kept"


def test_an_iso_can_be_written_in_full(maker: IsoMaker, tmp_path: Path) -> None:
    iso, path, folder = made(maker, keyfiles=KEYFILES), tmp_path / "host.iso", tmp_path / "folder"
    iso.write(path)
    assert path.read_bytes() == whole(iso)
    assert path.stat().st_mode & 0o777 == 0o600
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        iso.write(folder)
    assert {*tmp_path.iterdir()} == {path, folder}


def test_a_call_that_writes_only_a_part_tears_no_iso(
    maker: IsoMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of a disk that becomes full: a call of the system that takes half of the bytes, without an error."""
    pwrite, before = os.pwrite, made(maker).sha256
    monkeypatch.setattr(os, "pwrite", lambda file, text, at: pwrite(file, text[: len(text) // 2], at))
    iso = made(maker, ignition=BIG % base64.b64encode(os.urandom(150_000)))
    iso.write(tmp_path / "host.iso")
    assert (tmp_path / "host.iso").read_bytes() == whole(iso)
    assert made(maker).sha256 == before, "an ISO has bytes of another host's"


def test_the_digest_depends_only_on_the_content(maker: IsoMaker) -> None:
    first = made(maker, keyfiles=KEYFILES).sha256
    assert first == made(maker, keyfiles=dict(reversed(KEYFILES.items()))).sha256
    others = (
        made(maker, keyfiles=KEYFILES, hints={"deviceName": "/dev/vdb"}),
        made(maker, keyfiles=KEYFILES, url=""),
        made(maker, keyfiles=KEYFILES, ignition=b'{"ignition":{"version":"3.3.0"}}'),
        made(maker),
        made(maker, keyfiles={**KEYFILES, "eth1.nmconnection": "[connection]\nid=other\n"}),
    )
    assert len({first, *(other.sha256 for other in others)}) == 6


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"http://192.0.2.1:8080/{'ab' * 32}/m0.iso", True),
        (f"//192.0.2.1/{'cd' * 32}/m0.iso/m0.iso", True),
        (f"{'ab' * 32}/m0.iso", True),
        (f"http://192.0.2.1/{'ab' * 32}/m1.iso", False),
        (f"http://192.0.2.1/{'ab' * 32}/am0.iso", False),
        (f"http://192.0.2.1/{'ab' * 32}/m0.isos", False),
        (f"http://192.0.2.1/{'ab' * 33}/m0.iso", False),
        ("http://192.0.2.1/isos/m0.iso", False),
        ("m0.iso", False),
    ],
)
def test_a_boot_iso_of_a_host_is_recognized_by_its_path(text: str, *, named: bool) -> None:
    assert names_boot_iso(text, "m0") is named


def test_the_last_words_of_a_failed_installer_reach_the_provisioner(installer: Path, tmp_path: Path) -> None:
    """ISO-WORD: what the real tool says, sent by the real script with the real curl to the real server."""
    failed = subprocess.run(
        [installer, "install", "--offline", tmp_path / "no-disk"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    with MediaServer("127.0.0.1", 0) as server:
        url = server.report_url("cd" * 32)
        (tmp_path / "run").mkdir()
        run_script(tmp_path / "run", (), {}, "ended", journal=failed.stderr, url=url)
        report = server.received_report(url)
    assert report == f"{FAILED} exit-code: {' '.join(failed.stderr.split())}"
    assert "no-disk" in report


def test_systemd_and_ignition_take_what_is_added_to_the_live_system(tmp_path: Path) -> None:
    """ISO-WORD: with a unit that has of coreos-installer's own what matters here."""
    assert validate(json.dumps(LIVE_CONFIG)) == ""
    (changed,) = LIVE_CONFIG["systemd"]["units"]
    dropins, script = tmp_path / f"{changed['name']}.d", f"/usr/local/bin/pre-install-{SCRIPT_NAME} ended"
    dropins.mkdir()
    own = "[Unit]\nOnFailure=emergency.target\n\n[Service]\nType=oneshot\nExecStart=/bin/true\n"
    (tmp_path / changed["name"]).write_text(own)
    (dropin,) = changed["dropins"]
    assert script in dropin["contents"]
    (dropins / dropin["name"]).write_text(dropin["contents"].replace(script, "/bin/true"))
    verify = ["systemd-analyze", "verify", "--man=no", tmp_path / changed["name"]]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_finished_host_turns_off_without_waiting_for_its_script(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    for name, text in {"poweroff.sh": POWER_OFF, "systemctl": f'#!/bin/sh\necho "$*" >{asked}\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    subprocess.run([tmp_path / "poweroff.sh"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    assert asked.read_text() == "--no-block poweroff\n"


def test_each_of_several_threads_gets_its_own_iso(base: Path, maker: IsoMaker) -> None:
    hints = [{"deviceName": f"/dev/vd{letter}"} for letter in "abcdefgh"]
    one_by_one = [made(maker, hints=of_host).sha256 for of_host in hints]
    with ThreadPoolExecutor(len(hints)) as pool:
        assert [*pool.map(lambda of_host: made(maker, hints=of_host).sha256, hints)] == one_by_one


def test_nothing_is_left_on_disk(
    base: Path, installer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with IsoMaker(base, digest(base), installer) as maker:
        made(maker, keyfiles=KEYFILES)
        with pytest.raises(BootMediaError):
            made(maker, ignition=b"no json", keyfiles=KEYFILES)
        assert list(tmp_path.iterdir()) == []
        assert list(base.parent.iterdir()) == [base], "the copy has no name"
    assert list(tmp_path.iterdir()) == []


KILLED = """\
import sys
from pathlib import Path
from boot_media.disk import disk_script
from boot_media.iso import IsoMaker

base, sha256, tool, url, text = sys.argv[1:]
with IsoMaker(Path(base), sha256, Path(tool)) as maker:
    maker.make(ignition=text.encode(), keyfiles={"eth0.nmconnection": text}, choose_disk=disk_script({}, url))
"""
CANARY = "CNRY-of-a-supplicant"


def test_a_kill_leaves_no_secret_on_disk(base: Path, installer: Path, tmp_path: Path) -> None:
    """S14: the maker is killed while the tool reads the keyfile."""
    tool, temporary, seen = tmp_path / "tool", tmp_path / "temporary", tmp_path / "seen"
    tool.write_text(
        f"""#!/bin/bash
all=("$@")
while [ $# -gt 0 ] && [ "$1" != --network-keyfile ]; do shift; done
[ $# -gt 0 ] || exec {installer} "${{all[@]}}"
cp "$2" {seen}
kill -KILL $PPID
"""
    )
    tool.chmod(0o755)
    temporary.mkdir()
    command = [sys.executable, "-c", KILLED, str(base), digest(base), str(tool), URL, CANARY]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)}, check=False)
    assert (killed.returncode, seen.read_text()) == (-signal.SIGKILL, CANARY)
    left = [path for path in (*temporary.rglob("*"), *base.parent.iterdir()) if path.is_file()]
    assert [path for path in left if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("content", "tool", "message"),
    [
        (
            b"no iso",
            None,
            r"x\.iso: refused by coreos-installer: .+\. Fix: correct what it names; the base has to be a CoreOS live "
            r"ISO$",
        ),
        (
            b"no iso",
            Path("/none"),
            rf"^/none: cannot be run \(No such file or directory\)\. Fix: run {ROOT}/tools/",
        ),
    ],
    ids=["no-iso", "no-tool"],
)
def test_a_refusal_is_one_line(
    installer: Path, tmp_path: Path, content: bytes, tool: Path | None, message: str
) -> None:
    path = tmp_path / "x.iso"
    path.write_bytes(content)
    with pytest.raises(BootMediaError, match=message) as caught:
        IsoMaker(path, digest(path), tool or installer)
    assert "\n" not in str(caught.value)


def test_a_base_of_another_digest_is_refused(base: Path, installer: Path) -> None:
    what = rf"sha256 is {digest(base)}, the stack wants {'0' * 64} \(media\.base_iso\.sha256\)"
    with pytest.raises(
        BootMediaError, match=rf"{what}\. Fix: remove the file; the next run fetches media\.base_iso\.url$"
    ):
        IsoMaker(base, "0" * 64, installer)


def test_a_base_of_another_architecture_is_refused(installer: Path, tmp_path: Path) -> None:
    path = tmp_path / "amd64.iso"
    path.write_bytes(live_iso(kernel(0x8664)))
    with pytest.raises(BootMediaError) as caught:
        IsoMaker(path, digest(path), installer, Architecture.ARM64)
    assert str(caught.value) == (
        f"{path}: its kernel is of amd64, and media.base_iso_arm64 is booted by servers of arm64. "
        "Fix: have media.base_iso_arm64 name CoreOS' live ISO of arm64, with its sha256"
    )
    IsoMaker(path, digest(path), installer, Architecture.AMD64).close()


def test_a_base_that_cannot_be_copied_is_one_line(installer: Path, tmp_path: Path) -> None:
    what = r"none\.iso: cannot be copied into its folder \(No such file or directory\)"
    with pytest.raises(BootMediaError, match=rf"{what}\. Fix: free room there$"):
        IsoMaker(tmp_path / "none.iso", "0" * 64, installer)


class TestAnotherTool:
    """A coreos-installer that behaves unlike 0.27: no wrong ISO is ever served."""

    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        path = tmp_path / "base.iso"
        path.write_bytes(bytes(200_000))
        return path

    def tool(self, folder: Path, customize: str, area: str = '{"offset": 4096, "length": 8192}') -> Path:
        """`customize` finds the copy as $work; `at` writes a byte to it."""
        path = folder / "tool"
        at = 'at() { printf x | dd of="$work" bs=1 seek="$1" conv=notrunc 2>/dev/null; }'
        path.write_text(
            f"#!/bin/sh\nfor work; do :; done\n{at}\n[ $1 = iso ] || {{ echo '{area}'; exit; }}\n{customize}\n"
        )
        path.chmod(0o755)
        return path

    @pytest.mark.parametrize("place", [4095, 12_288, 199_999, 200_000])
    def test_writes_outside_the_embed_area_are_refused(self, base: Path, tmp_path: Path, place: int) -> None:
        tool = self.tool(tmp_path, f"at 5000; at {place}")
        with pytest.raises(BootMediaError, match=rf"tool: wrote outside the embed area of .*\. {INSTALL_VERSION}"):
            IsoMaker(base, digest(base), tool)

    def test_a_tool_that_writes_nothing_yields_no_other_host_s_iso(self, base: Path, tmp_path: Path) -> None:
        done = tmp_path / "done"
        tool = self.tool(tmp_path, f"[ -e {done}2 ] || at 5000; [ ! -e {done} ] || touch {done}2; touch {done}")
        with IsoMaker(base, digest(base), tool) as maker:
            assert made(maker).patches[0][0] == 4096
            with pytest.raises(BootMediaError, match=rf"wrote nothing into the embed area of .*\. {INSTALL_VERSION}"):
                made(maker)

    def test_the_tool_has_huge_pages_and_the_environment(
        self, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        tool = self.tool(tmp_path, f'echo "$GLIBC_TUNABLES $TMPDIR" >{tmp_path}/seen; at 5000')
        IsoMaker(base, digest(base), tool).close()
        assert (tmp_path / "seen").read_text() == f"glibc.malloc.hugetlb=1 {tmp_path}\n"

    @pytest.mark.parametrize("area", ["", "null", "[]", '{"offset": 4096}'])
    def test_a_tool_that_does_not_report_its_area_is_refused(self, base: Path, tmp_path: Path, area: str) -> None:
        with pytest.raises(
            BootMediaError,
            match=rf"does not report where the embed area is .*\. {INSTALL_VERSION}",
        ):
            IsoMaker(base, digest(base), self.tool(tmp_path, "at 5000", area))

    def test_differing_blocks_become_patches(self, base: Path, tmp_path: Path) -> None:
        area = '{"offset": 5000, "length": 100000}'
        with IsoMaker(
            base, digest(base), self.tool(tmp_path, "at 5000; at 9096; at 30000; at 104999", area)
        ) as maker:
            iso = made(maker)
        assert [(offset, len(patch)) for offset, patch in iso.patches] == [
            (5000, 8192),
            (29576, 4096),
            (103304, 1696),
        ]
        assert [index for index, byte in enumerate(whole(iso)) if byte] == [5000, 9096, 30000, 104999]

    def test_it_works_for_one_host_at_a_time(self, base: Path, tmp_path: Path) -> None:
        """All of them use one copy of the base."""
        busy, overlaps = tmp_path / "busy", tmp_path / "overlaps"
        tool = self.tool(tmp_path, f"mkdir {busy} || touch {overlaps}; sleep 0.05; rmdir {busy}; at 5000")
        with IsoMaker(base, digest(base), tool) as maker, ThreadPoolExecutor(4) as pool:
            assert len([*pool.map(lambda _: made(maker), range(4))]) == 4
        assert not overlaps.exists()

    def test_the_same_patches_of_another_base_have_another_digest(self, base: Path, tmp_path: Path) -> None:
        tool, isos = self.tool(tmp_path, "at 5000"), list[Iso]()
        for content in (bytes(200_000), bytes(199_999) + b"x"):
            base.write_bytes(content)
            with IsoMaker(base, digest(base), tool) as maker:
                isos.append(made(maker))
        assert isos[0].patches == isos[1].patches
        assert isos[0].url_path("okd-master-0") != isos[1].url_path("okd-master-0")

    def test_the_tool_gets_secrets_in_files_that_only_their_owner_can_read(self, base: Path, tmp_path: Path) -> None:
        modes = tmp_path / "modes"
        tool = self.tool(tmp_path, f'at 5000; stat -Lc %a "${{12}}" "$(dirname "${{12}}")" "$work" >{modes}; :')
        with IsoMaker(base, digest(base), tool) as maker:
            made(maker, keyfiles=KEYFILES)
        assert modes.read_text().split() == ["600", "700", "600"]
