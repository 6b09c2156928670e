"""The other inputs that change: the innermost values that differ, equal ones once."""

from typing import Any

import pytest

from assets.file import Reader, RenderedFile
from providers.rendered_asset.model import RenderedAssetSpec
from review.inputs import InputChange, input_changes
from review.preview import SECRET, UNKNOWN, read_preview
from review.text import code
from testing import plans
from testing.preview_steps import bmc_host, preview, step, step_of


def of(old: dict[str, Any], new: dict[str, Any], *names: str) -> list[InputChange]:
    steps = (step_of("update", "Volume", name, old, new) for name in names or ("okd-a",))
    return input_changes(read_preview(preview(*steps), ""))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("b", 2, 3)]),
        ({"a": {"x": {"y": 1}, "z": 1}}, {"a": {"x": {"y": 2}, "z": 1}}, [("a.x.y", 1, 2)]),
        ({"a": ["1", "2"]}, {"a": ["1", "3"]}, [("a[1]", "2", "3")]),
        ({"a": ["1"]}, {"a": ["1", "2"]}, [("a", ["1"], ["1", "2"])]),
        ({}, {"a": 1}, [("a", None, 1)]),
        ({"a": {"x": 1}}, {"a": {}}, [("a.x", 1, None)]),
        ({"urn": "1", "rows": {"a": "1"}}, {"urn": "2", "rows": {"a": "2"}}, []),
    ],
    ids=["plain", "nested", "list", "longer-list", "new", "removed", "urns"],
)
def test_only_what_differs_is_listed(
    old: dict[str, Any], new: dict[str, Any], found: list[tuple[str, Any, Any]]
) -> None:
    assert of(old, new) == [InputChange(name, before, after, ("okd-a",)) for name, before, after in found]


def test_an_equal_change_of_several_resources_is_one_row() -> None:
    assert of({"phase": "a"}, {"phase": "b"}, "okd-z", "okd-a") == [
        InputChange("phase", "a", "b", ("okd-a", "okd-z"))
    ]


def test_a_secret_that_changes_is_a_row_without_values() -> None:
    host, logins = plans.HOSTS[0], ({"username": "admin", "password": text} for text in ("one", "another"))
    before, after = (plans.plan(bmc_credentials={host: login}) for login in logins)
    found = step("update", "okd-a", bmc_host(before, host), bmc_host(after, host))
    assert input_changes(read_preview(preview(found), "")) == [InputChange("password", SECRET, SECRET, ("okd-a",))]


def test_a_files_text_is_no_row_and_its_mode_is() -> None:
    script, unit = (
        RenderedAssetSpec.of(RenderedFile("/etc/a", reader, reader)) for reader in (Reader.BASH, Reader.SYSTEMD)
    )
    found = input_changes(read_preview(preview(step("update", "okd-compute-a", script, unit)), ""))
    assert found == [
        InputChange("mode", "0755", "0644", ("okd-compute-a",)),
        InputChange("reader", "bash", "systemd", ("okd-compute-a",)),
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "not set"),
        ("", "empty"),
        ({}, "empty"),
        (SECRET, "secret"),
        ({"a": SECRET}, "secret"),
        ({"uuid": UNKNOWN}, "known during `up` only"),
        (True, "`true`"),
        (4.0, "`4`"),
        (0.5, "`0.5`"),
        (["a", 1], "`a, 1`"),
        ({"b": 1, "a": [2]}, "`a: 2, b: 1`"),
        ("a\n`b`", r"`a\n'b'`"),
        ("x" * 64, f"`{'x' * 64}`"),
        ("x" * 65, f"`{'x' * 64}… (65 characters)`"),
    ],
)
def test_a_value_is_one_line(value: Any, written: str) -> None:
    assert code(value) == written
