"""A changed copy of a model: its names and values are checked, as those of the model itself."""

import subprocess

import pytest
from pydantic import Field, ValidationError

from base.spec import Model
from testing.checkout import ROOT


class Inner(Model):
    port: int = Field(1, alias="portNumber", le=65535)


class Outer(Model):
    name: str
    inner: Inner = Inner()


def test_a_changed_copy_differs_in_the_named_fields() -> None:
    outer = Outer(name="a", inner=Inner(portNumber=2))
    copy = outer.changed(inner=outer.inner.changed(port=3))
    assert (copy.name, copy.inner.port, outer.inner.port) == ("a", 3, 2)
    assert Outer(name="a").changed(name="b").model_fields_set == {"name"}


def test_a_changed_field_must_exist() -> None:
    with pytest.raises(TypeError, match="Outer has no field nam"):
        Outer(name="a").changed(nam="b")


def test_a_changed_value_must_fit() -> None:
    with pytest.raises(ValidationError):
        Inner().changed(port=65536)


def test_no_module_copies_a_model_without_validation() -> None:
    copying = ["git", "grep", "-n", "-F", "model_copy" + "(", "--", "*.py"]
    assert subprocess.run(copying, cwd=ROOT, capture_output=True, text=True, check=False).stdout == ""
