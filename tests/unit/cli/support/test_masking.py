"""No secret leaves this machine: neither by its key, nor by its form, nor by its value."""

import base64
import json

import pytest

from cli.support.masking import Secrets, mask, mask_document

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


@pytest.mark.parametrize("key", ["notify_url", "okd-baremetal:notify_url"])
def test_a_web_hook_is_masked_by_its_key(key: str) -> None:
    assert mask_document({key: f"https://chat.test/{SECRET}"}) == {key: "[masked]"}
    secrets = Secrets()
    secrets.learn_document({key: f"https://chat.test/{SECRET}"})
    assert SECRET not in secrets.mask(f"POST https://chat.test/{SECRET}")


def test_a_document_is_masked_by_its_keys() -> None:
    document = {
        "pullSecret": "x",
        "sshKey": "ssh-ed25519 AAAA",
        "consent": {"compass-0": "SN-1"},
        "encryptionsalt": "v1:abc",
        "proxy": {"httpProxy": f"http://user:{SECRET}@proxy:3128"},
        "hosts": [{"bmc": {"username": "admin", "password": 7}, "networkConfig": {"802.1x": {"private-key": "k"}}}],
        "config": {"logins": {"secure": "v1:abc"}},
    }
    assert mask_document(document) == {
        "pullSecret": "[masked]",
        "sshKey": "ssh-ed25519 AAAA",
        "consent": {"compass-0": "SN-1"},
        "encryptionsalt": "[masked]",
        "proxy": {"httpProxy": "http://[masked]@proxy:3128"},
        "hosts": [
            {
                "bmc": {"username": "[masked]", "password": "[masked]"},
                "networkConfig": {"802.1x": {"private-key": "[masked]"}},
            }
        ],
        "config": {"logins": {"secure": "[masked]"}},
    }


def test_each_secret_of_a_document_is_masked_in_every_spelling() -> None:
    password, pulled = 'pa"ss', "of-the-registry"
    auth = base64.b64encode(f"user:{pulled}".encode()).decode()
    secrets = Secrets()
    secrets.learn_document(
        {
            "pullSecret": json.dumps({"auths": {"quay.io": {"auth": auth}}}),
            "bmc": {"username": "admin", "password": password},
            "proxy": f"http://user:{SECRET}@proxy",
        }
    )
    encoded = base64.b64encode(password.encode()).decode()
    text = f"{password} {json.dumps(password)} {encoded} {auth} {pulled} {SECRET} admin"
    assert secrets.mask(text) == '[masked] "[masked]" [masked] [masked] [masked] [masked] admin'
