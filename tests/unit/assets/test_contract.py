"""Each port, path and word of the contract is written once: templates take them from `assets/contract.py`."""

import re
from pathlib import Path

import pytest

from assets import contract
from assets.render import FOLDER

WRITTEN = [path for path in sorted(FOLDER.glob("*/*")) if path.parent.name != "__pycache__"]
EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
CHANNEL_SCRIPT = FOLDER / "bootstrap" / "okd-vip-channel.sh.j2"
WORDS = {*contract.Word, contract.HELD, contract.RELEASED}
CONSTANTS = {
    str(value)
    for name, value in vars(contract).items()
    if name.isupper() and str(value) not in WORDS and isinstance(value, str | int)
}


def bare(path: Path) -> str:
    """Return a file's own text, without the expressions of its template."""
    return EXPRESSION.sub("", path.read_text())


def repeated(text: str) -> set[str]:
    """Return the constants of the contract that a text contains."""
    return {each for each in CONSTANTS if re.search(rf"(?<!\w){re.escape(each)}(?![\w-])", text)}


def test_the_contract_has_these_constants() -> None:
    assert {
        *("6443", "22623", "9445", "9444", "9454", "1936", "6180", "443", "10250", "2379"),
        *("/etc/okd-baremetal", "/run/okd-baremetal", "/var/lib/okd-baremetal", "/usr/local/bin"),
        *("/etc/systemd/system", "/etc/tmpfiles.d", "/etc/NetworkManager", "/etc/NetworkManager/system-connections"),
        *("/run/okd-baremetal/keepalived.conf", "/var/lib/okd-baremetal/release", "/run/okd-baremetal/upstreams"),
        "/var/lib/okd-baremetal/images",
        *("/tftpboot", "boot.ipxe"),
        "org.okd-baremetal.vip",
    } == CONSTANTS
    assert {"release", "leave", "hold", "status", "held", "released"} == WORDS


@pytest.mark.parametrize("path", WRITTEN, ids=[path.name for path in WRITTEN])
def test_no_file_repeats_a_port_or_a_path(path: Path) -> None:
    assert repeated(bare(path)) == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("bind :::9445 v4v6", {"9445"}, id="port"),
        pytest.param("https://localhost:6443/readyz", {"6443"}, id="port-of-a-url"),
        pytest.param("ExecStart=/usr/local/bin/x.sh", {"/usr/local/bin"}, id="path"),
        pytest.param(
            'file "/var/lib/okd-baremetal/release"',
            {"/var/lib/okd-baremetal/release", "/var/lib/okd-baremetal"},
            id="path-in-a-path",
        ),
        pytest.param("port=/dev/virtio-ports/org.okd-baremetal.vip", {"org.okd-baremetal.vip"}, id="name"),
        pytest.param("94450 19445 /run/NetworkManager/resolv.conf /run/okd-baremetal-x", set(), id="others"),
    ],
)
def test_a_repeated_constant_is_found(text: str, found: set[str]) -> None:
    assert repeated(text) == found


def test_the_script_of_the_channel_repeats_no_word() -> None:
    code = "\n".join(line for line in bare(CHANNEL_SCRIPT).splitlines() if not line.startswith("#"))
    assert {word for word in WORDS if re.search(rf"\b{word}\b", code)} == set()
