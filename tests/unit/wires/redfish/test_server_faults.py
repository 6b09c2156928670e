"""Faults of a BMC and their ends: each case is a row of docs/explanation/servers.md."""

import hashlib
import random
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from requests import Response

from base.errors import BmcAuthError, BmcRefusedError
from testing.documents import table
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import BMC_S, HOST_S, ServerUnderTest, server
from tests.unit.wires.redfish.fault_cases import NAMELESS, ROWS, SYSTEM, FaultCase
from wires.redfish.client.adapter import BmcAdapter
from wires.redfish.client.logins import REFUSED

ONE_OF_EACH = {"ForceOff": 1, "On": 2}
"""The Resets of an installation: off when found running, on from the ISO, on from the disk."""


@pytest.fixture
def it(tmp_path: Path) -> Iterator[ServerUnderTest]:
    with server(tmp_path) as under_test:
        yield under_test


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_a_fault_ends_as_the_document_says(tmp_path: Path, row: FaultCase) -> None:
    with server(tmp_path, row.vendor) as it:
        ends_as_the_document_says(it, row)


def ends_as_the_document_says(it: ServerUnderTest, row: FaultCase) -> None:
    row.fault(it)
    began = it.clock.now()
    if row.error is None:
        it.from_start_to_end()
        assert it.is_installed()
        resets = dict(it.fleet.figures().resets)
        assert resets == {kind: count for kind, count in ONE_OF_EACH.items() if kind in resets}
        assert resets["On"] == 2
    else:
        with pytest.raises(row.error) as caught:
            it.from_start_to_end()
        assert type(caught.value) is row.error
        assert re.search(row.text, str(caught.value))
        assert it.fleet.options.password not in str(caught.value)
        assert max(it.fleet.figures().resets.values(), default=0) <= 1
        if row.writes:
            assert len(it.fleet.figures().writes) == row.writes
    assert it.clock.now() - began <= BMC_S + HOST_S
    assert it.fleet.figures().peak <= 1


def test_the_document_lists_each_row() -> None:
    rows = {row["what a BMC does"]: row["end"] for row in table("explanation/servers.md", "what a BMC does")}
    assert rows == {row.name: "error" if row.error else "installed" for row in ROWS}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_is_tried_once_and_works_once_corrected(it: ServerUnderTest, status: int) -> None:
    it.fleet.fault(Fault("GET", "status", status=status, times=1))
    with pytest.raises(BmcAuthError):
        it.take_over()
    assert it.fleet.figures().requests.total() == 1
    REFUSED.clear()  # as in the process of the next run
    it.from_start_to_end()
    assert it.is_installed()


def test_a_bmc_that_has_just_restarted_may_lack_its_uuid_at_first(it: ServerUnderTest) -> None:
    it.take_over()
    it.fleet.fault(Fault(SYSTEM, "says", says=NAMELESS, times=3))
    it.install()
    assert it.is_installed()


@pytest.mark.parametrize("kind", ["padded", "tag"])
def test_a_consent_by_serial_or_service_tag_lets_a_server_be_taken_over(tmp_path: Path, kind: str) -> None:
    """Issue 42, 11: the consent that `bmc consent --write` wrote was refused."""
    with server(tmp_path, "dell") as it:
        it.fleet.fault(Fault("Systems/System.Embedded.1$", "says", says={"UUID": "", "SerialNumber": "MT2423  "}))
        it.uuid = "MT2423  " if kind == "padded" else "tag0000"
        it.take_over()
        assert it.lines[0].endswith("UUID unreported, serial MT2423, service tag TAG0000")


def fingerprint(it: ServerUnderTest) -> str:
    """SHA-256 of the certificate that the BMC shows."""
    pem = ssl.get_server_certificate((it.fleet.node(0), it.fleet.port))
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def test_a_pinned_certificate_is_trusted_whatever_ca_signed_it(it: ServerUnderTest) -> None:
    it.fleet.change(0, certificate="other authority")
    it.fingerprint = fingerprint(it)
    it.from_start_to_end()
    assert it.is_installed()


def test_a_certificate_other_than_the_pinned_one_gets_no_password(it: ServerUnderTest) -> None:
    it.fingerprint = "ab" * 32
    with pytest.raises(
        BmcRefusedError, match=r"not trusted \(Fingerprints did not match.*find out what answers"
    ) as caught:
        it.take_over()
    assert fingerprint(it) in str(caught.value).replace(":", ""), (
        "an operator compares it with what the BMC's own pages show"
    )
    assert it.fleet.figures().requests.total() == 0


def test_retry_after_is_respected(it: ServerUnderTest) -> None:
    it.fleet.fault(Fault("GET", "status", times=1, headers={"Retry-After": "120"}))
    it.take_over()
    assert it.clock.slept[0] == 120


def test_an_empty_drive_is_never_ejected(it: ServerUnderTest) -> None:
    it.from_start_to_end()
    assert it.fleet.figures().ejects == 1, "the one after the installation"


@pytest.mark.parametrize(("vendor", "more"), [("generic", 3), ("hpe", 0)])
def test_a_bmc_that_closes_without_saying_so_costs_one_request(
    tmp_path: Path, vendor: str, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D10 of 32 captured trees: 145 requests, not 36. Take-over and installation connect, so each may lose one.

    After the wait for that, the installation also reads its System again, which its steps had shared.
    Both runs wait without jitter: the jitter of a hundred waits comes to more than what a lost request costs.
    """
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)
    requests, seconds = list[int](), list[float]()
    for fault in ("", "used"):
        with server(tmp_path, vendor) as it:
            if fault:
                it.fleet.fault(Fault(".", fault))
            it.from_start_to_end()
            assert it.is_installed()
            requests.append(it.fleet.figures().requests.total())
            seconds.append(it.clock.now())
    assert requests[1] - requests[0] == more
    assert seconds[1] - seconds[0] < 5


EVERY = 1 if settings.get_current_profile_name() == "ci" else 3
"""At each so many requests the process is killed once; CI's profile takes all of them."""


class KilledError(BaseException):
    """The provider's process is gone."""


# The second takes three times the requests, so one in four of them has to do.
@pytest.mark.parametrize(("vendor", "boot_mode"), [("generic", "UEFI"), ("dell", "UEFISecureBoot")])
@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_before_or_after_any_request_the_next_run_converges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, vendor: str, boot_mode: str
) -> None:
    send = BmcAdapter.send
    killed_at, reached = int(when == "after"), True
    while reached:
        left = iter(range(killed_at))

        def dying(self: BmcAdapter, *args: Any, left: Iterator[int] = left, **kwargs: Any) -> Response:
            if next(left, None) is not None:
                return send(self, *args, **kwargs)
            if when == "after":
                send(self, *args, **kwargs)
            raise KilledError

        with server(tmp_path, vendor) as it:
            it.boot_mode = boot_mode
            it.take_over()
            monkeypatch.setattr(BmcAdapter, "send", dying)
            try:
                it.install()
                reached = False
            except KilledError:
                pass
            monkeypatch.setattr(BmcAdapter, "send", send)
            booted = it.fleet.figures().booted
            writes = it.fleet.figures().writes
            it.install()
            assert it.is_installed()
            assert it.fleet.figures().booted.count("disk") == 1, "a booted disk is never installed again"
            assert it.fleet.state().secure is (boot_mode != "UEFI")
            if "disk" in booted:
                assert it.fleet.figures().writes == writes
        killed_at += EVERY if boot_mode == "UEFI" else 4 * EVERY
    assert killed_at > 15
