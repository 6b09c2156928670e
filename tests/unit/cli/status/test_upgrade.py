"""`okd-baremetal upgrade`: what stands in the way of an upgrade, by the API, the machines and the registries."""

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import numbered
from testing.fakes.okd_release import FakeOkd, image_of
from testing.kubeconfigs import write_kubeconfig
from wires.api.kubernetes import KubeApi
from wires.certificates import AHEAD

RELEASE = {"version": "4.21.3", "image": image_of("4.21.3")}


class Site:
    """A project with the stack `prod` in production, whose API is a stand-in; no other machine is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stack = folder / "stacks" / "prod"
        stack.mkdir(parents=True)
        (stack / "install-config.yaml").write_text(yaml.safe_dump(plans.install_config()))
        write_kubeconfig(stack / "payload")
        self.okd = FakeOkd(FakeClock())
        servers = plans.plan().holders_of_etcd
        self.okd.members = numbered(str(server.address) for server in servers)

    def ask(self, **options: Any) -> CompletedProcess[str]:
        chosen = plans.options(**{"phase": "production", "upgrade": RELEASE, **options})
        config = {f"{plans.PROJECT}:{name}": value for name, value in chosen.items() if value is not None}
        (self.folder / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}))
        return run("upgrade", "prod", folder=self.folder)

    def wrong(self, **options: Any) -> list[str]:
        """Return the wrong rows, by kind and name."""
        done = self.ask(**options)
        rows = [line.split(None, 1) for line in done.stdout.splitlines()[1:-2]]
        wrong = [" ".join([kind, *rest.partition(" wrong ")[0].split()]) for kind, rest in rows if " wrong " in rest]
        assert (done.returncode, done.stderr) == (1 if wrong else 0, ""), done.stdout
        return wrong


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path)
    monkeypatch.setattr(KubeApi, "by", lambda kubeconfig, server_name: made.okd)
    return made


def test_a_cluster_that_is_well_may_be_upgraded_and_nothing_is_written(site: Site) -> None:
    done = site.ask(snapshots="/srv/etcd")
    assert done.returncode == 0, done.stdout
    said = {line.partition(" good ")[2].strip() for line in done.stdout.splitlines()}
    assert {"4.21.2, wanted 4.21.3", "well: 3", "well: 2", "etcd is saved below /srv/etcd first"} <= said
    assert "not asked: " in done.stdout, "no registry can be reached from a test"
    assert site.okd.writes == []


def test_what_is_not_well_stands_in_the_way(site: Site) -> None:
    site.okd.degraded["ingress"] = 0.0
    site.okd.unready.add("okd-worker-0")
    site.okd.paused.add("worker")
    site.okd.members.popitem()
    assert site.wrong() == [
        "version of OKD",
        "operator ingress",
        "node okd-worker-0",
        "machine config pool worker",
        "etcd members",
    ]


def test_the_image_of_another_version_stands_in_the_way(site: Site) -> None:
    assert site.wrong(upgrade={**RELEASE, "image": image_of("4.21.2")}) == ["version of OKD"]


def test_a_certificate_that_expires_soon_stands_in_the_way(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.wrong() == []
    monkeypatch.setattr("wires.certificates.AHEAD", AHEAD * 1000)
    monkeypatch.setattr("wires.certificates.RENEWED_IN_TIME", -1.0)
    assert site.wrong() == ["certificate kubeconfig"]


def test_an_etcd_that_is_not_saved_is_a_warning(site: Site) -> None:
    assert "etcd is not saved first: `snapshots` names no store" in site.ask().stdout


@pytest.mark.parametrize(
    ("options", "what"),
    [({"upgrade": None}, "is not set"), ({"phase": "bootstrap"}, "is of phase production only")],
)
def test_a_stack_that_names_no_upgrade_of_production_is_refused(site: Site, options: Any, what: str) -> None:
    done = site.ask(**options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"config: upgrade: {what}. Fix: see docs/how-to/upgrade-okd.md\n"


def test_a_cluster_that_sleeps_is_not_asked(site: Site) -> None:
    done = site.ask(power="off")
    assert (done.returncode, done.stdout) == (2, "")
    assert "upgrade: the cluster sleeps, so nothing of it answers. Fix: wake the cluster first" in done.stderr
    assert site.okd.requests == 0
