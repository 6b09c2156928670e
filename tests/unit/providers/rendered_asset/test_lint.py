"""Every rendered file is accepted by its real reader, and a broken one is refused."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from assets.file import Reader, RenderedFile
from assets.render import render
from base.errors import AssetError
from cluster.plan import ClusterPlan
from providers.rendered_asset import readers
from providers.rendered_asset.readers import COMMANDS, lint
from testing import clusters, plans
from testing.namespaces import SBIN, needs_root
from testing.skips import NO_MULTICAST

FIX = "look at it with `okd-baremetal render`; if your inputs are right, report it as a defect of this program"
FILES = {
    f"{folder.removeprefix('hosts/')}-{file.name}": file
    for folder, files in render(plans.plan()).folders.items()
    for file in files
}
FILES |= {
    file.name: file
    for file in render(clusters.intent("managed")).bootstrap
    if file.name in ("dnsmasq.conf", "provisioning.cfg")
}


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.reader in COMMANDS])
def test_its_real_reader_accepts_a_rendered_file(name: str) -> None:
    if FILES[name].reader is Reader.KEEPALIVED and readers._vrrp_interface() is None:
        pytest.skip(NO_MULTICAST)
    assert lint(FILES[name])


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        pytest.param("okd-master-0-keepalived.conf", "virtual_router_id 67", "virtual_router_id 0", id="keepalived"),
        pytest.param("okd-master-0-keepalived.conf", "advert_int 1", "adverb_int 1", id="keepalived-word"),
        pytest.param("control-plane-haproxy.cfg", "mode tcp", "mode udp", id="haproxy"),
        pytest.param("provisioning.cfg", "mode http", "mode httq", id="haproxy-of-boots"),
        pytest.param("dnsmasq.conf", "dhcp-range=172", "dhcp-range=1722", id="dnsmasq"),
        pytest.param("bootstrap-okd-own-api.sh", "fi\n", "\n", id="bash"),
    ],
)
def test_its_real_reader_refuses_a_broken_one_in_one_line(name: str, good: str, bad: str) -> None:
    file = FILES[name]
    assert good in file.text
    broken = replace(file, text=file.text.replace(good, bad))
    with pytest.raises(AssetError) as caught:
        lint(broken)
    (fault,) = caught.value.faults
    assert fault.where == file.path
    assert fault.what.startswith(f"{COMMANDS[file.reader][0]} refuses it: ")
    assert fault.fix == FIX
    assert "\n" not in str(caught.value)


@needs_root
@pytest.mark.parametrize("user", [0, 65534, 54321], ids=["root", "nobody", "without-a-name"])
def test_any_user_gets_the_same_result_of_keepalived(user: int) -> None:
    """N1: keepalived refuses every script of root as insecure, unless root asks; that is no defect of the file."""
    if readers._vrrp_interface() is None:
        pytest.skip(NO_MULTICAST)
    good = FILES["okd-master-0-keepalived.conf"]
    bad = replace(good, text=good.text.replace("virtual_router_id 67", "virtual_router_id 0"))
    results = [result_as(user, good), result_as(user, bad)]
    assert results == (["not checked"] * 2 if user == 54321 else ["good", "refused"])


def result_as(user: int, file: RenderedFile) -> str:
    """Return the result of a file's reader in a process of another user."""
    (process := os.fork()) or _exit_as(user, file)
    return ["good", "refused", "not checked"][os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])]


def _exit_as(user: int, file: RenderedFile) -> NoReturn:
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        os._exit(0 if lint(file) else 2)
    except AssetError:
        os._exit(1)
    finally:
        os._exit(3)


def test_a_file_without_an_installed_reader_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not lint(RenderedFile("/etc/x", "nonsense", Reader.SYSTEMD))
    monkeypatch.setattr(readers, "PATH", "/nowhere")
    assert not lint(RenderedFile("/etc/x", "nonsense", Reader.HAPROXY))


@needs_root
@pytest.mark.parametrize(("word", "taken"), [("redirect", True), ("reroute", False)], ids=["as-rendered", "broken"])
def test_nft_accepts_the_rendered_redirect_and_refuses_a_broken_one(tmp_path: Path, word: str, taken: bool) -> None:
    path = tmp_path / "haproxy.nft"
    path.write_text(FILES["control-plane-haproxy.nft"].text.replace("redirect", word))
    command = ["unshare", "--net", "nft", "--check", "--file", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": SBIN})
    assert (run.returncode == 0) == taken, run.stderr


def test_units_name_only_rendered_files(plan: ClusterPlan) -> None:
    """Each rendered script or file that a unit names exists on the machine."""
    rendered = render(plan)
    machines = {"bootstrap": rendered.bootstrap, **{server.name: rendered.of(server) for server in plan.servers}}
    for machine, files in machines.items():
        paths = {file.path for file in files}
        for file in files:
            if file.reader is not Reader.SYSTEMD:
                continue
            named = {
                word.removeprefix("--use-file=")
                for line in file.text.splitlines()
                if line.startswith("Exec")
                for word in line.partition("=")[2].split()
                if word.startswith(("/usr/local/bin/", "/etc/okd-baremetal/"))
            }
            assert named <= paths, (machine, file.name)
