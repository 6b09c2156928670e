"""Which parts of a BMC's traffic are masked, and which stay readable."""

import json

import pytest
from pydantic import SecretStr

from wires.redfish.client.masking import READ_LENGTH, TrafficMask

PASSWORD = 'caña"ry'
DIGEST = "0123456789abcdef" * 4
ISO = f"http://192.0.2.1:8080/{DIGEST}/m0.iso"


def masked(content: bytes | str | None) -> str:
    return TrafficMask(SecretStr(PASSWORD)).body(content)


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        pytest.param(
            {"UserName": "admin", "Password": "x"}, '{"UserName": "[masked]", "Password": "[masked]"}', id="login"
        ),
        pytest.param({"oldpassword": {"a": "x"}}, '{"oldpassword": "[masked]"}', id="whatever-the-value"),
        pytest.param({"Oem": [{"SessionToken": "x"}]}, '{"Oem": [{"SessionToken": "[masked]"}]}', id="at-any-depth"),
        pytest.param({"Image": ISO}, '{"Image": "http://192.0.2.1:8080/…"}', id="iso"),
        pytest.param({"Image": f"nfs://192.0.2.1/{DIGEST}"}, '{"Image": "nfs://192.0.2.1/…"}', id="nfs"),
        pytest.param({"Image": "http://a:b@192.0.2.1"}, '{"Image": "http://192.0.2.1"}', id="login-in-a-url"),
        pytest.param({"Image": f"http://a:b@[2001:db8::1]:80/{DIGEST}"}, '{"Image": "http://[2001:db8::1]:80/…"}'),
        pytest.param({"ImageName": f"{DIGEST}/m0.iso"}, '{"ImageName": "…/m0.iso"}', id="digest-alone"),
        pytest.param(
            {"Message": f"no {ISO}, sorry"}, '{"Message": "no http://192.0.2.1:8080/… sorry"}', id="in-words"
        ),
        pytest.param({"Message": f"no '{PASSWORD}'"}, '{"Message": "no \'[masked]\'"}', id="password-repeated"),
        pytest.param({PASSWORD: 1}, '{"[masked]": 1}', id="password-as-a-key"),
        pytest.param(
            {"@odata.id": "/redfish/v1/Systems/1", "PowerState": "On", "Inserted": True, "Image": None, "Count": 3},
            '{"@odata.id": "/redfish/v1/Systems/1", "PowerState": "On", "Inserted": true, "Image": null, "Count": 3}',
            id="all-else-is-shown",
        ),
    ],
)
def test_the_secrets_of_a_document_are_masked(document: object, shown: str) -> None:
    assert masked(json.dumps(document).encode()) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(None, "", id="nothing"),
        pytest.param(b"", "", id="empty"),
        pytest.param(b"\xff\xfe busy", "\ufffd\ufffd busy", id="no-utf-8"),
        pytest.param("<p>\r\nbusy\x1b[0m", r"<p>\r\nbusy\x1b[0m", id="one-line"),
        pytest.param(f"<p>{PASSWORD}</p>", "<p>[masked]</p>", id="password"),
        pytest.param(f'{{"a": {json.dumps(PASSWORD)}', '{"a": "[masked]"', id="password-escaped"),
        pytest.param(f'<a href="{ISO}">', '<a href="http://192.0.2.1:8080/…">', id="iso"),
        pytest.param(f'{{"a": "{ISO}"'.replace("/", r"\/"), r'{"a": "http:\/\/192.0.2.1:8080/…"', id="iso-escaped"),
        pytest.param('{"Password" : "x\\"y", "a": 1', '{"Password" : [masked], "a": 1', id="key"),
        pytest.param('{"Tokens": 12345, "a": 1', '{"Tokens": [masked] "a": 1', id="number"),
        pytest.param('{"Password": {"a": "x"}, "b": 1', '{"Password": [masked]', id="object"),
        pytest.param("[" * 100_000, "[" * 2000, id="too-deep"),
    ],
)
def test_the_secrets_of_other_text_are_masked(text: bytes | str | None, shown: str) -> None:
    assert masked(text) == shown


def test_an_answer_cut_off_at_any_byte_shows_no_part_of_a_secret() -> None:
    mask = TrafficMask()
    whole = json.dumps({"Id": 1, "UserName": "canary", "Oem": {"Password": 'can"ary', "Token": "canary"}, "a": ISO})
    for end in range(len(whole) + 1):
        assert "can" not in mask.body(whole[:end])
        assert DIGEST[:8] not in mask.body(whole[:end])


@pytest.mark.parametrize("begin", ["", "{"], ids=["document", "no-document"])
def test_a_long_body_is_masked_before_it_is_cut(begin: str) -> None:
    long = begin + json.dumps({"a": "x" * 1985 + PASSWORD + ISO})
    assert len(masked(long)) == 2000
    assert masked(long).endswith("[masked]http:/"[: 2000 - 1985 - len(begin) - len('{"a": "')])


def test_a_token_is_masked_once_it_is_known() -> None:
    mask = TrafficMask(SecretStr(""))
    assert mask.text("to/k3n") == "to/k3n"
    mask.learn(SecretStr("to/k3n"))
    assert mask.text("a to/k3n") == "a [masked]"


def test_a_body_longer_than_is_read_shows_no_secret_and_no_less() -> None:
    whole = json.dumps({"a": PASSWORD, "Password": {"b": "canary"}, "c": ISO, "d": "x" * READ_LENGTH})
    assert masked(whole) == '{"a": "[masked]", "Password": [masked]'
    assert len(masked("x" * READ_LENGTH + PASSWORD)) == 2000


@pytest.mark.parametrize("length", range(len(PASSWORD)))
def test_no_cut_leaves_the_beginning_of_a_password(length: int) -> None:
    body = "<p>" + "http://a/" + "x" * (READ_LENGTH - 13 - length) + " " + PASSWORD
    assert masked(body).endswith(("/… ", "/… [masked]"[: len("/… ") + length]))


def test_a_long_text_is_cut_after_its_secrets_are_masked() -> None:
    mask = TrafficMask(SecretStr(PASSWORD))
    begin = "x" * (READ_LENGTH - 4)
    assert mask.text(begin + PASSWORD + "y" * READ_LENGTH) == f"{begin}[mas"
