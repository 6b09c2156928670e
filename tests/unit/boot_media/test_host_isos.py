"""A host's boot ISO, from the inputs to the URL that its BMC fetches."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boot_media import host_isos as isos
from boot_media.download import ensure_base
from boot_media.host_isos import IsoMedia, Recipe
from boot_media.media_server import MediaServer
from boot_media.tools import find_coreos_installer
from boot_media.web_server import WebServer
from cluster.values.architecture import Architecture
from payload.reading import payload_folder
from testing.live_iso import live_iso
from testing.progress import into
from tests.unit.boot_media.reader import ask

PAYLOAD = b'{"ignition":{"version":"3.2.0"}}'
HOSTS = ("w0", "w1", "w2")
KEYFILE = "[connection]\nid=eth0\n[802-1x]\npassword=hunter2\n"


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recipe:
    installer, base = find_coreos_installer(), live_iso()
    monkeypatch.setenv("PATH", str(installer.parent), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    base_sha256 = hashlib.sha256(base).hexdigest()
    for path, content in {
        Path("okd-baremetal", "images", base_sha256): base,
        payload_folder("test") / "worker.ign": PAYLOAD,
    }.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return Recipe(
        stack="test",
        payload_name="worker",
        payload_sha256=hashlib.sha256(PAYLOAD).hexdigest(),
        architecture=Architecture.AMD64,
        base_sha256=base_sha256,
        base_url="",
        own_ignition=dict.fromkeys(HOSTS, "{}"),
        keyfiles={"w0": {"eth0.nmconnection": KEYFILE}, "w1": {"eth1.nmconnection": KEYFILE}},
        hints={host: {"deviceName": "/dev/vda"} for host in HOSTS},
    )


def published(media: IsoMedia, host: str) -> str:
    """Return the URL of a host's ISO once it is made."""
    while (url := media.publish(host)) is None:
        time.sleep(0.01)  # the tool works meanwhile
    return url


def test_each_stale_disk_that_may_be_wiped_is_a_write(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(isos, "make", lambda write: made.append(str(write)))
    recipe = replace(recipe, wipe_disks={"w0": ("S1", "0x5000c5")})
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        for host in ("w0", "w1"):
            published(media, host)
    root = "wipe the one by deviceName: /dev/vda"
    stale = ("wipe S1 too, if it is stale", "wipe 0x5000c5 too, if it is stale")
    assert made == [*(f"disk of w0: {action}" for action in (root, *stale)), f"disk of w1: {root}"]


class WithoutReports(MediaServer):
    """Serves ISOs as a site's own web server does, which receives nothing from the hosts."""

    def report_url(self, secret: str) -> str:
        return ""


def test_a_web_server_has_the_iso_that_a_server_without_reports_serves(recipe: Recipe) -> None:
    with WithoutReports("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        urls = {host: published(media, host) for host in HOSTS}
        with IsoMedia(WebServer(f"http://127.0.0.1:{server.port}", "test"), recipe, print) as elsewhere:
            assert {host: published(elsewhere, host) for host in HOSTS} == urls
            assert {elsewhere.disk_report(host) for host in HOSTS} == {""}
        assert [elsewhere.sent(url) for url in urls.values()] == [None] * len(HOSTS)


SCRIPT = r"url=(http://127\.0\.0\.1:\d+/[0-9a-f]{64})\n"


def script_in(iso: Path) -> str:
    """Return the script that chooses the disk, as the live system finds it."""
    shown = subprocess.run(["coreos-installer", "iso", "ignition", "show", iso], check=True, capture_output=True)
    files = {file["path"]: file["contents"] for file in json.loads(shown.stdout)["storage"]["files"]}
    contents = files["/usr/local/bin/pre-install-disk.sh"]
    with urllib.request.urlopen(contents["source"]) as answer:  # noqa: S310  (a data URL)
        content: bytes = answer.read()
    return (gzip.decompress(content) if contents.get("compression") == "gzip" else content).decode()


def test_each_host_has_its_own_hints_and_its_own_report_url(recipe: Recipe, tmp_path: Path) -> None:
    urls = {}
    recipe = replace(recipe, hints={host: {"serialNumber": f"its {host}"} for host in HOSTS})
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        for host in HOSTS:
            iso = tmp_path / f"{host}.iso"
            with urllib.request.urlopen(published(media, host)) as answer:  # noqa: S310
                iso.write_bytes(answer.read())
            script = script_in(iso)
            assert f"declare -A wanted=([serialNumber]='its {host}')\n" in script
            urls[host] = re.search(SCRIPT, script)[1]  # type: ignore[index]
        assert len(set(urls.values())) == len(HOSTS)
        assert {media.disk_report(host) for host in HOSTS} == {""}
        urllib.request.urlopen(urls["w1"], b"chosen deviceName: /dev/sda").close()  # noqa: S310
        assert [media.disk_report(host) for host in HOSTS] == ["", "chosen deviceName: /dev/sda", ""]


def test_the_iso_of_a_host_is_served_until_its_boot_is_disabled(recipe: Recipe) -> None:
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        media.disable_boot("w0")
        url = published(media, "w0")
        path = f"/{url.split('/', 3)[3]}"
        iso = server.find(path, over_tls=False)
        assert iso is not None
        assert media.size("w0") == iso.size
        media.disable_boot("w0")
        assert server.find(path, over_tls=False) is None
        media.enable_boot("w0")
        assert server.find(path, over_tls=False) == iso


def test_a_secret_is_in_no_answer_over_plain_http(recipe: Recipe, tmp_path: Path) -> None:
    """Attack S9: the ISO with an 802.1x password, unpacked."""
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, replace(recipe, over_tls={"w1"}), print) as media:
        urls = {host: published(media, host) for host in HOSTS}
        assert {host: url.partition(":")[0] for host, url in urls.items()} == {
            "w0": "http",
            "w1": "https",
            "w2": "http",
        }
        assert "hunter2" in recipe.keyfiles["w1"]["eth1.nmconnection"]
        answer, body = ask(urls["w1"].replace("https:", "http:"))
        assert (answer.status, body) == (404, b"")
        iso = tmp_path / "w1.iso"
        iso.write_bytes(ask(urls["w1"], trusts=media.certificate(urls["w1"]))[1])
        assert keyfiles_in(iso, tmp_path / "w1") == recipe.keyfiles["w1"]
        assert media.certificate(urls["w0"]) == ""


def test_a_host_on_a_provisioning_network_reaches_all_by_the_boot_server(recipe: Recipe, tmp_path: Path) -> None:
    recipe = replace(recipe, on_provisioning={"w0"}, boot_server="http://172.22.0.2:6180")
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        url, other = published(media, "w0"), published(media, "w1")
        path = f"/{url.removeprefix('http://172.22.0.2:6180/')}"
        iso = tmp_path / "w0.iso"
        iso.write_bytes(ask(f"http://127.0.0.1:{server.port}{path}")[1])
        assert media.sent(url) == media.size("w0") == iso.stat().st_size
        assert "url=http://172.22.0.2:6180/" in script_in(iso)
        assert other.startswith(f"http://127.0.0.1:{server.port}/")


def test_a_report_url_cannot_be_guessed_without_the_host_s_config(recipe: Recipe) -> None:
    paths = set()
    for own_ignition in ("{}", '{"ignition":{"version":"3.2.0"},"storage":{}}'):
        changed = replace(recipe, own_ignition=dict.fromkeys(HOSTS, own_ignition))
        with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, changed, print) as media:
            published(media, "w0")
            paths.add(media._report_urls["w0"].rpartition("/")[2])
    assert len(paths) == 2


def test_several_makers_make_the_same_isos_as_one(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> dict[str, str]:
        with WithoutReports("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
            return {host: published(media, host).partition(str(server.port))[2] for host in HOSTS}

    by_one = made()
    monkeypatch.setattr(isos, "HOSTS_PER_MAKER", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert made() == by_one


def keyfiles_in(iso: Path, folder: Path) -> dict[str, str]:
    """Return the keyfiles that coreos-installer shows; it fails if there are none."""
    folder.mkdir()
    subprocess.run(
        ["coreos-installer", "iso", "network", "extract", "-C", folder, iso], capture_output=True, check=False
    )
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_host_gets_its_own_keyfiles(recipe: Recipe, tmp_path: Path) -> None:
    lines: list[str] = []
    keyfiles = {}
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, into(lines)) as media:
        for host in recipe.hints:
            iso = tmp_path / f"{host}.iso"
            with urllib.request.urlopen(published(media, host)) as answer:  # noqa: S310
                iso.write_bytes(answer.read())
            keyfiles[host] = keyfiles_in(iso, tmp_path / host)
    assert keyfiles == {**recipe.keyfiles, "w2": {}}
    assert "hunter2" not in f"{recipe!r} {media!r} {lines}"


def test_one_maker_downloads_the_base_and_the_others_wait(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked = list[bool]()
    monkeypatch.setattr(isos, "HOSTS_PER_MAKER", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:

        def noting(*args: Any) -> Path:
            unlocked.append(not media._first.locked())
            return ensure_base(*args)

        monkeypatch.setattr(isos, "ensure_base", noting)
        for host in HOSTS:
            published(media, host)
    assert unlocked
    assert not any(unlocked)
