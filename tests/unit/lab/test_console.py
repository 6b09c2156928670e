import pytest

from lab.site.console import mask

SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: Basic {SECRET}",
        f"> authorization: Bearer {SECRET}",
        f"bmc password={SECRET} ok",
        f'{{"password": "{SECRET}", "user": "admin"}}',
        f"PULUMI_CONFIG_PASSPHRASE: {SECRET}",
        f'{{"auths": {{"registry": {{"auth": "{SECRET}"}}}}}}',
        f"ssh-ed25519 AAAA{SECRET} core@node",
        f"root:$6$salt${SECRET}:19000",
        f"GET https://admin:{SECRET}@172.22.0.1/redfish",
        f"source data:text/plain;charset=utf-8;base64,{SECRET}",
    ],
    ids=["basic", "bearer", "equals", "json", "passphrase", "pull-secret", "ssh-key", "crypt", "url", "data-url"],
)
def test_secrets_are_masked(line: str) -> None:
    (masked,) = mask(line)
    assert SECRET not in masked
    assert "[masked]" in masked


def test_pem_block_becomes_one_word() -> None:
    text = f"key follows -----BEGIN EC PRIVATE KEY-----\r\n{SECRET}\r\n-----END EC PRIVATE KEY-----\r\nlogin:"
    assert mask(text) == ["key follows [masked]", "login:"]


def test_an_unfinished_pem_block_hides_the_rest() -> None:
    assert mask(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\nmore") == ["[masked]"]


def test_plain_lines_lose_only_escapes() -> None:
    assert mask("\x1b[0;32mokd-lab: ready okd-master-0\x1b[0m\r\n\x07\n") == ["okd-lab: ready okd-master-0"]
