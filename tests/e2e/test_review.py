"""What previews and reviews show, by the real engine; tests/program/test_reviews.py has those of more changes."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from review.document import page_of
from review.markdown import markdown
from review.preview import read_preview
from testing import clusters, plans
from testing.git import committed
from testing.golden import REVIEWS, check_review, masked
from testing.install_configs import bare, host
from testing.previews import Project, fresh, settled
from testing.pulumi_env import resources_of
from tests.program import test_reviews as of_graphs

REINSTALL = {"okd-master-0": plans.CONSENT["okd-master-0"]}
OF_THE_STACK, OF_THE_INSTALL_CONFIG, NEW_PASSWORD = "password-of-the-stack", "rehearsal-only", "password-of-today"
PULL_SECRETS = ("cmVoZWFyc2FsOm9ubHk=", "b3B0aW9uOm9ubHk=")
"""That of the install-config, and that of the options."""
OUR_FILES = "data:;base64,"  # the prefix of a file's content in an Ignition config
SECRETS = (OF_THE_STACK, OF_THE_INSTALL_CONFIG, NEW_PASSWORD, *PULL_SECRETS, OUR_FILES)
MASTERS = plans.HOSTS[:3]


def change_the_api_vip(project: Project) -> None:
    with project.install_config() as config:
        bare(config)["apiVIPs"] = ["192.168.111.6"]


def add_a_worker(project: Project) -> None:
    with project.install_config() as config:
        added = copy.deepcopy(host(config, -1)) | {"name": "okd-worker-2", "bootMACAddress": "52:54:00:11:10:1a"}
        added["bmc"]["address"] += "-2"
        bare(config)["hosts"].append(added)
        config["compute"][0]["replicas"] = 3
    project.configure(node_addresses={"okd-worker-2": ["192.168.111.26"]}, consent={"okd-worker-2": "SERIAL-2"})


def consent_to_others_with_a_new_password(project: Project) -> None:
    with project.install_config() as config:
        host(config, 1)["bmc"]["password"] = NEW_PASSWORD
    project.configure(consent={"okd-master-0": "NEW", "okd-worker-1": "ANOTHER"})


CHANGES: dict[str, tuple[str, Callable[[Project], None]]] = {
    "consent": ("bootstrap", consent_to_others_with_a_new_password),
    "new-worker": ("production", add_a_worker),
    "to-production": ("bootstrap", lambda project: project.set(phase="production")),
}
"""What an operator changes in which stack, where a preview cannot know all or the graph of the mocks has no state."""


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """The stacks by phase; the one in `production` is imported, as after a lost state."""
    folder = tmp_path_factory.mktemp("stacks")
    return {
        "empty": fresh(folder / "empty"),
        "bootstrap": settled(folder / "bootstrap", OF_THE_STACK, phase="bootstrap"),
        "production": settled(folder / "production", OF_THE_STACK, **of_graphs.IN_PRODUCTION),
    }


@pytest.mark.golden
@pytest.mark.parametrize("name", CHANGES)
def test_a_review_equals_the_golden_one(
    stacks: dict[str, Project], tmp_path: Path, name: str, accept_golden: bool
) -> None:
    phase, change = CHANGES[name]
    project = stacks[phase].copy(tmp_path / name)
    change(project)
    text = project.preview()
    found = markdown(page_of(read_preview(text, name), plans.STACK))
    check_review(name, masked(found), accept_golden)
    assert not [secret for secret in SECRETS if secret in text + found]
    assert "urn:pulumi" not in found


def test_an_upgrade_that_is_added_in_a_sleep_is_refused_by_a_preview(
    stacks: dict[str, Project], tmp_path: Path
) -> None:
    """The engine gives each provider process the options of this run; in the state, `power` is on."""
    project = stacks["production"].copy(tmp_path / "asleep")
    project.set(power="off", upgrade={"version": "4.21.3", "image": f"quay.io/okd/release@sha256:{'a' * 64}"})
    refused = project.pulumi("preview", fails=True)
    assert "upgrade: set for the first time with `power` off, so nothing can answer it. Fix: wake" in refused


@pytest.mark.golden
def test_every_golden_review_belongs_to_a_change(accept_golden: bool) -> None:
    wanted = {*CHANGES, *of_graphs.CHANGES, *of_graphs.RELEASES, "first", "reinstall", *REFUSED}
    wanted |= {f"to-production-{name}" for name in clusters.REVIEWED}
    for path in REVIEWS.iterdir() if accept_golden else ():
        if path.stem not in wanted:
            path.unlink()
    assert {path.stem for path in REVIEWS.iterdir()} == wanted


@pytest.mark.golden
def test_the_command_makes_the_preview_that_it_reviews(
    stacks: dict[str, Project], tmp_path: Path, accept_golden: bool
) -> None:
    """And judges it: the backend is a folder, and no repository says when the line of `reinstall` was written."""
    project = stacks["bootstrap"].copy(tmp_path / "reviewed")
    project.set(reinstall=REINSTALL)
    done = project.review("--policy", "backend", "consent")
    assert (done.returncode, done.stderr) == (4, "")
    check_review("reinstall", masked(re.sub("file:///[^`]+", "file:///FOLDER", done.stdout)), accept_golden)


def change_all_vips(project: Project) -> None:
    change_the_api_vip(project)
    with project.install_config() as config:
        bare(config)["ingressVIPs"] = ["192.168.111.7"]
    project.configure(vrids={"api": 77})


REFUSED: dict[str, tuple[str, Callable[[Project], None]]] = {
    "refused-vips": ("production", change_all_vips),
    "refused-address": (
        "production",
        lambda project: project.configure(node_addresses={"okd-worker-1": ["192.168.111.32"]}),
    ),
    "refused-vm": ("bootstrap", change_the_api_vip),
}
"""What a preview of installed servers refuses: by `check` of a resource, by `diff` of one, and by those of two."""


@pytest.mark.golden
@pytest.mark.parametrize("name", REFUSED)
def test_a_review_begins_with_what_a_running_cluster_keeps(
    stacks: dict[str, Project], tmp_path: Path, name: str, accept_golden: bool
) -> None:
    phase, change = REFUSED[name]
    project = stacks[phase].copy(tmp_path / "refused")
    change(project)
    done = project.review()
    assert done.returncode == 2
    refusals = done.stdout.count("`pulumi up` would be refused: ")
    assert [line[:16] for line in done.stderr.splitlines()] == ["pulumi preview: "] * refusals
    check_review(name, done.stdout, accept_golden)


@pytest.mark.golden
def test_a_change_of_what_is_not_installed_is_shown_against_the_base(
    stacks: dict[str, Project], tmp_path: Path, accept_golden: bool
) -> None:
    """The review of all is the golden one of an empty stack."""
    project = stacks["empty"].copy(tmp_path / "new")
    committed(project.program)
    whole = project.review("--base", "elsewhere")
    assert (whole.returncode, whole.stderr[:29]) == (0, "not compared with elsewhere: ")
    check_review("first", masked(whole.stdout), accept_golden)
    assert not [word for word in (*SECRETS, "urn:pulumi") if word in whole.stdout]
    project.configure(vrids={"api": 77})
    compared = project.review("--base", "HEAD")
    assert (compared.returncode, compared.stderr) == (0, "")
    verdict, _, rest = compared.stdout.partition("\n### Files\n")
    assert "resources that `up` has not created yet; below is only what this change makes different" in verdict
    assert sorted(line for line in rest.splitlines() if line.startswith(("-", "+"))) == [
        *["+    virtual_router_id 77"] * 4,
        *["-    virtual_router_id 67"] * 4,
    ]
    assert "| `api.router_id` | `67` | `77` | okd-network |" in rest
    assert len(compared.stdout) < len(whole.stdout) / 5


def test_the_state_stores_the_secrets_encrypted(stacks: dict[str, Project]) -> None:
    for project in (stacks["bootstrap"], stacks["production"]):
        opened = project.pulumi("stack", "export", "--show-secrets")
        closed = json.dumps(resources_of(project.folder))
        for secret in (OF_THE_STACK, OF_THE_INSTALL_CONFIG, OUR_FILES):
            assert secret in opened
            assert secret not in closed
        # Pulumi itself keeps all options with its provider, the secret ones encrypted.
        first, *ours = json.loads(opened)["deployment"]["resources"]
        assert first["type"] == "pulumi:providers:pulumi-python"
        assert not any(secret in json.dumps(ours) for secret in PULL_SECRETS)
        assert not any(secret in closed for secret in PULL_SECRETS)


def test_a_preview_shows_a_text_change_line_by_line(stacks: dict[str, Project], tmp_path: Path) -> None:
    project = stacks["bootstrap"].copy(tmp_path / "changed")
    project.replace("cluster/values/vrrp.py", "load_balancer: int = 20", "load_balancer: int = 19")
    shown, _, _ = project.pulumi("preview", "--diff").partition("--outputs:--")
    marked = re.findall(r"^ *([~+-] .*)$", re.sub("[0-9a-f]{64}", "SHA256", shown), re.M)
    assert sorted(" ".join(line.split()) for line in marked) == sorted(
        [
            *["~ pulumi-python:dynamic/baremetal:RenderedAsset: (update)", "~ text:", "- weight 20", "+ weight 19"]
            * 3,
            "~ pulumi-python:dynamic/baremetal:HostProvisioning: (update)",
            "~ ignition_sha256: {",
            *(f'~ {name}: "SHA256" => "SHA256"' for name in MASTERS),
            "~ ours : [secret] => [secret]",
        ]
    )
