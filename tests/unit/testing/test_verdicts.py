"""This program's verdicts as data."""

from pathlib import Path
from typing import Any

from cluster.install_config.releases import Release
from testing import plans
from testing.install_configs import Change, bare
from testing.verdicts import rows


def written(path: Path, change: Change) -> str:
    config = plans.install_config()
    change(config)
    path.write_text(plans.written(config))
    return str(path)


def wrong(config: dict[str, Any]) -> None:
    config["osImageStream"] = "rhel-9"
    config["baseDomain"] = "a_b"
    bare(config)["dnsRecordsType"] = "x"
    config["bootstrapInPlace"] = {"installationDisk": "/dev/vda"}


def test_each_fault_is_a_row_with_its_rule(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", wrong)
    assert [row[1:] for row in rows(file, Release(4, 22))] == [
        ("2", "baseDomain", "names.base_domain"),
        ("2", "bootstrapInPlace", "pools.in_place"),
        ("2", "osImageStream", "by_release.gates_on"),
        ("2", "platform.baremetal.dnsRecordsType", "vips.dns_records"),
    ]


def test_a_file_without_faults_and_one_that_is_no_yaml_are_a_row_each(tmp_path: Path) -> None:
    good = written(tmp_path / "a.yaml", lambda c: None)
    (tmp_path / "b.yaml").write_text("{")
    assert [*rows(good, None)] == [(good, "0", "", "")]
    assert [row[1:] for row in rows(str(tmp_path / "b.yaml"), None)] == [("2", "", "yaml_text")]
