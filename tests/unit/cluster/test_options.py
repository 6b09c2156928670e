"""The options: what each may be, where it is declared, and what a fault says."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from base.shapes import _WORDS, shape_faults
from cluster.install_config import InstallConfig
from cluster.options import TEXTS, BaseImage, Options, Trust
from cluster.stack_file import read_stack_file
from fleet.plan import Fleet
from testing import plans
from testing.checkout import ROOT


def test_the_example_stack_has_every_required_option() -> None:
    options = Options.model_validate(read_stack_file(ROOT / "stacks" / "Pulumi.example.yaml"))
    assert options.consent.keys() == options.node_addresses.keys()


def test_a_changed_image_is_another_volume_and_a_moved_one_is_not() -> None:
    digest = "0123456789ab" + "c" * 52
    assert BaseImage(source="/a", sha256=digest).volume("okd") == "okd-base-0123456789ab.qcow2"
    assert BaseImage(source="https://b", sha256=digest).volume("okd") == "okd-base-0123456789ab.qcow2"
    assert BaseImage(source="/a", sha256="d" * 64).volume("okd") == "okd-base-dddddddddddd.qcow2"


@pytest.mark.parametrize("word", ["https", "http"])
def test_no_location_of_an_image_has_a_login(word: str) -> None:
    """Issue 40, N13: it would be in the state and in logs, and is not sent."""
    login, plain = f"{word}://user:hidden@mirror.test/x", f"{word}://mirror.test:8443/x@1/y?z=a@b"
    for source, faults in (
        (login, ["an absolute path, or an http or https URL without login, is wanted"]),
        (plain, []),
    ):
        image = {"manage": True, "base_image": {"source": source, "sha256": "ab" * 32}}
        assert faults_with(provisioner=image) == faults
    for url, faults in (
        (login, ["a URL without login is wanted"]),
        (plain, []),
        ("file:///srv/x@1.iso", []),
        ("", []),
    ):
        media = {"address": "192.0.2.1", "base_iso": {"sha256": "ab" * 32, "url": url}}
        assert faults_with(media=media) == faults


def faults_with(**changes: Any) -> list[str]:
    try:
        Options.model_validate(plans.options(**changes))
    except ValidationError as error:
        return [fault.what for fault in shape_faults(error, Options)]
    return []


@pytest.mark.parametrize(
    "written",
    ["ab" * 32, "AB" * 32, ":".join(["ab"] * 32), ":".join(["AB"] * 32)],
    ids=["plain", "upper", "colons", "as-openssl-prints-it"],
)
def test_a_fingerprint_is_read_as_it_is_printed(written: str) -> None:
    assert Trust(sha256=written).sha256 == "ab" * 32


@pytest.mark.parametrize(
    ("trust", "line"),
    [
        pytest.param({}, "neither ca nor sha256. Fix: write either ca or sha256", id="none"),
        pytest.param({"legacy_tls": True}, "neither ca nor sha256. Fix: write either ca or sha256", id="old-tls"),
        pytest.param(
            {"ca": "a PEM", "sha256": "ab" * 32}, "both ca and sha256. Fix: write either ca or sha256", id="both"
        ),
        pytest.param({"sha256": "ab" * 20}, "a SHA-256 of 64 hex digits is wanted", id="sha1"),
        pytest.param({"sha512": "ab" * 64}, "unknown key. Fix: write sha256, or remove it", id="another-digest"),
    ],
)
def test_bmc_trust_needs_exactly_one_of_ca_and_sha256(trust: dict[str, str], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(plans.options(bmc_trust={"m0": trust}))
    (fault,) = shape_faults(caught.value, Options)
    assert fault.where.startswith("bmc_trust.m0")
    assert str(replace(fault, where="")).startswith(line)


@pytest.mark.parametrize(
    ("option", "fix"),
    [("payload", "add it, with bootstrap, master, worker"), ("media", "add it, with some of address, base_iso, ")],
)
def test_a_missing_section_is_told_with_the_names_in_it(option: str, fix: str) -> None:
    """Case 16 of issue 40."""
    options = plans.options()
    del options[option]
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(options)
    (fault,) = shape_faults(caught.value, Options)
    assert (fault.where, fault.what) == (option, "missing")
    assert fault.fix.startswith(fix)


def patterns_in(schema: object) -> Iterator[str]:
    """Yield the patterns by which pydantic itself checks a text."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from patterns_in(part)
    if isinstance(schema, dict) and schema.get("type") == "str" and "pattern" in schema:
        yield schema["pattern"]


@pytest.mark.parametrize(("model", "number"), [(Options, 11), (InstallConfig, 0), (Fleet, 2)])
def test_no_message_shows_a_regular_expression(model: type[BaseModel], number: int) -> None:
    """Case 16 of issue 40: every pattern of a field has words."""
    patterns = {*patterns_in(model.__pydantic_core_schema__)}
    assert len(patterns) == number
    assert patterns <= {*_WORDS}


IMAGE = "registry.example.com/okd/release"


@pytest.mark.parametrize(
    ("images", "line"),
    [
        pytest.param(
            {"release": f"{IMAGE}@sha256:{'0' * 64}", "haproxy": "x"},
            "incomplete or mixed: release and haproxy. Fix: write only release, or keepalived, haproxy and coredns",
            id="release-and-another",
        ),
        pytest.param(
            {"keepalived": "x", "coredns": "y"},
            "incomplete or mixed: keepalived and coredns. Fix: write only release, or",
            id="two-of-three",
        ),
        pytest.param({"release": f"{IMAGE}:4.21"}, "an image by its digest, <name>@sha256:<", id="release-by-tag"),
    ],
)
def test_images_are_those_of_a_release_by_digest_or_all_three(images: dict[str, str], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(plans.options(images=images))
    (fault,) = shape_faults(caught.value, Options)
    assert fault.where.startswith("images")
    assert str(replace(fault, where="")).startswith(line)


@pytest.mark.parametrize("option", ["consent", "reinstall"])
def test_a_serial_of_digits_may_be_a_number_as_pulumi_writes_it(option: str) -> None:
    made = Options.model_validate(plans.options(**{option: {"m0": 1234567, "m1": "0012345"}}))
    assert getattr(made, option) == {"m0": "1234567", "m1": "0012345"}


@pytest.mark.parametrize("value", [True, 1.2345678901234567e19, ["1234567"]], ids=["bool", "float", "list"])
def test_a_serial_is_a_text_or_a_whole_number(value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(plans.options(consent={"m0": value}))
    (fault,) = shape_faults(caught.value, Options)
    assert str(fault) == "consent.m0: text is wanted. Fix: write one value in quotes, no list and no mapping"


def test_each_option_is_declared_to_pulumi() -> None:
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    assert declared.keys() == Options.model_fields.keys()
    release = {"version": "4.21.3", "image": f"okd@sha256:{'5e' * 32}"}
    made = Options.model_validate(plans.options(upgrade=release)).model_dump(mode="json")
    for name, option in declared.items():
        assert option["description"]
        if option.get("default", {}) != {}:
            default = Options.model_fields[name].default
            assert option["default"] == (default.get_secret_value() if isinstance(default, SecretStr) else default)
        kind = {"string": str, "boolean": bool, "object": dict}[option["type"]]
        assert isinstance(made[name], kind), name
        assert (name in TEXTS) == (kind is str), name


def test_what_pulumi_declares_without_a_default_is_required() -> None:
    """Pulumi refuses every stack that lacks a key without one; with the defaults, nothing is asked for."""
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    wanted = {name for name, field in Options.model_fields.items() if field.is_required()}
    assert {name for name, option in declared.items() if "default" not in option} == wanted
    defaults = {name: option["default"] for name, option in declared.items() if "default" in option}
    assert Options.model_validate({**defaults, **plans.options()}) == Options.model_validate(plans.options())


def leaves(options: type[BaseModel], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Return every option that has no options of its own, by its full path."""
    for name, field in options.model_fields.items():
        kinds = [each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)]
        inner = [kind for kind in kinds if issubclass(kind, BaseModel) and get_origin(field.annotation) is not dict]
        if inner:
            yield from leaves(inner[0], f"{path}{name}.")
        else:
            yield f"{path}{name}", field


def rows(section: str) -> dict[str, list[str]]:
    """Return the cells of the reference's rows, by option."""
    text = (ROOT / "docs/reference/options.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    found = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {name.removesuffix(".<host>"): cells for cells in found for name in re.findall("`(.*?)`", cells[0])}


def test_what_pulumi_shows_of_an_option_names_all_that_is_in_it() -> None:
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    inner = {*(path for path, _ in leaves(Options) if "." in path)}
    assert len(inner) > 40
    for path in inner:
        name, *_, key = path.split(".")
        assert re.search(rf"\b{key}\b", declared[name]["description"]), path


def test_each_option_has_its_row_in_the_reference_with_its_default() -> None:
    fields, required, optional = dict(leaves(Options)), rows("Required"), rows("Optional")
    assert fields.keys() == required.keys() | optional.keys()
    for name, (_, default, *_) in optional.items():
        value = fields[name].default
        if isinstance(value, bool) or (value not in (None, "", {}, SecretStr("")) and not fields[name].is_required()):
            assert default.strip("` ") == (str(value).lower() if isinstance(value, bool) else f"{value}"), name
