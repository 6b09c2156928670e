"""How a guest's first process fetches the root of a live system, run by the busybox that the guest has."""

import hashlib
import subprocess
from pathlib import Path

from lab.images.parts import BUSYBOX, GUEST
from testing.namespaces import needs_root, run_on_a_machine

pytestmark = needs_root

URL = "http://127.0.0.1:8080/rootfs.img"
ROOTFS = b"root " * 1000
REFUSED = "wget: can't connect to remote host (127.0.0.1): Connection refused"
STAYED = 7

# What follows the functions of `init`. A pause takes no time, and counts as 100 s.
FETCH = """
sleep() {{
    [ "$1" != 3600 ] || exit {stayed}
    read -r up _ < /proc/uptime
    echo "$((${{up%.*}} + 100)).00" > /proc/uptime
    {at_a_pause}
}}
fetch_root
"""
BOOT = """
    mkdir {folder}/bin; {busybox} --install -s {folder}/bin
    echo 'quiet coreos.live.rootfs_url={url} ignition.firstboot' >{folder}/cmdline; echo 0.00 >{folder}/uptime
    for file in cmdline uptime; do mount --bind {folder}/$file /proc/$file; done
    PATH={folder}/bin exec sh {folder}/init
    """


def fetch_root(folder: Path, served: bytes | None) -> subprocess.CompletedProcess[str]:
    """Run `fetch_root` of an initrd that wants `ROOTFS`; what is served, is so from its first pause on."""
    functions, start, _ = (GUEST / "initrd/init").read_text().partition("\n/bin/busybox mkdir ")
    assert start
    serve = ":"
    if served is not None:
        (folder / "site").mkdir()
        (folder / "site/rootfs.img").write_bytes(served)
        serve = f"httpd -p 127.0.0.1:8080 -h {folder}/site"
    (folder / "init").write_text(functions + FETCH.format(stayed=STAYED, at_a_pause=serve))
    (folder / "etc").mkdir()
    (folder / "etc/coreos-live-want-rootfs").write_text(f"{hashlib.sha256(ROOTFS).hexdigest()}\n")
    return run_on_a_machine(BOOT.format(folder=folder, busybox=BUSYBOX, url=URL), folder)


def test_a_server_that_does_not_answer_yet_is_waited_for(tmp_path: Path) -> None:
    run = fetch_root(tmp_path, ROOTFS)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"okd-lab: initrd 0.00 s: waits for {URL}: {REFUSED}",
        f"okd-lab: initrd 100.00 s: fetches {URL}, has ",
        "okd-lab: initrd 100.00 s: has fetched the root",
    ]


def test_a_server_that_never_answers_is_waited_for_in_bounds(tmp_path: Path) -> None:
    run = fetch_root(tmp_path, None)
    assert run.stdout.splitlines() == [
        f"okd-lab: initrd 0.00 s: waits for {URL}: {REFUSED}",
        f"okd-lab: initrd 300.00 s: FAILED: got no root from {URL} in 300 s: {REFUSED}; "
        "the guest stays here until it is powered off",
    ]
    assert run.returncode == STAYED


def test_a_truncated_root_is_refused_by_its_digest(tmp_path: Path) -> None:
    run = fetch_root(tmp_path, ROOTFS[:-1])
    broken, wanted = (hashlib.sha256(content).hexdigest() for content in (ROOTFS[:-1], ROOTFS))
    assert run.stdout.splitlines()[-1] == (
        f"okd-lab: initrd 100.00 s: FAILED: rootfs.img has SHA-256 {broken}, wanted {wanted}; "
        "the guest stays here until it is powered off"
    )
    assert run.returncode == STAYED
