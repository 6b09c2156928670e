"""No model of the product shows a possible secret: errors omit their input, and reprs their secret fields."""

import base64
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import pytest
from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from assets.render import render
from base.spec import Model
from cluster.plan import Role
from payload.reading import IgnitionFile
from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec, VmBase
from providers.host_provisioning.model import HostProvisioningSpec
from testing import clusters, payloads
from testing.plan_files import Files

PRODUCT = ("assets", "base", "boot_media", "cli", "cluster", "components", "payload", "providers", "wires")
CANARY = "hunter2-in-the-mine"
SECRETIVE = re.compile(r"pass|secret|token|psk|(^|_)key(_|$)|keyfile|network_config|^ours$|^text$|^source$|_proxy$")
"""Names of fields that may hold a secret."""
OPEN = {
    ("InstallConfig", "ssh_key"): "a public key",
    ("BaseImage", "source"): "where an image is fetched from, shown as it is fetched",
    ("ImageSource", "source"): "a repository",
    ("ImageContentSource", "source"): "a repository",
    ("Proxy", "no_proxy"): "names of hosts",
}
"""Fields with such a name that hold no secret, and why."""


def models() -> list[type[BaseModel]]:
    """Return every model that the product defines."""
    for package in PRODUCT:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    found = dict.fromkeys(_below(BaseModel))
    return [each for each in found if each.__module__.partition(".")[0] in PRODUCT]


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


MODELS = models()
IDS = [f"{each.__module__}.{each.__qualname__}" for each in MODELS]


def keys(model: type[BaseModel]) -> dict[str, str]:
    """Return the key that a document uses for each field."""
    return {name: field.alias or name for name, field in model.model_fields.items()}


def spoiled(model: type[BaseModel]) -> Iterator[Any]:
    """Yield invalid documents, each with a canary in every field or in place of the document."""
    yield CANARY
    yield [CANARY]
    everywhere = dict.fromkeys(keys(model).values(), CANARY)
    yield {**everywhere, "an-unknown-key": [CANARY]}
    for key in everywhere:
        for wrong in ([CANARY], {"a-key": CANARY}, [{"a-key": CANARY}], {"a-key": {"a-key": [CANARY]}}, 7):
            yield {**everywhere, key: wrong}
            yield {key: wrong}


def secret_fields(model: type[BaseModel]) -> Iterator[str]:
    """Yield the fields that may hold a secret, by their type or by their name."""
    for name, field in model.model_fields.items():
        types = set(_parts(field.annotation))
        by_type = bool(types & {SecretStr, SecretBytes})
        by_name = SECRETIVE.search(name) and types & {str, bytes, Any} and (model.__name__, name) not in OPEN
        if by_type or by_name:
            yield name


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation; the types inside a model are tested with that model."""
    if not get_args(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def values(annotation: Any) -> Iterator[Any]:
    """Yield values of a type that hold the canary."""
    origin, arguments = getattr(annotation, "__origin__", None), get_args(annotation)
    if annotation is SecretStr:
        yield SecretStr(CANARY)
    elif annotation is SecretBytes:
        yield SecretBytes(CANARY.encode())
    elif annotation in (str, Any):
        yield CANARY
    elif annotation is bytes:
        yield CANARY.encode()
    elif origin is dict:
        yield from ({"a-key": value} for value in values(arguments[1]))
    elif origin in (tuple, list):
        yield from (origin([value]) for value in values(arguments[0]))
    else:
        for each in arguments:
            yield from values(each) if each is not NoneType else ()


def test_there_are_models_and_all_have_one_base() -> None:
    assert len(MODELS) > 100
    assert [each for each in MODELS if not issubclass(each, Model)] == []


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_an_error_shows_nothing_of_its_input(model: type[BaseModel]) -> None:
    shown = []
    for document in spoiled(model):
        try:
            model.model_validate(document)
        except ValidationError as error:
            shown.append(f"{error} {error!r}")
    assert len(shown) > 1
    assert [each for each in shown if CANARY in each] == []


@pytest.mark.parametrize(
    ("model", "field"),
    [pytest.param(model, field, id=f"{id_}.{field}") for model, id_ in zip(MODELS, IDS, strict=True)
     for field in secret_fields(model)],
)  # fmt: skip
def test_a_secret_field_is_in_no_repr(model: type[BaseModel], field: str) -> None:
    made = [*values(model.model_fields[field].annotation)]
    assert made
    for value in made:
        instance = model.model_construct(**{field: value})
        assert getattr(instance, field) == value
        assert CANARY not in f"{instance} {instance!r}"


def test_no_spec_made_from_a_plan_shows_its_passwords(tmp_path: Path) -> None:
    static, login = clusters.VARIANTS["static"], {"username": "root", "password": CANARY}
    plan = Files(tmp_path).plan(static.change, **static.options, bmc_credentials={"okd-master-0": login})
    assert plan.control_plane[0].bmc.password.get_secret_value() == CANARY
    rendered, base = render(plan), VmBase("default", "base.qcow2", "", "")
    made = [
        plan,
        rendered,
        *(BmcHostSpec.of(plan, server) for server in plan.servers),
        *(HostProvisioningSpec.of(plan, role, rendered, "prod") for role in Role if plan.of(role)),
        BootstrapVmSpec.of(plan, rendered.bootstrap, base, "okd-baremetal/prod", "prod"),
    ]
    for each in made:
        shown = f"{each} {each!r}"
        assert not any(secret in shown for secret in (CANARY, clusters.SWITCH_PASSWORD, "rehearsal-only")), type(each)


def test_a_payload_shows_no_key() -> None:
    contents = payloads.payload(lambda files: payloads.put(files, f"{payloads.TLS}/root-ca.key", CANARY))["bootstrap"]
    encoded = base64.b64encode(CANARY.encode())
    assert encoded in contents
    assert encoded.decode() not in repr(IgnitionFile.model_validate_json(contents))
