"""The log of a BMC's traffic: every request and every answer, and no secret in any line."""

import logging
import re
from base64 import b64encode

import pytest

from base.errors import BmcError
from tests.unit.wires.redfish.one_bmc import MANAGER, PASSWORD, SESSIONS, SYSTEM, OneBmc
from wires.bmc.client import Power

DIGEST = "0123456789abcdef" * 4
URL = f"http://192.0.2.1:8080/{DIGEST}/m0.iso"
INSERT = f"{MANAGER}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
BASIC = b64encode(f"admin:{PASSWORD}".encode()).decode()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "wires")
    return caplog


def lines(it: OneBmc, logged: pytest.LogCaptureFixture) -> list[str]:
    """The log, the BMC's base URL and the seconds left out."""
    base = f"{it.fleet.base(0)} "
    messages = [record.getMessage() for record in logged.records if record.name == "wires.redfish.client.adapter"]
    assert all(line.startswith(base) for line in messages)
    return [re.sub(r"\d+\.\d{3} s", "N s", line.removeprefix(base)) for line in messages]


def test_each_request_and_each_answer_has_a_line(it: OneBmc, logged: pytest.LogCaptureFixture) -> None:
    bmc = it.client()
    bmc.request_power(Power.ON)
    read, answer, reset, done = lines(it, logged)
    assert read == f"GET {SYSTEM}"
    assert answer.startswith(f'GET {SYSTEM}: HTTP 200, N s {{"@odata.id": "{SYSTEM}", ')
    assert '"PowerState": "Off"' in answer
    action = f"POST {SYSTEM}/Actions/ComputerSystem.Reset"
    assert (reset, done) == (f'{action} {{"ResetType": "On"}}', f"{action}: HTTP 204, N s")


def test_an_answer_like_the_one_before_is_not_repeated(it: OneBmc, logged: pytest.LogCaptureFixture) -> None:
    bmc = it.client()
    bmc.power(), bmc.power(), bmc.power()
    it.fleet.change(power="On")
    bmc.power(), bmc.media(), bmc.power()
    answers = [line for line in lines(it, logged) if line.startswith(f"GET {SYSTEM}: ")]
    same = [line == f"GET {SYSTEM}: HTTP 200, N s the same answer as before" for line in answers]
    assert same == [False, True, True, False, False]
    assert ['"PowerState": "On"' in line for line in answers] == [False, False, False, True, True]


@pytest.mark.parametrize("session", [False, True], ids=["basic", "session"])
def test_no_secret_is_in_the_log(it: OneBmc, logged: pytest.LogCaptureFixture, session: bool) -> None:
    bmc = it.client(session=session)
    assert bmc.media() is None
    bmc.insert(URL)
    assert bmc.media() == URL
    tokens = {request.token for request in it.fleet.figures().received} - {""}
    assert len(tokens) == int(session)
    repeated = f"{PASSWORD} {BASIC} {URL} {' '.join(tokens)}"
    it.answers("GET", 400, body={"error": {"message": repeated}, "UserName": "admin"})
    with pytest.raises(BmcError):
        bmc.power()
    it.fleet.heal()
    it.answers("GET", 500, text=f'<html>{repeated} {{"Password": "{PASSWORD}')
    with pytest.raises(BmcError):
        bmc.power()
    bmc.close()
    messages = lines(it, logged)
    assert f'POST {INSERT} {{"Image": "http://192.0.2.1:8080/…"}}' in messages
    assert sum('"Image": "http://192.0.2.1:8080/…", "ImageName": "m0.iso"' in line for line in messages) == 1
    assert sum("[masked] [masked] http://192.0.2.1:8080/…" in line for line in messages) == 2
    log_in = [line for line in messages if SESSIONS in line and "HTTP" not in line]
    opened = [f'POST {SESSIONS} {{"UserName": "[masked]", "Password": "[masked]"}}', f"DELETE {SESSIONS}/1"]
    assert log_in == (opened if session else [])
    canaries = (PASSWORD, "P\\u00e4ssword", BASIC, DIGEST, DIGEST[:12], "admin", *tokens)
    assert [canary for canary in canaries if canary in logged.text] == []


def test_the_error_in_place_of_an_answer_has_a_line(it: OneBmc, logged: pytest.LogCaptureFixture) -> None:
    it.fleet.change(listening=False)
    with pytest.raises(BmcError):
        it.client().power()
    asked, broken = lines(it, logged)
    assert asked == f"GET {SYSTEM}"
    assert re.match(rf"GET {SYSTEM}: no answer, N s ConnectionError: .*refused", broken)


def test_a_long_answer_is_cut_to_2000_characters(it: OneBmc, logged: pytest.LogCaptureFixture) -> None:
    it.says(f"GET {SYSTEM}$", Model="x" * 5000)
    it.client().identity()
    answer = lines(it, logged)[1]
    assert len(answer) == len(f"GET {SYSTEM}: HTTP 200, N s ") + 2000


def test_each_record_of_the_log_is_one_line(it: OneBmc, logged: pytest.LogCaptureFixture) -> None:
    it.answers("GET", 503, text="busy\r\nBMC forged \x1b[31mline")
    with pytest.raises(BmcError):
        it.client().power()
    assert lines(it, logged)[1] == rf"GET {SYSTEM}: HTTP 503, N s busy\r\nBMC forged \x1b[31mline"


def test_without_a_log_nothing_is_written(it: OneBmc, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wires")
    it.client().power()
    assert caplog.messages == []
