"""No secret leaves this machine: neither by its key, nor by its form, nor by its value."""

import base64
import json
import time
from collections.abc import Callable
from re import Pattern

import pytest

from base.masking import Secrets, mask_document, mask_lines
from boot_media.keyfiles import SECRET_KEYS as NMSTATE_KEYS
from wires.redfish.capture.pseudonyms import IDENTIFYING_KEYS
from wires.redfish.client.masking import BMC_KEYS, TrafficMask

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
        f'"token": "a\\"b {SECRET}"',
        f'password = "a {SECRET}',
        f"password: 'a {SECRET}'",
        f'pulled {{\\"auth\\": \\"a {SECRET}\\"}}',
        f'secret: {{"a": "b {SECRET}"}}',
        f"HTTP_AUTH={SECRET}",
        f'"my secret is": {SECRET}',
    ],
    ids=[
        *("basic", "bearer", "equals", "json", "passphrase", "pull-secret", "ssh-key", "crypt", "url", "data-url"),
        *("escaped-quote", "cut-off", "yaml", "quoted-json", "object", "environment", "name-of-words"),
    ],
)
def test_secrets_are_masked(line: str) -> None:
    (masked,) = mask_lines(line)
    assert SECRET not in masked
    assert "[masked]" in masked


def test_a_text_that_no_parser_accepts_has_its_secrets_learned() -> None:
    auth = base64.b64encode(b"user:of-the-registry").decode()
    secrets = Secrets()
    secrets.learn_text(f'a: [\npassword: "of-a-bmc"\n  {{"auths": {{"quay.io": {{"auth": "{auth}"}}}}\nname: m0\n')
    assert secrets.mask(f"of-a-bmc {auth} of-the-registry m0") == "[masked] [masked] [masked] m0"


def test_pem_block_becomes_one_word() -> None:
    text = f"key follows -----BEGIN EC PRIVATE KEY-----\r\n{SECRET}\r\n-----END EC PRIVATE KEY-----\r\nlogin:"
    assert mask_lines(text) == ["key follows [masked]", "login:"]


def test_an_unfinished_pem_block_hides_the_rest() -> None:
    assert mask_lines(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\nmore") == ["[masked]"]


def test_plain_lines_lose_only_escapes() -> None:
    assert mask_lines("\x1b[0;32mokd-lab: ready okd-master-0\x1b[0m\r\n\x07\n") == ["okd-lab: ready okd-master-0"]


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


@pytest.mark.parametrize("learned", [("hunter", "hunter2"), ("hunter2", "hunter")])
def test_of_two_secrets_that_begin_alike_no_rest_stays(learned: tuple[str, str]) -> None:
    secrets = Secrets()
    for value in learned:
        secrets.learn(value)
    assert secrets.mask("hunter2, hunter.") == "[masked], [masked]."


def test_short_values_of_documents_stay_in_texts() -> None:
    secrets = Secrets()
    secrets.learn_document({"password": 7, "token": "abc"})
    assert secrets.mask("7 abc Nw== YWJj") == "7 abc Nw== YWJj"


@pytest.mark.parametrize("keys", [BMC_KEYS, IDENTIFYING_KEYS, NMSTATE_KEYS], ids=["bmc", "capture", "nmstate"])
def test_what_is_secret_anywhere_is_secret_everywhere(keys: Pattern[str]) -> None:
    names = ["OldPassword", "pullSecret", "private-key", "PrivateKey", "preshared-key", "wifi-psk", "mka-cak", "auth"]
    names += ["Authorization", "passphrase", "passwd", "encryptedkey", "client-key-data", "secure", "notify_url"]
    assert [name for name in names if not keys.search(name)] == []
    assert not keys.search("BootSourceOverrideTarget")


def test_the_token_of_an_ipv6_address_is_no_secret() -> None:
    assert not NMSTATE_KEYS.search("token")
    assert BMC_KEYS.search("SessionToken")


@pytest.mark.parametrize("mask", [mask_lines, TrafficMask().body], ids=["lines", "body"])
@pytest.mark.parametrize(
    "piece",
    [
        *("password", "a", "sk-", "sk-ssh-", "ssh-a", "data:", "data:a", "pas:", '"', '"password', "://", "://a:"),
        *("-----BEGIN ", "authorization ", "\x1b[", "\\", "secret=a ", "[{", '{"a":', "a-", " ", "=", "0a"),
        'secret:"\\',
    ],
)
def test_the_time_for_a_text_grows_with_its_length(mask: Callable[[str], object], piece: str) -> None:
    def spent_s(length: int) -> float:
        text, times_s = f"password{piece * (length // len(piece))}", []
        for _ in range(3):
            began = time.thread_time()
            mask(text)
            times_s.append(time.thread_time() - began)
        return min(times_s)

    # 16 times the length: with a pattern that takes its square, 256 times the time.
    assert spent_s(32 * 1024) < 64 * spent_s(2 * 1024) + 0.002
