"""What leaves a worker or the command line: sealed with the fleet's key, or refused."""

import asyncio
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError

from base.errors import ConfigError
from fleet.codec import ENCODING, KEY_BYTES, KEY_FILE, converter, new_key
from fleet.messages import Approval, Order

ORDER = Order("north-a", "north", "c0ffee", ["bootstrap"], [Approval("bootstrap", "5eed", "somebody")])
OTHER_KEY = (
    "FLEET_KEY_FILE: a message was not sealed with this key. "
    "Fix: give all workers and the command line the fleet's one key"
)


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "fleet.key"
    file.write_text(new_key())
    monkeypatch.setenv(KEY_FILE, str(file))
    return file


def sealed(converts: DataConverter, value: object) -> Payload:
    [payload] = asyncio.run(converts.encode([value]))
    return payload


def opened(converts: DataConverter, payload: Payload) -> object:
    [value] = asyncio.run(converts.decode([payload], [Order]))
    return value


def test_what_is_sealed_can_be_opened(key_file: Path) -> None:
    assert opened(converter(), sealed(converter(), ORDER)) == ORDER


def test_nothing_of_a_message_can_be_read_on_the_way(key_file: Path) -> None:
    payload = sealed(converter(), ORDER)
    assert payload.metadata == {"encoding": ENCODING}
    assert b"north" in sealed(DataConverter.default, ORDER).SerializeToString()
    assert not any(word in payload.SerializeToString() for word in (b"north", b"c0ffee", b"somebody", b"json"))


def test_the_same_message_is_never_sealed_alike(key_file: Path) -> None:
    assert sealed(converter(), ORDER).data != sealed(converter(), ORDER).data


def test_nothing_of_a_failure_can_be_read_on_the_way(key_file: Path) -> None:
    failure = Failure()
    error = ApplicationError("okd-master-0: no disk", type="StoppedError", non_retryable=True)
    error.__cause__ = ValueError("the disk at /dev/sda")
    asyncio.run(converter().encode_failure(error, failure))
    assert not any(word in failure.SerializeToString() for word in (b"disk", b"master", b"sda"))
    found = asyncio.run(converter().decode_failure(failure))
    assert isinstance(found, ApplicationError)
    assert (found.message, found.type, found.non_retryable) == (error.message, "StoppedError", True)
    assert str(found.cause) == "ValueError: the disk at /dev/sda"


def test_another_key_is_refused(key_file: Path) -> None:
    payload = sealed(converter(), ORDER)
    key_file.write_text(new_key())
    with pytest.raises(ConfigError) as caught:
        opened(converter(), payload)
    assert str(caught.value) == OTHER_KEY


def test_what_is_not_sealed_or_was_changed_is_refused(key_file: Path) -> None:
    good = sealed(converter(), ORDER)
    plain = sealed(DataConverter.default, ORDER)
    short = Payload(metadata=good.metadata, data=good.data[:5])
    changed = Payload(metadata=good.metadata, data=good.data[:-1] + bytes([good.data[-1] ^ 1]))
    for payload in (plain, short, changed):
        with pytest.raises(ConfigError) as caught:
            opened(converter(), payload)
        assert str(caught.value) == OTHER_KEY


def test_a_new_key_has_its_length_and_is_new() -> None:
    assert len(bytes.fromhex(new_key())) == KEY_BYTES
    assert new_key() != new_key()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param(new_key()[2:], id="short"),
        pytest.param("x" + new_key()[1:], id="no-hexadecimal"),
        pytest.param("ü", id="no-ascii"),
    ],
)
def test_a_file_without_a_key_is_refused(key_file: Path, content: str | None) -> None:
    key_file.unlink()
    if content is not None:
        key_file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        converter()
    assert str(caught.value) == (
        f"FLEET_KEY_FILE: {key_file} is not a file with 32 bytes in hexadecimal. "
        "Fix: write a key with `okd-baremetal fleet key > FILE`, and export FLEET_KEY_FILE=FILE"
    )


def test_no_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_FILE, raising=False)
    with pytest.raises(
        ConfigError, match=r"^FLEET_KEY_FILE: not set\. Fix: write a key with `okd-baremetal fleet key"
    ):
        converter()
