"""Payloads and failures are encrypted before they leave a worker or the command line: the server cannot read them."""

import dataclasses
import json
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from base.errors import ConfigError, Fault
from fleet.keys import KEY_BYTES, key_of

KEY_FILE = "FLEET_KEY_FILE"
NONCE_BYTES = 12
"""NIST SP 800-38D: the length for which GCM's counter needs no hash."""
BOUND = b"binary/aes-256-gcm-bound"
"""Sealed for one workflow or activity: the associated data name it."""
UNBOUND = b"binary/aes-256-gcm"
"""Sealed by a release that bound nothing: recorded histories have it. A site refuses an order that names no run."""
NOT_STARTED = Payload(metadata={"encoding": b"json/plain"}, data=b'"ACTIVITY_ID_NOT_STARTED"')
"""The server's own words for an activity that was cancelled while no worker had it. It has no key to seal them.

Source: `activityCancellationMsgActivityNotStarted` of temporalio/temporal, in workflow_task_completed_handler.go.
"""
ONE_KEY = "give all workers and the command line the fleet's one key"
"""The fix for two keys."""


class FleetCodec(PayloadCodec, WithSerializationContext):
    """AES-256-GCM with the fleet's key. Except `NOT_STARTED`, a payload that is not encrypted is refused.

    Args:
        key: The fleet's.
        use: What the payloads are for, which the server can then not change. Empty: nothing is known of it.
    """

    def __init__(self, key: bytes, use: bytes = b"") -> None:
        self._key, self._cipher, self._use = key, AESGCM(key), use

    def with_context(self, context: SerializationContext) -> "FleetCodec":
        """Return the codec of one workflow's payloads, or of one activity's."""
        match context:
            case ActivitySerializationContext(workflow_id=workflow, activity_type=activity):
                use = ["activity", workflow, activity]
            case WorkflowSerializationContext(workflow_id=workflow):
                use = ["workflow", workflow]
            case _:
                return self
        return FleetCodec(self._key, json.dumps(use).encode())

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return sealed payloads: a nonce, then the payload with its metadata."""
        return [
            Payload(
                metadata={"encoding": BOUND if self._use else UNBOUND}, data=self._sealed(payload.SerializeToString())
            )
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads as they were.

        Raises:
            ConfigError: One was not sealed with this key, or not for this use.
        """
        return [self._opened(payload) for payload in payloads]

    def _sealed(self, content: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, self._use)

    def _opened(self, payload: Payload) -> Payload:
        if payload == NOT_STARTED:
            return payload
        uses = {BOUND: self._use, UNBOUND: b""}
        try:
            use = uses[payload.metadata.get("encoding", b"")]
            content = self._cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], use)
        except (InvalidTag, KeyError, ValueError):
            what = "a message was not sealed with this key, or not for this workflow"
            raise ConfigError(Fault(KEY_FILE, what, ONE_KEY)) from None
        return Payload.FromString(content)


def converter() -> DataConverter:
    """Return the converter of workers and command line.

    Raises:
        ConfigError: `FLEET_KEY_FILE` names no file with a key that only its owner can read.
    """
    fix = (
        "copy the fleet's key to this machine, or make the first one with `okd-baremetal fleet key FILE`; "
        f"export {KEY_FILE}=FILE"
    )
    name, content = key_of(KEY_FILE, fix)
    try:
        key = bytes.fromhex(content)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(Fault(KEY_FILE, f"{name} is not a file with {KEY_BYTES} bytes in hexadecimal", fix))
    return sealing(key)


def sealing(key: bytes) -> DataConverter:
    """Return the converter that seals with this key."""
    return dataclasses.replace(
        DataConverter.default,
        payload_codec=FleetCodec(key),
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )
