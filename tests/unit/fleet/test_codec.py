"""What leaves a worker or the command line: sealed with the fleet's key, or refused."""

import asyncio
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    SerializationContext,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError

from base.errors import ConfigError
from fleet.codec import BOUND, KEY_FILE, NOT_STARTED, UNBOUND, converter
from fleet.keys import write_key
from fleet.messages import Approval, Order

ORDER = Order("north-a", "north", "c0ffee", ["bootstrap"], [Approval("bootstrap", "5eed", "somebody")])
OTHER_KEY = (
    "FLEET_KEY_FILE: a message was not sealed with this key, or not for this workflow. "
    "Fix: give all workers and the command line the fleet's one key"
)


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "fleet.key"
    write_key(file)
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
    assert payload.metadata == {"encoding": UNBOUND}
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
    key_file.unlink()
    write_key(key_file)
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


def test_the_servers_own_words_stand_for_no_message(key_file: Path) -> None:
    """They pass as the details of a cancelled activity; the server cannot give them for an order."""
    assert asyncio.run(converter().decode([NOT_STARTED])) == ["ACTIVITY_ID_NOT_STARTED"]
    with pytest.raises(TypeError, match="Cannot convert"):
        opened(converter(), NOT_STARTED)


def of_activity(activity: str, workflow: str = "cluster/north-a") -> SerializationContext:
    """Return what the SDK says of an activity's payloads; some of it only at one of the two ends."""
    return ActivitySerializationContext("fleet", "1", activity, "site/north", workflow, "Cluster", is_local=False)


def of_workflow(cluster: str) -> SerializationContext:
    return WorkflowSerializationContext("fleet", f"cluster/{cluster}")


USES = {
    "preview": of_activity("preview"),
    "up": of_activity("up"),
    "up-elsewhere": of_activity("up", "cluster/south-a"),
    "workflow": of_workflow("north-a"),
    "other-workflow": of_workflow("south-a"),
}


@pytest.mark.parametrize("sealed_for", USES)
@pytest.mark.parametrize("given_to", [*USES, "nothing"])
def test_a_message_opens_only_for_what_it_was_sealed_for(key_file: Path, sealed_for: str, given_to: str) -> None:
    """S6: the sealed input of `preview`, handed to `up` by the server, opens nowhere else."""
    payload = sealed(converter().with_context(USES[sealed_for]), ORDER)
    assert payload.metadata == {"encoding": BOUND}
    other = converter().with_context(USES[given_to]) if given_to in USES else converter()
    if given_to == sealed_for:
        assert opened(other, payload) == ORDER
        return
    for encoding in (BOUND, UNBOUND):
        payload.metadata["encoding"] = encoding
        with pytest.raises(ConfigError) as caught:
            opened(other, payload)
        assert str(caught.value) == OTHER_KEY


def test_a_message_of_an_earlier_release_opens(key_file: Path) -> None:
    """The workflows that are under way have them; a site refuses an order among them, which names no run."""
    assert opened(converter().with_context(of_workflow("north-a")), sealed(converter(), ORDER)) == ORDER
