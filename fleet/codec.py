"""Payloads and failures are encrypted before they leave a worker or the command line: the server cannot read them."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec

from base.errors import ConfigError, Fault
from base.files import read_file

KEY_FILE = "FLEET_KEY_FILE"
KEY_BYTES = 32
NONCE_BYTES = 12
"""NIST SP 800-38D: the length for which GCM's counter needs no hash."""
ENCODING = b"binary/aes-256-gcm"
ONE_KEY = "give all workers and the command line the fleet's one key"
"""The fix for two keys."""


class FleetCodec(PayloadCodec):
    """AES-256-GCM with the fleet's key. A payload that is not encrypted is refused, as one of another key."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return sealed payloads: a nonce, then the payload with its metadata."""
        return [
            Payload(metadata={"encoding": ENCODING}, data=self._sealed(payload.SerializeToString()))
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads as they were.

        Raises:
            ConfigError: One was not sealed with this key.
        """
        return [self._opened(payload) for payload in payloads]

    def _sealed(self, content: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, None)

    def _opened(self, payload: Payload) -> Payload:
        try:
            if payload.metadata.get("encoding") != ENCODING:
                raise InvalidTag
            content = self._cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            raise ConfigError(Fault(KEY_FILE, "a message was not sealed with this key", ONE_KEY)) from None
        return Payload.FromString(content)


def new_key() -> str:
    """Return a key, as it stands in its file."""
    return AESGCM.generate_key(KEY_BYTES * 8).hex() + "\n"


def converter() -> DataConverter:
    """Return the converter of workers and command line.

    Raises:
        ConfigError: `FLEET_KEY_FILE` names no file with a key.
    """
    fix = "write a key with `okd-baremetal fleet key > FILE`, and export FLEET_KEY_FILE=FILE"
    name = os.environ.get(KEY_FILE, "")
    if not name:
        raise ConfigError(Fault(KEY_FILE, "not set", fix))
    try:
        key = bytes.fromhex(read_file(Path(name)).decode("ascii"))
    except (OSError, ValueError):
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
