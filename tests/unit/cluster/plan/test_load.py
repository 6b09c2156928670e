"""Loading both inputs: unreadable files, an intent with some of the options, and the keyfiles of the hosts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from base.errors import BootMediaError, ConfigError
from boot_media.keyfiles import keyfiles_of
from cluster.plan import load_intent, load_plan
from cluster.plan.model import Keyfile
from testing import plans
from testing.install_configs import host
from testing.plan_files import Files, as_it_is

SECRET = "hunter2"
NO_HOST = "no such host. Fix: remove it, or write the name of a host"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(b"\xff\xfe", "byte 1 is not UTF-8. Fix: save it as UTF-8 text", id="no-text"),
        pytest.param(f'pullSecret: "{SECRET}\nmetadata: {{'.encode(), "not valid YAML at line", id="no-yaml"),
        pytest.param(b"", "not a YAML mapping", id="empty"),
    ],
)
def test_an_unreadable_file_is_one_line(tmp_path: Path, content: bytes | None, line: str) -> None:
    path = tmp_path / "install-config.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_plan(path, plans.options(), keyfiles_of)
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"{path}: {line}")
    assert SECRET not in str(fault)


def test_an_intent_uses_the_options_that_the_stack_has() -> None:
    intent = plans.intent({"node_addresses": {"okd-master-0": ["192.168.111.99"]}, "vrids": {"api": 9}})
    assert [[str(each) for each in server.addresses] for server in intent.servers] == [
        ["192.168.111.99"],
        [],
        [],
        [],
        [],
    ]
    assert (intent.api.vrid, intent.ingress.vrid) == (9, 162)
    assert intent.bootstrap.addresses == ()


def test_an_intent_refuses_wrong_options(files: Files) -> None:
    options = {"phase": "half", "node_addresses": {"okd-master-0": ["x"]}}
    faults = files.refused_intent(lambda c: c.pop("baseDomain"), options)
    assert {line.split(": ")[1] for line in faults} == {"baseDomain", "phase", "node_addresses.okd-master-0[0]"}
    (line,) = files.refused_intent(as_it_is, {"node_addresses": {"okd-master-9": ["192.168.111.99"]}})
    assert line == f"config: node_addresses.okd-master-9: {NO_HOST}"


def refusing(network_config: Mapping[str, Any]) -> tuple[Keyfile, ...]:
    """Implements `KeyfilesOf`, and refuses one of two interfaces."""
    if network_config["interfaces"][0]["name"] == "eno9":
        raise BootMediaError("refused: eno9", fix="name another one")
    return (Keyfile(name="eno1.nmconnection", text="a keyfile"),)


def with_networks(config: dict[str, Any]) -> None:
    for index, name in enumerate(("eno1", "eno9")):
        host(config, index).update(networkConfig={"interfaces": [{"name": name}]})


def test_a_network_config_without_keyfiles_is_a_fault_beside_others(files: Files) -> None:
    path = files.write(with_networks)
    with pytest.raises(ConfigError) as caught:
        load_plan(path, plans.options(consent={}), refusing)
    *consents, network = map(str, caught.value.faults)
    assert [line.partition(": missing")[0] for line in consents] == [
        f"config: consent.{each}" for each in plans.HOSTS
    ]
    line = "platform.baremetal.hosts[1].networkConfig: refused: eno9. Fix: name another one"
    assert network == f"{path}: {line}"
    with pytest.raises(ConfigError) as caught:
        load_intent(path, plans.options(), keyfiles_of=refusing)
    assert [str(fault) for fault in caught.value.faults] == [f"{path}: {line}"]


def test_keyfiles_are_those_of_the_hosts_that_have_a_network_config(files: Files) -> None:
    path = files.write(lambda c: host(c, 2).update(networkConfig={"interfaces": [{"name": "eno1"}]}))
    plan = load_plan(path, plans.options(), refusing)
    names = {server.name: [file.name for file in server.keyfiles] for server in plan.servers if server.keyfiles}
    assert names == {"okd-master-2": ["eno1.nmconnection"]}
    assert not any(server.keyfiles for server in load_intent(path, plans.options()).servers)
