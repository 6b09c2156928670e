"""The types of the options' single values: what each one may be, and in which spellings."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyAddress, SecretStr
from pydantic_core import PydanticCustomError

from base.shapes import FIX, in_words
from cluster.values import web_hook
from cluster.values.pull_secret import FORM, SET, wrong_in

SHA256 = in_words(r"^[0-9a-f]{64}$", "a SHA-256 of 64 lower-case hex digits")
SHA256_OR_EMPTY = in_words(r"^([0-9a-f]{64})?$", "a SHA-256 of 64 hex digits")
BY_DIGEST = "[a-zA-Z0-9._:/-]+@sha256:[0-9a-f]{64}"
ONE_BY_DIGEST = in_words(rf"^{BY_DIGEST}$", "an image by its digest, <name>@sha256:<64 hex digits>,")
BY_DIGEST_OR_EMPTY = in_words(rf"^({BY_DIGEST})?$", "an image by its digest, <name>@sha256:<64 hex digits>,")
WEB_FOLDER = in_words(
    r"^https?://([a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?(/[a-zA-Z0-9._~%+,:=@/-]*)?$",
    "an http or https URL without login, query and fragment",
)
"""A URL without credentials, query and fragment, because a BMC shows it to all its users."""

FOLDER_OR_EMPTY = in_words("^(/.+)?$", "an absolute path")

Transport = Literal["unicast", "multicast"]
Severity = Literal["error", "warn"]
Wait = Literal["ingress", "install"]
"""The end of `pulumi up` in phase production."""
Runtime = Literal["podman", "host"]
"""The source of the machines' services: a container image, or the machine's own image."""


def _switched(value: object) -> object:
    return ("on" if value else "off") if isinstance(value, bool) else value


Switch = Annotated[
    Literal["on", "off"], BeforeValidator(_switched, json_schema_input_type=Literal["on", "off"] | bool)
]
"""YAML may read `on` and `off` without quotes as a boolean."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


OneOrMore = Annotated[
    tuple[IPvAnyAddress, ...],
    BeforeValidator(_listed, json_schema_input_type=IPvAnyAddress | list[IPvAnyAddress]),
]


def _in_words(value: object) -> object:
    return str(value) if type(value) is int else value


MachineName = Annotated[str, BeforeValidator(_in_words, json_schema_input_type=str | int)]
"""A serial or system UUID. `pulumi config set --path` makes a number of a serial that has only digits."""


def _listed_names(value: object) -> object:
    return [value] if isinstance(value, str | int) else value


DiskNames = Annotated[
    tuple[Annotated[MachineName, Field(pattern=in_words(r"\S", "a serial number or WWN"))], ...],
    BeforeValidator(_listed_names, json_schema_input_type=str | int | list[str | int]),
]
"""Serial numbers or WWNs of one server's disks: one, or a list."""


def _bare_digits(value: object) -> object:
    return value.replace(":", "").lower() if isinstance(value, str) else value


Fingerprint = Annotated[
    str, Field(pattern=SHA256_OR_EMPTY), BeforeValidator(_bare_digits, json_schema_input_type=str)
]
"""SHA-256 as openssl and browsers print it: with or without colons, in upper or lower case."""


def _checked_pull_secret(secret: SecretStr) -> SecretStr:
    if secret and (wrong := [*wrong_in(secret.get_secret_value())]):
        fix = f"write {FORM}: `{SET}`"
        raise PydanticCustomError("pull_secret", "{what}", {"what": "; ".join(wrong), FIX: fix})
    return secret


PullSecret = Annotated[SecretStr, AfterValidator(_checked_pull_secret)]


def _checked_url(secret: SecretStr) -> SecretStr:
    if secret and not web_hook.is_url(secret.get_secret_value().strip()):
        raise PydanticCustomError("notify_url", "is not a URL", {FIX: f"write https://…: `{web_hook.SET}`"})
    return secret


NotifyUrl = Annotated[SecretStr, AfterValidator(_checked_url)]
