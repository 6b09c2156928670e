"""What a site carries out of what a server, or another site, may send it (S6, S7): real git, real signatures."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from base.errors import ConfigError
from fleet.messages import Activity, Approval, Step
from fleet.plan import Fleet
from fleet.site import orders
from fleet.site.checkout import UnreachableError
from fleet.site.orders import VALID, refuse_malformed
from fleet.site.record import UnapprovedError
from testing.approvers import approver_of, public_key
from testing.git import git
from testing.site_clone import RUN, SiteClone, approved

DIGEST = "5eed" * 16
MALLORY = approver_of(66)


@pytest.fixture
def site(tmp_path: Path) -> SiteClone:
    return SiteClone(tmp_path)


@pytest.mark.parametrize("activity", Activity)
def test_an_order_of_this_run_is_well_formed(site: SiteClone, activity: Activity) -> None:
    refuse_malformed(site.step("" if activity is Activity.CHECK else "production"), activity, RUN)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        *(
            pytest.param({"cluster": name}, "is nothing that this release orders", id=f"cluster-{number}")
            for number, name in enumerate(("../../outside/x", "/etc", "a/b", "..", ".git", "", "-f", "a\n", "a\x00b"))
        ),
        *(
            pytest.param({"commit": name}, "is nothing that this release orders", id=f"commit-{number}")
            for number, name in enumerate(("HEAD", "main", "c0ffee", "-f", "", "A" * 40, "a" * 39, "a" * 40 + "\n"))
        ),
        *(
            pytest.param({"phase": name}, "is nothing that this release orders", id=f"phase-{number}")
            for number, name in enumerate(("", "Production", "production ", "destroy", "--show-secrets"))
        ),
        pytest.param({"run": "another"}, "is of the run another, and the server asks for the run", id="other-run"),
        pytest.param({"run": ""}, "names no run of a workflow, as those of an older release. Fix: ", id="no-run"),
    ],
)
def test_an_order_that_names_anything_else_is_refused(site: SiteClone, fields: dict[str, str], what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        refuse_malformed(replace(site.step(), **fields), Activity.UP, RUN)  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) == 1


def test_an_order_of_the_main_branch_is_fetched_and_taken(site: SiteClone) -> None:
    site.committed()
    assert site.orders.check(site.step()).site_of[site.cluster] == "north"


@pytest.mark.parametrize("cluster", ["south-a", "north-b"])
def test_a_cluster_of_no_or_another_site_is_refused_until_it_is_here(site: SiteClone, cluster: str) -> None:
    with pytest.raises(ConfigError, match=f"^{cluster}: fleet.yaml of the main branch has no such cluster at site"):
        site.orders.check(replace(site.step(), cluster=cluster))
    site.change(sites={"north": ["north-a", "south-a", "north-b"]})
    site.orders.check(replace(site.step(), cluster=cluster))


def test_a_commit_of_an_unmerged_branch_is_refused_until_it_is_merged(site: SiteClone) -> None:
    main = git(site.remote, "branch", "--show-current")
    git(site.remote, "checkout", "-q", "-b", "unmerged")
    step = replace(site.step(), commit=site.committed())
    git(site.remote, "checkout", "-q", main)
    line = (
        f"commit {step.commit}: is not on the main branch of the site's remote. "
        "Fix: merge it there, then `okd-baremetal fleet retry north-a`"
    )
    with pytest.raises(ConfigError) as caught:
        site.orders.check(step)
    assert str(caught.value) == line
    git(site.remote, "merge", "-q", "unmerged")
    site.orders.check(step)


def test_an_object_that_is_no_commit_is_refused(site: SiteClone) -> None:
    tree = git(site.remote, "rev-parse", "HEAD^{tree}")
    for name in (tree, "0" * 40):
        with pytest.raises(ConfigError, match="is not on the main branch"):
            site.orders.check(replace(site.step(), commit=name))


def test_a_remote_that_is_away_may_come_back(site: SiteClone) -> None:
    site.remote.rename(site.remote.with_name("away"))
    with pytest.raises(UnreachableError, match=r"^git fetch failed: .+$"):
        site.orders.check(Step(site.cluster, "0" * 40))


def test_a_main_branch_that_the_clone_does_not_know_is_one_line(site: SiteClone) -> None:
    step = site.step()
    git(site.root, "remote", "set-head", "origin", "--delete")
    git(site.root, "config", "remote.origin.followRemoteHEAD", "never")
    with pytest.raises(ConfigError, match="does not know the main branch of origin") as caught:
        site.orders.check(step)
    words = str(caught.value).partition("run `git ")[2].removesuffix("`").split()
    git(site.root, *words[2:])
    site.orders.check(step)


def test_a_main_branch_without_a_plan_is_one_line(site: SiteClone) -> None:
    (site.remote / "fleet.yaml").unlink()
    site.committed()
    with pytest.raises(ConfigError, match=r"git show failed: [^\n]*$"):
        site.orders.check(site.step())


def test_an_approval_counts_by_the_name_in_the_sites_own_plan(site: SiteClone) -> None:
    step = site.approved(DIGEST)
    assert site.orders.approver_of(step, site.orders.check(step)) == "jane"


def refusal(site: SiteClone, step: Step) -> str:
    fleet = site.orders.check(step)
    with pytest.raises(UnapprovedError) as caught:
        site.orders.approver_of(step, fleet)
    return str(caught.value)


NOT_SIGNED = "no approver in fleet.yaml of the main branch has signed the approval of this order and preview"
NO_APPROVAL = "bootstrap is a gate of this site, and the order has no signed approval"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(lambda step: replace(step, approval=None, digest=""), NO_APPROVAL, id="no-digest"),
        pytest.param(lambda step: replace(step, approval=None), NO_APPROVAL, id="a-digest-and-no-approval"),
        pytest.param(
            lambda step: replace(step, approval=Approval("bootstrap", DIGEST, "somebody")),
            NO_APPROVAL,
            id="of-an-older-release",
        ),
        pytest.param(lambda step: approved(step, MALLORY), NOT_SIGNED, id="by-a-stranger"),
        pytest.param(lambda step: replace(step, digest="f00d" * 16), NOT_SIGNED, id="of-another-preview"),
        pytest.param(lambda step: replace(step, digest=""), NOT_SIGNED, id="of-any-preview"),
        pytest.param(lambda step: replace(step, order="another"), NOT_SIGNED, id="of-another-order"),
        pytest.param(lambda step: replace(step, phase="production"), NOT_SIGNED, id="of-the-other-phase"),
    ],
)
def test_no_other_approval_counts(site: SiteClone, change: Callable[[Step], Step], line: str) -> None:
    assert refusal(site, change(site.approved(DIGEST))) == line


def test_an_approval_for_one_cluster_or_commit_is_for_no_other(site: SiteClone) -> None:
    first = site.approved(DIGEST)
    site.change(sites={"north": ["north-a", "north-b"]})
    for other in (replace(first, cluster="north-b"), replace(first, commit=site.commit)):
        assert refusal(site, other) == NOT_SIGNED


@pytest.mark.parametrize("field", ["by", "at"])
def test_who_approved_and_when_cannot_be_changed(site: SiteClone, field: str) -> None:
    step = site.approved(DIGEST)
    assert step.approval
    changed = replace(step.approval, **{field: "2999-01-01T00:00:00+00:00"})
    assert refusal(site, replace(step, approval=changed)) == NOT_SIGNED


def test_gates_and_approvers_are_those_of_the_main_branch_now(site: SiteClone) -> None:
    """Not those of the order's commit: an order of an old one finds an approver who has left, and a gate."""
    main = site.commit
    old = site.change(gates=[], approvers={"mallory": public_key(MALLORY)})
    site.change(gates=["bootstrap"], approvers={"john": public_key(approver_of(2))})
    by_mallory = approved(replace(site.step(digest=DIGEST), commit=old), MALLORY)
    assert refusal(site, by_mallory) == NOT_SIGNED
    assert refusal(site, replace(site.step(), commit=old)) == NO_APPROVAL
    assert refusal(site, replace(site.step(), commit=main)) == NO_APPROVAL


def test_a_phase_that_is_no_gate_of_the_site_needs_no_approval(site: SiteClone) -> None:
    site.change(gates=["bootstrap"])
    step = site.step("production")
    assert site.orders.approver_of(step, site.orders.check(step)) == ""


def test_an_approval_that_a_server_held_back_has_expired(site: SiteClone, monkeypatch: pytest.MonkeyPatch) -> None:
    step = site.approved(DIGEST)
    for late, counts in ((VALID - timedelta(minutes=1), True), (VALID + timedelta(minutes=1), False)):

        class Later(datetime):
            @classmethod
            def now(cls, tz: object = None, late: timedelta = late) -> datetime:  # type: ignore[override]
                return datetime.now(UTC) + late

        with monkeypatch.context() as patch:
            patch.setattr(orders, "datetime", Later)
            fleet: Fleet = site.orders.check(step)
            if counts:
                assert site.orders.approver_of(step, fleet) == "jane"
            else:
                with pytest.raises(UnapprovedError, match=r"^jane approved it at .*, more than 7 days ago$"):
                    site.orders.approver_of(step, fleet)
