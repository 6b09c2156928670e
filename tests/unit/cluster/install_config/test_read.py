"""From text to a judged file: invalid YAML, the meaning of scalars, and the precedence of credentials."""

import copy
import re
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from base.errors import ConfigError
from cluster.install_config import Credentials, InstallConfig, Reading, read
from cluster.install_config.unquoted import FIX
from cluster.plan.refusals.unsupported import beyond_this_release
from testing import plans
from testing.any_text import any_text
from testing.install_configs import Change, bare, fine, host, printed, refused

TEXT = plans.INSTALL_CONFIG.read_text()
THERE = ". Fix: correct quotes, brackets and indentation there"
ODD = ". Fix: quote odd values, escape odd characters"
NO_ANCHOR = ": an undefined anchor. Fix: define it, or remove the alias"
HINTS = "platform.baremetal.hosts[0].rootDeviceHints"
TYPE, JSON = "a type that JSON does not have", ". Fix: write text, a number, true or false, a list or a mapping"


def changed(change: Change) -> Reading:
    """Read the changed base file."""
    config = plans.install_config()
    change(config)
    return read(yaml.safe_dump(config))


def refusal(text: str) -> str:
    """Return the one line about a text that is no install-config at all."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    (fault,) = caught.value.faults
    return str(fault)


def test_the_base_file_has_no_fault_and_no_notice() -> None:
    fine(lambda c: None)
    assert read(TEXT).notices == ()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param(lambda c: c["metadata"].update(creationTimestamp=None), "metadata", id="creation-timestamp"),
        pytest.param(lambda c: c.update(proxy=None), "proxy", id="section"),
        pytest.param(lambda c: c.update(arbiter=None), "arbiter", id="pool"),
        pytest.param(lambda c: c["controlPlane"].update(platform=None), "control_plane", id="free-mapping"),
        pytest.param(lambda c: bare(c).update(loadBalancer=None), "platform", id="section-of-the-platform"),
        pytest.param(lambda c: bare(c).update(provisioningDHCPRange=None), "platform", id="text"),
        pytest.param(lambda c: bare(c).update(additionalNTPServers=None), "platform", id="list"),
        pytest.param(
            lambda c: host(c)["bmc"].update(disableCertificateVerification=None), "platform", id="boolean-in-a-list"
        ),
    ],
)
def test_null_equals_a_missing_key(change: Change, path: str) -> None:
    reading = changed(change)
    assert reading.faults == ()
    assert getattr(reading.config, path) == getattr(read(TEXT).config, path)


def test_a_null_for_a_required_key_is_reported_as_missing() -> None:
    refused(lambda c: c.update(baseDomain=None), "baseDomain: missing")


def test_a_null_for_an_unknown_key_is_refused() -> None:
    refused(lambda c: bare(c).update(noSuchKey=None), "platform.baremetal.noSuchKey: unknown key. Fix: remove it")


def test_a_null_in_a_free_mapping_is_removed() -> None:
    reading = changed(lambda c: host(c).update(networkConfig={"interfaces": [{"name": "eno1", "ipv4": None}]}))
    assert _hosts(reading)[0].network_config == {"interfaces": [{"name": "eno1"}]}


def _hosts(reading: Reading) -> tuple[Any, ...]:
    return reading.config.baremetal.hosts or ()


@pytest.mark.parametrize(
    ("written", "name"),
    [
        pytest.param("123", "123", id="number"),
        pytest.param("1.5", "1.5", id="fraction"),
        pytest.param("true", "true", id="boolean"),
        pytest.param("0x6000c29e1b2c3d4e5f60718293a4b5c6", "0x6000c29e1b2c3d4e5f60718293a4b5c6", id="W02-128-bits"),
        pytest.param("5000c500e1234567", "5000c500e1234567", id="letters-after-digits"),
        pytest.param("0x", "0x", id="a-prefix-alone"),
        pytest.param("2026-01-31", "2026-01-31", id="date"),
        pytest.param("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z", id="timestamp"),
        pytest.param("52:54:00:11:10:15", "52:54:00:11:10:15", id="mac-of-digits"),
        pytest.param("2001:10:20:30:40:50:10:20", "2001:10:20:30:40:50:10:20", id="ipv6-of-digits"),
        pytest.param("1:30.5", "1:30.5", id="fraction-to-the-base-of-60"),
        pytest.param("=", "=", id="equals-sign"),
        pytest.param('"123"', "123", id="quoted"),
    ],
)
def test_plain_scalars_are_read_as_text_if_text_is_wanted(written: str, name: str) -> None:
    assert read(f"metadata:\n  name: {written}\n").config.metadata.name == name


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("0x50014ee2b5d3c1a0", id="W01-hexadecimal-of-64-bits"),
        pytest.param("00123456", id="W03-octal"),
        pytest.param("0012345670", id="W04-octal"),
        pytest.param("0o17", id="W05-octal-with-a-letter"),
        pytest.param("1_000", id="W06-underscore"),
        pytest.param("00123456789", id="leading-zeros-and-a-nine"),
        pytest.param("5000500012345678901234", id="more-than-64-bits"),
        pytest.param("5e1", id="exponent"),
        pytest.param("1.10", id="fraction-with-a-final-zero"),
        pytest.param(".inf", id="infinity"),
        pytest.param("0b101", id="binary"),
        pytest.param("+5", id="sign"),
        pytest.param("No", id="old-boolean"),
        pytest.param("y", id="boolean-of-one-letter"),
        pytest.param("True", id="boolean-with-a-capital"),
        pytest.param("!!int 0x10", id="with-a-tag"),
    ],
)
def test_a_scalar_that_the_installer_reads_as_another_text_is_refused(written: str) -> None:
    line, fix = f"{HINTS}.serialNumber: {written.removeprefix('!!int ')} is a number", f". Fix: {FIX}"
    texts = (TEXT.replace("deviceName: /dev/vda", f"serialNumber: {text}", 1) for text in (written, f"'{written}'"))
    wrong, right = map(read, texts)
    (fault,) = map(str, wrong.faults)
    assert fault.startswith(line)
    assert fault.endswith(fix)
    assert right.faults == ()


def test_every_field_of_text_is_compared_and_no_secret_is_repeated() -> None:
    text = (
        "baseDomain: 1e3\nnetworking: {serviceNetwork: [0x10]}\nmetadata: {labels: {a: yes}}\n"
        "platform: {baremetal: {hosts: [{name: 010, networkConfig: {a: yes, b: 1.10}, bmc: {password: 0o17}}]}}\n"
    )
    seen = {fault.where: fault.what for fault in read(text).faults if fault.fix == FIX}
    assert seen.keys() == {
        "baseDomain",
        "networking.serviceNetwork[0]",
        "metadata.labels.a",
        "platform.baremetal.hosts[0].name",
        "platform.baremetal.hosts[0].bmc.password",
    }
    assert "0o17" not in seen["platform.baremetal.hosts[0].bmc.password"]


def test_an_octal_number_is_refused_wherever_a_number_is_wanted() -> None:
    text = (
        "controlPlane: {replicas: 03}\nnetworking: {clusterNetwork: [{hostPrefix: 0x17}]}\n"
        "platform: {baremetal: {hosts: [{networkConfig: {interfaces: [{vlan: {id: 0100}, mtu: 0}]}}]}}\n"
    )
    octal = [str(fault) for fault in read(text).faults if " is octal" in fault.what]
    assert octal == [
        "controlPlane.replicas: 03 is octal, and is read as 3. Fix: write 3, or the number without the 0 before it",
        "platform.baremetal.hosts[0].networkConfig.interfaces[0].vlan.id: 0100 is octal, and is read as 64. "
        "Fix: write 64, or the number without the 0 before it",
    ]


def test_a_boot_mac_of_digits_needs_no_quotes() -> None:
    reading = read(TEXT.replace('"52:54:00:11:10:15"', "52:54:00:11:10:15"))
    assert reading.faults == ()
    assert _hosts(reading)[0].boot_mac_address == "52:54:00:11:10:15"


@pytest.mark.parametrize(
    ("written", "password"),
    [
        pytest.param(12345, "12345", id="number"),
        pytest.param(True, "true", id="boolean"),
        pytest.param(1.5, "1.5", id="fraction"),
    ],
)
def test_a_password_of_digits_needs_no_quotes(written: object, password: str) -> None:
    reading = changed(lambda c: host(c)["bmc"].update(password=written))
    assert reading.faults == ()
    assert _hosts(reading)[0].bmc.password.get_secret_value() == password


def test_an_alias_is_replaced_by_its_anchor() -> None:
    text = "compute: [&pool {name: worker, replicas: 2}, {<<: *pool, replicas: 4}]\nplatform: {none: {}}"
    assert [(pool.name, pool.replicas) for pool in read(text).config.compute] == [("worker", 2), ("worker", 4)]


def test_a_readings_repr_shows_no_secret() -> None:
    printed = repr(read(TEXT))
    assert "okd-master-0" in printed
    assert "rehearsal-only" not in printed
    assert "cmVoZWFyc2FsOm9ubHk=" not in printed


def test_credentials_of_the_options_replace_those_of_the_file() -> None:
    reading = read(TEXT, {"okd-master-1": Credentials("root", SecretStr("from outside"))})
    first, second, *_ = _hosts(reading)
    assert (first.bmc.username, first.bmc.password.get_secret_value()) == ("admin", "rehearsal-only")
    assert (second.bmc.username, second.bmc.password.get_secret_value()) == ("root", "from outside")
    assert second.bmc.address == _hosts(read(TEXT))[1].bmc.address
    assert reading.faults == ()


def test_credentials_of_the_options_suffice() -> None:
    config = plans.install_config()
    for each in bare(config)["hosts"]:
        del each["bmc"]["username"], each["bmc"]["password"]
    outside = {name: Credentials("root", SecretStr("from outside")) for name in plans.HOSTS}
    assert read(yaml.safe_dump(config), outside).faults == ()


def test_credentials_of_no_host_change_nothing() -> None:
    assert read(TEXT, {"no-such-host": Credentials("root", SecretStr("x"))}).config == read(TEXT).config


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# a comment\n", id="comment"),
        pytest.param("null", id="null"),
        pytest.param("apiVersion", id="text"),
        pytest.param("- apiVersion: v1\n", id="list"),
        pytest.param("7", id="number"),
    ],
)
def test_a_file_without_a_mapping_is_refused(text: str) -> None:
    assert refusal(text) == "not a YAML mapping. Fix: write an install-config, which starts with apiVersion: v1"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("pullSecret: 'hidden\n", f"not valid YAML at line 2, column 1{THERE}", id="open-quote"),
        pytest.param("a: b\n  hidden: c\n", f"not valid YAML at line 2, column 9{THERE}", id="indentation"),
        pytest.param("a: {hidden: [b}\n", f"not valid YAML at line 1, column 15{THERE}", id="brackets"),
        pytest.param("a: b\n\thidden: c\n", f"not valid YAML at line 2, column 1{THERE}", id="tab"),
        pytest.param("a: *hidden\n", f"not valid YAML at line 1, column 4{NO_ANCHOR}", id="anchor-that-is-not-there"),
        pytest.param(
            "a: 1\n---\nb: hidden\n",
            "a second document at line 2, column 1. Fix: keep one document",
            id="second-document",
        ),
        pytest.param("a: !hidden b\n", f"{TYPE} at line 1, column 4{JSON}", id="own-tag"),
        pytest.param("a: !!python/object:hidden {}\n", f"{TYPE} at line 1, column 4{JSON}", id="tag-of-python"),
        pytest.param("compute: !!set {hidden}\n", f"{TYPE} at line 1, column 10{JSON}", id="type-that-json-has-not"),
        pytest.param("{[hidden]: a}\n", f"not valid YAML at line 1, column 2: {TYPE}{JSON}", id="list-as-key"),
        pytest.param(
            "a: &a [hidden, *a]\n",
            "not valid YAML at line 1, column 16: an anchor that contains itself. Fix: remove it",
            id="anchor-that-holds-itself",
        ),
        pytest.param("a: !!bool hidden\n", f"not valid YAML{ODD}", id="no-such-boolean"),
        pytest.param("a: !!int ''\nb: hidden\n", f"not valid YAML{ODD}", id="empty-number"),
        pytest.param(f"a: {'9' * 5000}\nb: hidden\n", f"not valid YAML{ODD}", id="number-without-end"),
        pytest.param("hidden\x00", f"not valid YAML{ODD}", id="control-character"),
        pytest.param(
            "metadata:\n  name: hidden\n  name: okd\n",
            "not valid YAML at line 3, column 3: a duplicate key. Fix: keep one of the two",
            id="key-twice",
        ),
        pytest.param(
            "compute:\n- name: hidden\n  'name': worker\n",
            "not valid YAML at line 3, column 3: a duplicate key. Fix: keep one of the two",
            id="key-twice-once-quoted",
        ),
    ],
)
def test_invalid_yaml_is_refused_with_its_place_and_without_its_text(text: str, line: str) -> None:
    assert refusal(text) == line


def test_nested_anchors_are_not_expanded() -> None:
    levels = "".join(
        f"{name}: &{name} [{', '.join([before] * 9)}]\n" for before, name in pairwise(["x", *"abcdefgh"])
    )
    line = refusal(re.sub(r"\b([a-h])(?=[,\]])", r"*\1", levels))
    assert line.startswith("more than 200,000 keys and values. Fix: ")


def _leaves_and_branches(value: Any) -> list[tuple[Any, ...]]:
    """Yield the path of each value of a file, including its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, below in items for rest in _leaves_and_branches(below))]


def _replaced(config: Any, way: tuple[Any, ...], value: object) -> Any:
    if not way:
        return value
    config = copy.copy(config)
    config[way[0]] = _replaced(config[way[0]], way[1:], value)
    return config


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | any_text(20)
ADDRESSES = st.ip_addresses().map(str) | st.sampled_from(["::ffff:1.2.3.4", "10.0.0.0/8", "fd00::/8", "0.0.0.0/0"])
WORDS = st.sampled_from(["Managed", "Unmanaged", "master", "arbiter", "legacy", "UserManaged", "UEFISecureBoot"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | ADDRESSES | WORDS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(any_text(10) | st.integers(), below, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_no_value_anywhere_raises_another_error(data: st.DataObject) -> None:
    config: Any = plans.install_config()
    for _ in range(data.draw(st.integers(1, 3))):
        config = _replaced(config, data.draw(st.sampled_from(_leaves_and_branches(config))), data.draw(VALUES))
    _judged(yaml.safe_dump(config))


@given(any_text() | st.text(alphabet="&*!|>'\"%@`[]{}:,-? \n\t#<=~ab1.x_0"))
def test_no_text_raises_another_error(text: str) -> None:
    _judged(text)


def _judged(text: str) -> None:
    try:
        reading = read(text)
    except ConfigError:
        return
    assert isinstance(reading.config, InstallConfig)
    faults = (*reading.faults, *reading.notices, *beyond_this_release(reading))
    assert all(fault.what and fault.fix for fault in faults)
    assert len(printed(faults)) == len(faults)
