"""Each real reader on this machine accepts the tree, and refuses a broken file in it."""

import os
from dataclasses import replace
from functools import cache

import pytest

from assets.file import Folders
from assets.render import render
from cli.render import own_configs
from providers.rendered_asset.readers import ReaderVerdict, ask_readers
from testing import clusters

pytestmark = clusters.needs_nmstatectl
FIX = "look at it with `okd-baremetal render`; if your inputs are right, report it as a defect of this program"
FILES = {
    "keepalived": 6,
    "haproxy": 1,
    "bash": 20,
    "nft": 1,
    "shellcheck": 20,
    "NetworkManager": 3,
    "nmcli": 8,
    "dhclient": 1,
    "systemd-analyze": 8,
    "ignition-validate": 6,
    "coredns": 3,
}


@cache
def tree() -> tuple[Folders, dict[str, bytes]]:
    intent = clusters.intent("static")
    rendered = render(intent)
    return rendered.folders, {path: config.encode() for path, config in own_configs(intent, rendered).items()}


def verdicts(folder: str = "", name: str = "", good: str = "", bad: str = "") -> dict[str, ReaderVerdict]:
    """Return the verdicts on the tree with one word of one file changed."""
    folders, ignitions = tree()
    changed = {
        where: tuple(
            replace(file, text=file.text.replace(good, bad)) if (where, file.name) == (folder, name) else file
            for file in files
        )
        for where, files in folders.items()
    }
    assert (changed == folders) == (not name)
    return {verdict.reader: verdict for verdict in ask_readers(changed, ignitions)}


def test_each_reader_accepts_its_files() -> None:
    found = verdicts()
    assert list(found) == list(FILES)
    for reader, count in FILES.items():
        assert str(found[reader]) == f"{reader}: {count} of {count} good" or found[reader].not_run
    assert str(found["bash"]) == "bash: 20 of 20 good"


@pytest.mark.parametrize(
    ("reader", "folder", "name", "good", "bad"),
    [
        pytest.param("keepalived", "bootstrap", "keepalived.conf", "advert_int 1", "adverb_int 1", id="keepalived"),
        pytest.param("haproxy", "control-plane", "haproxy.cfg", "mode tcp", "mode udp", id="haproxy"),
        pytest.param("bash", "bootstrap", "okd-own-api.sh", "fi\n", "\n", id="bash"),
        pytest.param("nft", "control-plane", "haproxy.nft", "redirect", "reroute", id="nft"),
        pytest.param("shellcheck", "compute", "okd-check.sh", "set -", "cd $1; set -", id="shellcheck"),
        pytest.param("NetworkManager", "compute", "okd-resolver.conf", "[main]", "[main", id="NetworkManager"),
        pytest.param("nmcli", "bootstrap", "okd-external.nmconnection", "=manual", "=manuel", id="nmcli"),
        pytest.param("dhclient", "bootstrap", "dhclient.conf", "name-servers", "name-server", id="dhclient"),
        pytest.param("coredns", "compute", "Corefile", "rcode NOERROR", "rcode OK", id="coredns"),
        pytest.param(
            "systemd-analyze", "compute", "okd-keepalived.service", "RestartSec", "RestartZec", id="systemd-key"
        ),
    ],
)
def test_each_reader_refuses_a_broken_file_in_one_line(
    reader: str, folder: str, name: str, good: str, bad: str
) -> None:
    verdict = verdicts(folder, name, good, bad)[reader]
    if verdict.not_run:
        pytest.skip(str(verdict))
    (fault,) = verdict.refusals
    assert fault.where.startswith(f"{folder}/")
    assert fault.where.endswith(f"/{name}")
    assert fault.fix == FIX
    assert "\n" not in str(fault)
    assert str(verdict) == f"{reader}: {FILES[reader] - 1} of {FILES[reader]} good"


def test_ignition_validate_refuses_an_invalid_config() -> None:
    found = ask_readers({}, {"bootstrap.ign": b'{"ignition": {"version": "9.0.0"}}'})
    verdict = next(each for each in found if each.reader == "ignition-validate")
    if verdict.not_run:
        pytest.skip(str(verdict))
    assert [(fault.where, fault.fix) for fault in verdict.refusals] == [("bootstrap.ign", FIX)]


def test_missing_readers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.rendered_asset.readers.PATH", "/nowhere")
    monkeypatch.setitem(os.environ, "PATH", "/nowhere")
    monkeypatch.setitem(os.environ, "XDG_CACHE_HOME", "/nowhere")
    found = verdicts()
    assert {found[reader].not_run for reader in FILES} == {"not installed"}
    assert not any(verdict.refusals for verdict in found.values())
