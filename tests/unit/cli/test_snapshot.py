"""`okd-baremetal snapshot`: what it wants of a stack, and whom it asks."""

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.certificates import authority
from testing.command_line import run
from testing.fakes.etcd import EtcdApi, FakeMembers
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from wires.api.kubernetes import KubeApi

FILE = "stacks/Pulumi.prod.yaml"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A project with the stack `prod` and its kubeconfig."""
    (tmp_path / "stacks/prod").mkdir(parents=True)
    (tmp_path / "stacks/prod/install-config.yaml").write_text(yaml.safe_dump(plans.install_config()))
    write_kubeconfig(tmp_path / "stacks/prod/payload", kubeconfig(authority("test-ca"), plans.plan().domain))
    return tmp_path


def saved(site: Path, **options: Any) -> CompletedProcess[str]:
    given = {**plans.options(), **options}
    text = yaml.safe_dump({"config": {f"okd-baremetal:{name}": value for name, value in given.items()}})
    (site / FILE).write_text(text)
    return run("snapshot", "prod", folder=site)


def test_it_prints_the_path_of_the_new_file(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = set[tuple[str, str]]()
    api = EtcdApi.of(
        ["192.0.2.21"], authority("etcd-signer").pem, authority("etcd-signer").issue_client("etcd-client")
    )

    def by(_: object, name: str) -> EtcdApi:
        api.asked = lambda address: asked.add((address, name))
        return api

    monkeypatch.setattr(KubeApi, "by", by)
    monkeypatch.setattr("providers.etcd.snapshot.EtcdClient", lambda *_: FakeMembers())
    done = saved(site, snapshots=str(site / "snapshots"))
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, path = done.stdout.splitlines()
    assert first == "save etcd: asking 192.0.2.21"
    assert [*map(str, (site / "snapshots" / "prod").iterdir())] == [path]
    assert asked == {(str(plans.plan().api.address), f"api.{plans.plan().domain}")}


def test_a_stack_that_names_no_folder_is_refused(site: Path) -> None:
    done = saved(site)
    fix = "name a folder for them: `pulumi config set snapshots <absolute path>`"
    assert (done.returncode, done.stderr) == (2, f"{FILE}: snapshots: missing. Fix: {fix}\n")


def test_a_relative_folder_is_refused(site: Path) -> None:
    done = saved(site, snapshots="here")
    assert (done.returncode, "snapshots: " in done.stderr, "an absolute path" in done.stderr) == (2, True, True)


def test_a_payload_without_kubeconfig_is_refused(site: Path) -> None:
    (site / "stacks/prod/payload/auth/kubeconfig").unlink()
    done = saved(site, snapshots=str(site / "snapshots"))
    assert done.returncode == 2
    assert "auth/kubeconfig: missing, but `snapshots` asks OKD with it. Fix: " in done.stderr
