"""Answers of NetBox with wrong shapes, through all that reads devices and compares them."""

import json
import os
from functools import cache
from random import Random
from tempfile import NamedTemporaryFile
from typing import Any

from base.errors import ConfigError
from cluster.install_config import read
from cluster.inventory.devices import Device
from cluster.inventory.source_of_truth import differences, proposed_by_netbox
from testing import plans
from testing.certificates import authority
from testing.fakes.netbox import CA, FakeNetBox, netbox
from testing.fuzz.discovery import inventory
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import mutated_bytes, mutated_document
from wires.netbox import client
from wires.netbox.page import DevicePage

URL = "https://netbox.test"
TOKEN = f"a{CANARY}"
REFUSALS = (400, 403, 404, 500, 503)
STATUSES = (*[200] * 40, 201, 302, *REFUSALS)
HEADERS: tuple[dict[str, str], ...] = (
    *[{}] * 40,
    *({"Location": "http://127.0.0.1:1/"}, {"Content-Encoding": "gzip"}, {"Transfer-Encoding": "chunked"}),
)
WHOLE_S = 3
"""In place of the client's limit, until which a page that names itself as the next one is followed."""


@cache
def _lists() -> dict[str, str]:
    """Return its lists, of the rehearsal's servers, by path."""
    fake = FakeNetBox(URL)
    for index, host in enumerate(plans.intent().servers, start=1):
        ip = f"10.0.0.{index}/24"
        number = fake.add_device(host.name, serial=f"S{index}", bmc=f"192.0.2.{index}/24", ip=ip)
        bond = fake.add_interface(number, "bond0", kind="lag", ip=ip)
        fake.add_interface(number, "eth0", host.boot_mac, lag=bond)
    return {path: json.dumps(fake.page(path, {"limit": ["0"]})[1]) for path in fake.lists}


def _make(random: Random) -> bytes:
    answers = {path: (200, dict[str, str](), text) for path, text in _lists().items()}
    for path in {random.choice([*answers]) for _ in range(2)}:
        answers[path] = _changed(random, path, json.loads(answers[path][2]))
    return json.dumps(answers).encode()


def _changed(random: Random, path: str, document: Any) -> tuple[int, dict[str, str], str]:
    if random.random() < 0.1:
        return random.choice(REFUSALS), {}, json.dumps({"detail": f"the token {TOKEN} is refused"})
    if random.random() < 0.02:
        document["next"] = f"{URL}{path}?offset=9"
    body = json.dumps(mutated_document(random, document))
    if random.random() < 0.1:
        body = mutated_bytes(random, body.encode()).decode(errors="replace")
    return random.choice(STATUSES), random.choice(HEADERS), body


def _run(case: bytes) -> str:
    client.WHOLE_S = WHOLE_S
    with netbox() as fake, NamedTemporaryFile("w") as ca:
        ca.write(authority(CA).pem)
        ca.flush()
        os.environ |= {"SSL_CERT_FILE": ca.name, client.TOKEN: TOKEN}
        answers = json.loads(case.decode().replace(URL, fake.url))
        fake.answer = lambda path: (answers[path][0], answers[path][2], answers[path][1]) if path in answers else None
        return _said(client.read_devices(DevicePage(fake.url, {"tag": ["okd-prod"]})))


def _said(devices: list[Device]) -> str:
    """Return all that `init` says of devices, with an inventory and without."""
    config = plans.install_config()
    del config["platform"]["baremetal"]["hosts"]
    said = [*differences(devices, inventory())]
    for found in (inventory(), None):
        try:
            proposal = proposed_by_netbox(read(plans.written(config)).config, devices, found, "a file")
            said += [str(host.entry) for host in proposal.hosts]
        except ConfigError as error:
            said.append(str(error))
    return "\n".join(said)


SURFACE = Surface(_make, _run)
