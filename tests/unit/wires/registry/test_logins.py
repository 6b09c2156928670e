"""Which login a repository gets, and how a registry asks for it."""

import json

import pytest

from wires.registry.logins import Challenge, login_for

SECRET = json.dumps(
    {
        "auths": {
            "quay.io": {"auth": "cXVheQ=="},
            "quay.io/okd": {"auth": "b2tk"},
            "m.test:5000": {"auth": "bWlycm9y"},
            "keys.test": {"credsStore": "pass"},
            "lines.test": {"auth": "bGlu\r\nZXM=\n"},
            "wrong.test": {"auth": "wr\u00f6ng"},
            "number.test": {"auth": 5},
        }
    }
)


@pytest.mark.parametrize(
    ("repository", "login"),
    [
        ("quay.io/okd/scos-release", "b2tk"),
        ("quay.io/okd", "b2tk"),
        ("quay.io/okdx/scos-release", "cXVheQ=="),
        ("m.test:5000/okd/release", "bWlycm9y"),
        ("m.test/okd/release", ""),
        ("keys.test/okd", ""),
        ("lines.test/okd", "bGluZXM="),
        ("wrong.test/okd", ""),
        ("number.test/okd", ""),
    ],
)
def test_the_longest_key_of_whole_parts_counts(repository: str, login: str) -> None:
    assert login_for(SECRET, repository) == login


@pytest.mark.parametrize("secret", ["", "no JSON", "[]", '{"auths": 1}', '{"auths": {"m.test": 1}}', "[" * 100_000])
def test_a_pull_secret_that_cannot_be_read_has_no_login(secret: str) -> None:
    assert login_for(secret, "m.test/okd") == ""


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ('Basic realm="lab"', Challenge("")),
        ('basic realm="https://a.test"', Challenge("")),
        # as quay.io and registry-1.docker.io answer at /v2/ (2026-11)
        ('Bearer realm="https://quay.io/v2/auth",service="quay.io"', Challenge("https://quay.io/v2/auth", "quay.io")),
        ('Bearer service="s",realm="https://a.test/t?x=1"', Challenge("https://a.test/t?x=1", "s")),
        ('Bearer service="s"', None),
        ("Negotiate", None),
        ("", None),
    ],
)
def test_a_challenge_is_read(header: str, challenge: Challenge | None) -> None:
    assert Challenge.of(header) == challenge


def test_a_token_is_asked_for_one_repository_and_to_pull_only() -> None:
    scope = "scope=repository%3Aokd%2Frelease%3Apull"
    assert Challenge("https://a.test/t", "s").token_url("okd/release") == f"https://a.test/t?service=s&{scope}"
    assert Challenge("https://a.test/t?x=1").token_url("okd/release") == f"https://a.test/t?x=1&{scope}"
