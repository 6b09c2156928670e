"""Texts of BMCs and logs, through everything that masks: a known secret never shows, in time that any text takes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from pydantic import SecretStr

from base.masking import Secrets, mask_document, mask_lines, mask_logins, mask_pairs
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import TOKENS, mutated_bytes
from wires.redfish.capture.pseudonyms import Pseudonyms
from wires.redfish.client.masking import TrafficMask

PARTS = (
    *(
        '{"',
        "password",
        '":"',
        "://",
        "a:b@",
        "a-a-",
        "\\",
        '"',
        "'",
        " = ",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "\x1b[",
    ),
    *("$2b$", "ssh-rsa ", "data:;base64,", "authorization: ", "f1ee7000-", "0" * 64, "[", "10.0.0.1/", "://["),
)
"""With which the patterns of the masks begin and go on."""
TIMES = (1, 3, 50, 2000, 20_000)


def _captured(text: str) -> str:
    body = {
        "Id": text,
        "Model": text,
        "SerialNumber": text[:200],
        "Links": {"Chassis": [{"@odata.id": f"/redfish/{text}"}]},
    }
    masks = Pseudonyms([body], "root", "192.0.2.1")
    return json.dumps(masks.masked(body)) + masks.path(f"/redfish/v1/{text}")


def _learned(text: str) -> str:
    secrets = Secrets(CANARY)
    secrets.learn_text(text)
    return secrets.mask(text)


def _of_document(text: str) -> str:
    document: Any = {"a": [text], text[:50]: "b", "password": text}
    return json.dumps(mask_document(document, mask_text=Secrets(CANARY).mask))


MASKS: tuple[Callable[[str], str], ...] = (
    lambda text: TrafficMask(SecretStr(CANARY)).body(text),
    lambda text: TrafficMask(SecretStr(CANARY)).text(text),
    lambda text: "\n".join(mask_lines(Secrets(CANARY).mask(text))),
    lambda text: mask_logins(mask_pairs(Secrets(CANARY).mask(text))),
    lambda text: Secrets(CANARY).mask(_captured(text.replace(CANARY, ""))),
    _learned,
    _of_document,
)


def _make(random: Random) -> bytes:
    parts = [random.choice(PARTS) * random.choice(TIMES) for _ in range(random.randint(1, 6))]
    parts.insert(random.randrange(len(parts) + 1), CANARY)
    text = "".join(parts).encode()
    for _ in range(random.randint(0, 3)):
        at = random.randint(0, len(text))
        text = text[:at] + random.choice(TOKENS) + text[at:]
    return bytes([random.randrange(len(MASKS))]) + (mutated_bytes(random, text) if random.random() < 0.2 else text)


def _run(case: bytes) -> str:
    return MASKS[case[0]](case[1:].decode(errors="replace"))


SURFACE = Surface(_make, _run)
