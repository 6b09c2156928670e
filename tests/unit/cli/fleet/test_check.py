"""`okd-baremetal fleet …` as an operator or CI calls it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.install_configs import bare
from tests.unit.cli.fleet.fleet_site import CLUSTERS, FLEET, Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_good_fleet_is_a_line_per_cluster_and_one_of_all(site: Site) -> None:
    done = run("fleet", "check", folder=site.folder)
    files = [f"stacks/{cluster}/install-config.yaml: ok" for cluster in CLUSTERS]
    assert done.stdout.splitlines() == [*files, "fleet.yaml: 2 sites, 3 clusters, 2 waves: ok"]
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stacks_are_beside_the_file_that_is_named(site: Site) -> None:
    site.file.write_text(yaml.safe_dump({"sites": {"north": ["north-a"]}, "gates": []}))
    done = run("fleet", "check", site.file)
    assert done.stdout.splitlines() == [
        f"{site.install_config('north-a')}: ok",
        f"{site.file}: 1 site, 1 cluster, 1 wave: ok",
    ]


def test_gates_at_which_nobody_can_approve_are_refused(site: Site) -> None:
    site.file.write_text(yaml.safe_dump({**FLEET, "approvers": {}}))
    done = run("fleet", "check", folder=site.folder)
    what = "fleet.yaml: approvers: empty, so nobody can approve at the phases of gates. Fix: write the lines that "
    assert (done.returncode, done.stderr) == (2, f"{what}`okd-baremetal fleet approver NAME FILE` prints\n")
    printed = run("fleet", "approver", "jane", site.folder / "jane.key").stdout
    plan = FLEET | yaml.safe_load(printed)
    site.file.write_text(yaml.safe_dump(plan))
    assert run("fleet", "check", folder=site.folder).returncode == 0


def test_a_wrong_plan_is_refused_before_any_cluster_is_checked(site: Site) -> None:
    site.file.write_text(yaml.safe_dump({**FLEET, "waves": [{"clusters": ["north-c"]}, {}]}))
    done = run("fleet", "check", folder=site.folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fleet.yaml: waves[0].clusters[0]: north-c is at no site. Fix: ")


def test_a_wrong_cluster_is_reported_as_check_reports_it(site: Site) -> None:
    site.change(lambda config: config.pop("baseDomain"), "north-b")
    site.install_config("south-a").unlink()
    done, alone = run("fleet", "check", folder=site.folder), run("check", site.install_config("north-b"))
    lines = done.stdout.splitlines()
    assert done.returncode == 2
    assert f"{site.folder}/{lines[1]}\n" == alone.stdout
    assert lines[2:] == ["stacks/south-a/install-config.yaml: cannot be read: No such file or directory"]


def test_a_cluster_that_this_release_cannot_install_has_its_own_exit_code(site: Site) -> None:
    site.change(
        lambda config: config["metadata"].update(generation=1),
        "south-a",
    )
    done = run("fleet", "check", folder=site.folder)
    assert done.returncode == 3
    assert "valid, but not installable" in done.stdout
    assert "fleet.yaml" not in done.stdout


def test_clusters_clash_at_one_site_and_not_at_two(site: Site) -> None:
    def change(config: dict[str, Any]) -> None:
        bare(config)["apiVIPs"] = ["192.168.111.5"]

    site.change(change, "north-a", "south-a")
    assert run("fleet", "check", folder=site.folder).returncode == 0
    site.change(change, "north-b")
    done = run("fleet", "check", folder=site.folder)
    assert done.returncode == 2
    assert [line for line in done.stdout.splitlines() if not line.endswith(": ok")] == [
        "stacks/north-b/install-config.yaml: platform.baremetal.apiVIPs[0]: 192.168.111.5 is already "
        "the API VIP (platform.baremetal.apiVIPs[0] of stacks/north-a/install-config.yaml). "
        "Fix: give each an address of its own"
    ]


def test_clusters_of_two_sites_clash_in_a_mac(site: Site) -> None:
    site.change(lambda config: bare(config).update(externalMACAddress="52:54:00:ab:cd:ef"), "north-a", "south-a")
    done = run("fleet", "check", folder=site.folder)
    assert done.returncode == 2
    assert "stacks/south-a/install-config.yaml: platform.baremetal.externalMACAddress: 52:54" in done.stdout


def test_the_suggested_vrid_resolves_the_clash(site: Site) -> None:
    for cluster, name in (("north-a", "cnf10"), ("north-b", "cnf11")):
        site.change(lambda config, name=name: config["metadata"].update(name=name), cluster)  # type: ignore[misc]
    assert "set vrids: {ingress: 1}" in run("fleet", "check", folder=site.folder).stdout
    site.options("north-b", vrids={"ingress": 1})
    assert run("fleet", "check", folder=site.folder).returncode == 0


def test_secrets_that_the_stacks_have_may_be_missing(site: Site) -> None:
    """Case 4 of issue 40."""

    def change(config: dict[str, Any]) -> None:
        config["pullSecret"] = ""
        for host in bare(config)["hosts"]:
            host["bmc"].update(username="", password="")

    site.change(change, *CLUSTERS)
    assert run("fleet", "check", folder=site.folder).returncode == 2
    login = {"username": "admin", "password": {"secure": "cipher"}}
    for cluster in CLUSTERS:
        site.options(cluster, pull_secret={"secure": "cipher"}, bmc_credentials=dict.fromkeys(plans.HOSTS, login))
    done = run("fleet", "check", folder=site.folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stack_without_options_is_refused_after_the_verdicts(site: Site) -> None:
    (site.folder / "stacks" / "Pulumi.north-b.yaml").unlink()
    done = run("fleet", "check", folder=site.folder)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == len(CLUSTERS)
    assert done.stderr == "stacks/Pulumi.north-b.yaml: cannot be read: No such file or directory\n"
