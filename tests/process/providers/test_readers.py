"""Each real reader on this machine accepts the tree, and refuses a broken file in it."""

import os
from dataclasses import replace
from functools import cache

import pytest

from assets.file import Folders, Reader
from assets.render import render
from cli.inspect.render import own_configs
from providers.rendered_asset.readers import ReaderResult, run_readers
from testing import clusters
from testing.skips import ALLOWED

FIX = "look at it with `okd-baremetal render`; if your inputs are right, report it as a defect of this program"
FILES = {
    "keepalived": 6,
    "haproxy": 1,
    "dnsmasq": 1,
    "bash": 26,
    "nft": 1,
    "shellcheck": 26,
    "NetworkManager": 3,
    "nmcli": 8,
    "dhclient": 1,
    "systemd-tmpfiles": 4,
    "systemd-analyze": 11,
    "ignition-validate": 6,
    "coredns": 3,
}


@cache
def tree() -> tuple[Folders, dict[str, bytes]]:
    intent = clusters.intent("static")
    rendered = render(intent)
    (dnsmasq,) = (file for file in render(clusters.intent("managed")).bootstrap if file.reader is Reader.DNSMASQ)
    ours = {path: config.encode() for path, config in own_configs(intent, rendered).items()}
    return {**rendered.folders, "managed": (dnsmasq,)}, ours


def results() -> dict[str, ReaderResult]:
    """Return the results on the tree."""
    return {result.reader: result for result in run_readers(*tree())}


def test_an_operators_options_of_a_reader_refuse_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLCHECK_OPTS", "--enable=all")
    assert results()["shellcheck"].refusals == ()


def results_of_its_reader(folder: str, name: str, good: str, bad: str) -> dict[str, ReaderResult]:
    """Return the results on the files of one file's reader, with one word of this file changed."""
    folders, _ = tree()
    (reader,) = {file.reader for file in folders[folder] if file.name == name}
    changed = {
        where: tuple(
            replace(file, text=file.text.replace(good, bad)) if (where, file.name) == (folder, name) else file
            for file in files
            if file.reader is reader
        )
        for where, files in folders.items()
    }
    assert changed[folder] != tuple(file for file in folders[folder] if file.reader is reader)
    return {result.reader: result for result in run_readers(changed, {})}


def test_each_reader_accepts_its_files() -> None:
    found = results()
    assert list(found) == list(FILES)
    for reader, count in FILES.items():
        assert str(found[reader]) == f"{reader}: {count} of {count} good" or found[reader].not_run in ALLOWED
    assert str(found["bash"]) == "bash: 26 of 26 good"


@pytest.mark.parametrize(
    ("reader", "folder", "name", "good", "bad"),
    [
        pytest.param("keepalived", "bootstrap", "keepalived.conf", "advert_int 1", "adverb_int 1", id="keepalived"),
        pytest.param("haproxy", "control-plane", "haproxy.cfg", "mode tcp", "mode udp", id="haproxy"),
        pytest.param("dnsmasq", "managed", "dnsmasq.conf", "leasefile-ro", "leasefile-rw", id="dnsmasq"),
        pytest.param("bash", "bootstrap", "okd-own-api.sh", "fi\n", "\n", id="bash"),
        pytest.param("nft", "control-plane", "haproxy.nft", "redirect", "reroute", id="nft"),
        pytest.param("shellcheck", "compute", "okd-check.sh", "set -", "cd $1; set -", id="shellcheck"),
        pytest.param("NetworkManager", "compute", "okd-resolver.conf", "[main]", "[main", id="NetworkManager"),
        pytest.param("nmcli", "bootstrap", "okd-external.nmconnection", "=manual", "=manuel", id="nmcli"),
        pytest.param("dhclient", "bootstrap", "dhclient.conf", "name-servers", "name-server", id="dhclient"),
        pytest.param("systemd-tmpfiles", "bootstrap", "okd-vip-channel.conf", "0644", "rw", id="systemd-tmpfiles"),
        pytest.param("coredns", "compute", "Corefile", "rcode NOERROR", "rcode OK", id="coredns"),
        pytest.param(
            "systemd-analyze", "compute", "okd-keepalived.service", "RestartSec", "RestartZec", id="systemd-key"
        ),
    ],
)
def test_each_reader_refuses_a_broken_file_in_one_line(
    reader: str, folder: str, name: str, good: str, bad: str
) -> None:
    result = results_of_its_reader(folder, name, good, bad)[reader]
    if result.not_run:
        pytest.skip(result.not_run)
    (fault,) = result.refusals
    assert fault.where.startswith(f"{folder}/")
    assert fault.where.endswith(f"/{name}")
    assert fault.fix == FIX
    assert "\n" not in str(fault)
    assert str(result) == f"{reader}: {FILES[reader] - 1} of {FILES[reader]} good"


def test_ignition_validate_refuses_an_invalid_config() -> None:
    found = run_readers({}, {"bootstrap.ign": b'{"ignition": {"version": "9.0.0"}}'})
    result = next(each for each in found if each.reader == "ignition-validate")
    if result.not_run:
        pytest.skip(result.not_run)
    assert [(fault.where, fault.fix) for fault in result.refusals] == [("bootstrap.ign", FIX)]


def test_missing_readers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.rendered_asset.readers.PATH", "/nowhere")
    monkeypatch.setitem(os.environ, "PATH", "/nowhere")
    monkeypatch.setitem(os.environ, "XDG_CACHE_HOME", "/nowhere")
    found = results()
    assert {found[reader].not_run for reader in FILES} == {"not installed"}
    assert not any(result.refusals for result in found.values())


def test_a_reader_without_files_is_not_called_missing() -> None:
    found = {result.reader: result for result in run_readers(render(clusters.intent("balancer")).folders, {})}
    assert [found[name].not_run for name in ("keepalived", "haproxy", "nft")] == [""] * 3
