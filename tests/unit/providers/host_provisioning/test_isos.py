"""A host's boot ISO, from the inputs to the URL that its BMC fetches."""

import hashlib
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest

from payload.reading import payload_folder
from providers.host_provisioning.isos import IsoMedia, Recipe
from providers.host_provisioning.media import MediaServer
from providers.host_provisioning.web import WebServer
from testing import live_iso

PAYLOAD = b'{"ignition":{"version":"3.2.0"}}'
HOSTS = ("w0", "w1", "w2")
KEYFILE = "[connection]\nid=eth0\n[802-1x]\npassword=hunter2\n"


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recipe:
    installer, base = live_iso.installer(), live_iso.live_iso()
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
        base_sha256=base_sha256,
        base_url="",
        ours=dict.fromkeys(HOSTS, "{}"),
        keyfiles={"w0": {"eth0.nmconnection": KEYFILE}, "w1": {"eth1.nmconnection": KEYFILE}},
        devices=dict.fromkeys(HOSTS, "/dev/vda"),
    )


def published(media: IsoMedia, host: str) -> str:
    """Return the URL of a host's ISO once it is made."""
    while (url := media.publish(host)) is None:
        pass
    return url


def test_a_web_server_has_the_iso_that_the_media_server_would_serve(recipe: Recipe) -> None:
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
        urls = {host: published(media, host) for host in HOSTS}
        with IsoMedia(WebServer(f"http://127.0.0.1:{server.port}", "test"), recipe, print) as elsewhere:
            assert {host: published(elsewhere, host) for host in HOSTS} == urls
        assert [elsewhere.sent(url) for url in urls.values()] == [None] * len(HOSTS)


def test_several_makers_make_the_same_isos_as_one(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> dict[str, str]:
        with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, print) as media:
            return {host: published(media, host).partition(str(server.port))[2] for host in HOSTS}

    by_one = made()
    monkeypatch.setattr("providers.host_provisioning.isos.HOSTS_PER_MAKER", 1)
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
    found = {}
    with MediaServer("127.0.0.1", 0) as server, IsoMedia(server, recipe, lines.append) as media:
        for host in recipe.devices:
            iso = tmp_path / f"{host}.iso"
            with urllib.request.urlopen(published(media, host)) as answer:  # noqa: S310
                iso.write_bytes(answer.read())
            found[host] = keyfiles_in(iso, tmp_path / host)
    assert found == {**recipe.keyfiles, "w2": {}}
    assert "hunter2" not in f"{recipe!r} {media!r} {lines}"
