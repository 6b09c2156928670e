"""A stack's file, read without Pulumi."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import ConfigError
from cluster.stack_file import read_stack_file

SECURE = {"secure": "v1:ciphertext"}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(
    ("config", "options"),
    [
        pytest.param({"okd-baremetal:phase": "production"}, {"phase": "production"}, id="plain"),
        pytest.param({"okd-baremetal:a": 1, "pulumi:tags": {}, "aws:region": "x"}, {"a": 1}, id="other-projects"),
        pytest.param({"okd-baremetal:bmc_credentials": SECURE}, {}, id="encrypted-as-a-whole"),
        pytest.param(
            {"okd-baremetal:bmc_credentials": {"host": {"username": "root", "password": SECURE}}},
            {"bmc_credentials": {"host": {"username": "root"}}},
            id="encrypted-inside",
        ),
        pytest.param({"okd-baremetal:list": [1, SECURE, [SECURE]]}, {"list": [1, []]}, id="encrypted-in-a-list"),
        pytest.param({"okd-baremetal:a": {"secure": 1, "more": 2}}, {"a": {"secure": 1, "more": 2}}, id="no-cipher"),
        pytest.param({}, {}, id="none"),
    ],
)
def test_options_have_plain_names_and_no_ciphertext(
    tmp_path: Path, config: dict[str, Any], options: dict[str, Any]
) -> None:
    path = written(tmp_path / "Pulumi.prod.yaml", {"encryptionsalt": "v1:x", "config": config})
    assert read_stack_file(path) == options


def test_a_stack_without_options_is_no_fault(tmp_path: Path) -> None:
    assert read_stack_file(written(tmp_path / "Pulumi.new.yaml", {"encryptionsalt": "v1:x"})) == {}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param("config: {", "not valid YAML at line 2, column 1.", id="no-yaml"),
        pytest.param(
            "config:\n  okd-baremetal:phase: bootstrap\n  okd-baremetal:phase: production\n",
            "not valid YAML at line 3, column 3: a duplicate key. Fix: keep one of the two",
            id="option-twice",
        ),
        pytest.param("- a", "not a stack's file. Fix: write a mapping `config:` with the options in it", id="a-list"),
        pytest.param(
            "config: a", "not a stack's file. Fix: write a mapping `config:` with the options in it", id="a-text"
        ),
    ],
)
def test_an_unreadable_stack_file_is_one_line(tmp_path: Path, content: str | None, line: str) -> None:
    path = tmp_path / "Pulumi.prod.yaml"
    if content is not None:
        written(path, content)
    with pytest.raises(ConfigError) as caught:
        read_stack_file(path)
    assert str(caught.value).startswith(f"{path}: {line}")
    assert len(caught.value.faults) == 1
