"""An upgrade of OKD: what bars it, what it writes, how it goes on after a kill, and when it is held."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from base.errors import SnapshotError, UpgradeError
from providers.cluster_upgrade.engine import STUCK_S, ClusterUpgradeEngine
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.cluster_upgrade.obstacles import seen_of
from providers.patience import WITHIN_S
from testing.fakes.clock import FakeClock
from testing.fakes.okd_release import API_NAME, LOAD_S, PART_S, PARTS, PASS_S, WORKERS_S, FakeOkd, image_of
from testing.progress import into
from wires.api.resources import HeldError, RefusedError

VERSION = "4.21.3"
IMAGE = image_of(VERSION)
WRITE = f"API {API_NAME}: change clusterversions/version to {VERSION} {IMAGE}"


class KilledError(Exception):
    """The worker dies here."""


@dataclass
class Rig:
    """One cluster, and the runs that upgrade it."""

    clock: FakeClock = field(default_factory=FakeClock)
    lines: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    """The version that was running at each snapshot."""
    version: str = VERSION
    image: str = ""
    """The option's; empty: that of the version."""
    deadline_s: float = 14400.0

    def __post_init__(self) -> None:
        self.okd = FakeOkd(self.clock)

    def save(self) -> None:
        self.saved.append(self.okd.running)

    @property
    def engine(self) -> ClusterUpgradeEngine:
        """A new run."""
        spec = ClusterUpgradeSpec(
            stack="prod",
            api_name=API_NAME,
            api_vip="192.0.2.5",
            version=self.version,
            image=self.image or image_of(self.version),
            snapshots="/srv/etcd",
            deadline_s=self.deadline_s,
        )
        return ClusterUpgradeEngine(self.okd, spec, self.save, self.clock, into(self.lines))

    def refused(self, where: str = "OKD") -> str:
        """Return why a run ends, which is found there."""
        with pytest.raises(UpgradeError) as caught:
            self.engine.reach()
        assert caught.value.fault.where == where
        assert "run `pulumi up` again: it begins nothing twice" in caught.value.fault.fix
        return str(caught.value)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_an_upgrade_saves_etcd_is_told_once_and_ends_with_all_well(rig: Rig) -> None:
    began = rig.clock.now()
    assert rig.engine.reach().running == VERSION
    assert (rig.saved, rig.okd.writes, rig.okd.running) == (["4.21.2"], [WRITE], VERSION)
    assert rig.clock.now() - began >= LOAD_S + PARTS * PART_S + WORKERS_S + 30, "well for a moment only is no end"
    shown = "\n".join(rig.lines)
    for progress in ("480 of 959 done (50% complete); 1 of 3", "800 of 959 done (83% complete); 2 of 3"):
        assert f"{progress} operators have it" in shown
    assert "the release is applied, but machine config pool worker is not Updated: Updated's message" in shown


def test_a_cluster_that_has_the_release_is_not_told_again(rig: Rig) -> None:
    rig.engine.reach()
    rig.saved.clear()
    assert rig.engine.reach().running == VERSION
    assert (rig.saved, rig.okd.writes) == ([], [WRITE])


@pytest.mark.parametrize("at", range(1, 17))
def test_a_run_after_a_kill_at_any_request_goes_on(rig: Rig, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The worker dies right after the request, before the next one; of what it had told, OKD forgets nothing."""

    def dying(call: Callable[..., object]) -> Callable[..., object]:
        def killed(*words: object) -> object:
            answer = call(*words)
            if rig.okd.requests == at:
                raise KilledError
            return answer

        return killed

    for call in (rig.okd.get, rig.okd.patch):
        monkeypatch.setattr(rig.okd, call.__name__, dying(call))
    with pytest.raises(KilledError):
        rig.engine.reach()
    rig.clock.sleep(7)
    rig.engine.reach()
    assert (rig.okd.running, rig.okd.writes) == (VERSION, [WRITE])


def test_the_digest_of_the_release_that_runs_is_no_newer_release(rig: Rig) -> None:
    """A person has raised the version, and left the digest."""
    rig.image = image_of("4.21.2")
    what = "upgrade.image: the image is that of 4.21.2, wanted that of 4.21.3"
    assert rig.refused("upgrade.image").startswith(f"{what}. Fix: write the digest of 4.21.3")
    assert (rig.saved, rig.okd.writes) == ([], [])


def test_the_digest_of_a_former_release_is_not_told(rig: Rig) -> None:
    rig.engine.reach()
    done = [*rig.okd.writes]
    rig.version, rig.image = "4.21.4", image_of("4.21.2")
    assert "the image is that of 4.21.2, wanted that of 4.21.4" in rig.refused("upgrade.image")
    assert rig.okd.writes == done


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("4.21.1", "4.21.2: 4.21.1 is no newer release, and no cluster goes back"),
        ("4.21.2", "4.21.2: 4.21.2 is no newer release, and no cluster goes back"),
        ("4.21.2-okd-scos.9", "4.21.2: 4.21.2-okd-scos.9 is no newer release, and no cluster goes back"),
        ("4.23.0", "4.21.2: 4.23.0 is more than one minor release ahead, and OKD takes one at a time"),
        ("5.1.0", "4.21.2: 5.1.0 is of another major release, of which OKD takes only 5.0 from 4"),
        ("newest", "'4.21.2', which cannot be compared with newest"),
    ],
)
def test_a_release_that_okd_would_not_take_is_not_begun(version: str, why: str) -> None:
    rig = Rig(version=version, image=image_of("another"))
    assert f"    version of OKD is {why}" in rig.refused()
    assert (rig.saved, rig.okd.writes) == ([], [])


def test_all_that_stands_in_the_way_is_told_and_nothing_is_begun(rig: Rig) -> None:
    rig.okd.degraded |= dict.fromkeys(["ingress", "etcd"], rig.clock.now())
    rig.okd.unready.add("okd-worker-0")
    rig.okd.tell(version="4.21.5", image=image_of("4.21.5"))
    rig.clock.sleep(LOAD_S)
    rig.version = "4.21.6"
    assert rig.refused().splitlines()[0].startswith("OKD: the upgrade to 4.21.6 was not begun, since 4 things")
    told = [line.strip() for line in rig.refused().partition(". Fix: ")[0].splitlines()[1:]]
    works = "Working towards 4.21.5, waiting up to 40 minutes on ingress, etcd"
    assert told == [
        f"version of OKD is 4.21.5, and Progressing: {works}",
        "operator etcd is Degraded: Degraded's message",
        "operator ingress is Degraded: Degraded's message",
        "node okd-worker-0 is not Ready: Ready's message",
    ]
    assert (rig.saved, rig.okd.writes) == ([], [])


def test_what_is_no_cluster_of_okd_is_not_upgraded(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.okd, "get", lambda *_: None)
    assert [(str(each), each.is_good) for each in seen_of(rig.okd, "192.0.2.5", VERSION, IMAGE)] == [
        ("version of OKD is missing: it is no cluster of OKD", False),
        ("operator all is not listed", False),
        ("node all is not listed", False),
        ("machine config pool all is not listed", False),
    ]
    with pytest.raises(UpgradeError, match=r"OKD: the cluster has no ClusterVersion.* Fix: remove `upgrade`"):
        rig.engine.reach()


def test_the_next_major_release_is_taken_from_any_minor_one() -> None:
    rig = Rig(version="5.0.1")
    assert rig.engine.reach().running == "5.0.1"


@pytest.mark.parametrize(("version", "is_barred"), [("4.21.3", False), ("4.22.0", True)])
def test_a_cluster_that_is_not_upgradeable_takes_only_patches(version: str, is_barred: bool) -> None:
    rig = Rig(version=version)
    rig.okd.upgradeable = False
    if is_barred:
        assert "4.21.2, and not Upgradeable: Kubernetes 1.34 removes APIs" in rig.refused()
        assert rig.okd.writes == []
    else:
        rig.engine.reach()


def test_a_snapshot_that_fails_begins_nothing(rig: Rig) -> None:
    def fail() -> None:
        raise SnapshotError("no member gave a snapshot", where="etcd")

    engine = rig.engine
    engine.save = fail
    with pytest.raises(SnapshotError):
        engine.reach()
    assert rig.okd.writes == []


def test_what_becomes_unwell_during_the_snapshot_begins_nothing(rig: Rig) -> None:
    engine = rig.engine
    engine.save = lambda: rig.okd.unready.add("okd-master-0")
    with pytest.raises(UpgradeError, match="node okd-master-0 is not Ready"):
        engine.reach()
    assert rig.okd.writes == []


def test_what_a_person_tells_during_the_snapshot_is_not_told_again(rig: Rig) -> None:
    engine = rig.engine
    engine.save = lambda: rig.okd.tell(version=VERSION, image=IMAGE)
    assert engine.reach().running == VERSION
    assert rig.okd.writes == []


def test_nothing_of_an_earlier_desired_update_stays(rig: Rig) -> None:
    rig.okd.tell(version="4.21.2", image=image_of("4.21.2"), force=True, mode="Preflight")
    rig.clock.sleep(LOAD_S)
    rig.engine.reach()
    assert rig.okd.desired == {"version": VERSION, "image": IMAGE, "force": False}


def test_a_desired_update_by_architecture_is_replaced(rig: Rig) -> None:
    rig.okd.tell(version="4.21.2", image=image_of("4.21.2"))
    assert rig.okd.desired is not None
    rig.clock.sleep(LOAD_S)
    rig.engine.running()
    rig.okd.desired.update(architecture="Multi", image="")
    rig.engine.reach()


@pytest.mark.parametrize("desired", [{"image": image_of("4.21.5")}, {"image": ""}], ids=["image", "version"])
def test_a_release_that_a_person_chose_a_moment_ago_is_not_replaced(rig: Rig, desired: dict[str, str]) -> None:
    """Until OKD has begun with it, all conditions are those of a cluster at rest."""
    rig.okd.tell(version="4.21.5", **desired)
    assert "version of OKD is 4.21.2, and was told to get 4.21.5" in rig.refused()
    assert (rig.saved, rig.okd.writes) == ([], [])


def test_a_release_that_okd_has_refused_is_replaced(rig: Rig) -> None:
    rig.okd.tell(version="4.21.5", image=image_of("4.21.5"))
    rig.okd.refuses = "The update cannot be verified: no signature"
    rig.clock.sleep(LOAD_S + PASS_S)
    rig.engine.running()
    sleep = rig.clock.sleep

    def mended(seconds: float) -> None:
        rig.okd.refuses = ""
        sleep(seconds)

    rig.clock.sleep = mended  # type: ignore[method-assign]
    assert rig.engine.reach().running == VERSION


def test_a_version_that_okd_calls_invalid_is_replaced(rig: Rig) -> None:
    """It is no release that OKD knows, and would stay the desired one for ever."""
    rig.okd.tell(version="4.21.77")
    rig.clock.sleep(LOAD_S + PASS_S)
    assert rig.engine.reach().running == VERSION


def test_an_upgrade_that_a_person_began_by_its_version_alone_is_followed(rig: Rig) -> None:
    rig.okd.available = (VERSION,)
    rig.okd.tell(version=VERSION)
    rig.clock.sleep(LOAD_S)
    assert rig.engine.reach().running == VERSION
    assert rig.okd.writes == []


BUG = "Nodes of this kind lose their network. https://kcs.lab.test/1"
RISKS = {
    "exposed": ("False", "LosesNetwork", BUG),
    "not-evaluated": ("Unknown", "EvaluationFailed", f"Could not evaluate exposure to risk LosesNetwork ({BUG})"),
}


@pytest.mark.parametrize("risk", RISKS)
def test_a_release_with_a_known_risk_waits_for_a_person_who_takes_it(rig: Rig, risk: str) -> None:
    _, reason, message = RISKS[risk]
    rig.okd.conditional[VERSION] = RISKS[risk]
    take = f"to take that risk, save etcd, then `oc adm upgrade --allow-not-recommended --to={VERSION}`"
    assert f"    update to {VERSION} is not recommended: {reason}: {message}; {take}" in rig.refused()
    assert (rig.saved, rig.okd.writes) == ([], [])
    rig.okd.tell(version=VERSION, image=IMAGE)  # as that command does
    assert rig.engine.reach().running == VERSION


def test_a_release_whose_risks_are_not_evaluated_yet_is_asked_for_again(rig: Rig) -> None:
    """`oc adm upgrade --allow-not-recommended` knows no such release (upgrade.go of openshift/oc 6b8e30c5b)."""
    rig.okd.conditional[VERSION] = None
    what = f"update to {VERSION} is not recommended: OKD has not evaluated its risks yet; ask again in some minutes"
    assert what in rig.refused()
    assert (rig.saved, rig.okd.writes) == ([], [])


def test_an_available_update_is_begun_whatever_else_is_said_of_it(rig: Rig) -> None:
    """`oc adm upgrade` looks among those first (upgrade.go of openshift/oc 6b8e30c5b)."""
    rig.okd.available = (VERSION,)
    rig.okd.conditional[VERSION] = RISKS["not-evaluated"]
    assert rig.engine.reach().running == VERSION


@pytest.mark.parametrize("available", [(VERSION,), ()], ids=["listed", "not-listed"])
def test_a_conditional_update_whose_risks_do_not_apply_is_begun(rig: Rig, available: tuple[str, ...]) -> None:
    rig.okd.available = available
    rig.okd.conditional[VERSION] = ("True", "NotExposedToRisks", "The update is recommended.")
    rig.okd.conditional["4.21.4"] = RISKS["exposed"]
    assert rig.engine.reach().running == VERSION


def test_a_change_by_another_client_is_read_before_the_next_try(rig: Rig) -> None:
    rig.okd.others = 2
    rig.engine.reach()
    assert rig.okd.writes == [WRITE] * 3


def test_a_refusal_of_the_api_is_told_as_one(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("status 403: upgrades only on Sundays")

    monkeypatch.setattr(rig.okd, "patch", refuse)
    what = "not begun: the API refuses the desired update: status 403: upgrades only on Sundays"
    assert rig.refused().startswith(f"OKD: {what}. Fix: change what its reason names, then run")


def hold(rig: Rig, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have the API hold the next changes, as an overloaded one does: 429."""
    patch, left = rig.okd.patch, [*range(times)]

    def held(address: str, path: str, change: dict[str, object]) -> None:
        if left:
            left.pop()
            raise HeldError("too many requests")
        patch(address, path, change)

    monkeypatch.setattr(rig.okd, "patch", held)


def test_a_change_that_an_overloaded_api_holds_is_made_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(rig, monkeypatch, 3)
    assert rig.engine.reach().running == VERSION
    assert rig.okd.writes == [WRITE]
    assert "asking the API: not done yet (too many requests); at most 60 s left" in rig.lines


def test_an_api_that_holds_each_change_is_not_asked_for_ever(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(rig, monkeypatch, 999)
    began = rig.clock.now()
    assert "OKD cannot be asked through 192.0.2.5: too many requests" in rig.refused()
    assert rig.clock.now() - began <= 2 * WITHIN_S
    assert rig.okd.desired is None


def test_a_cluster_version_that_never_rests_is_left_alone(rig: Rig) -> None:
    rig.okd.others = 99
    assert "the ClusterVersion changed 5 times while it was read" in rig.refused()
    assert rig.okd.desired is None


def test_an_api_that_restarts_is_awaited(rig: Rig) -> None:
    rig.okd.down = frozenset(range(20, 60))
    assert rig.engine.reach().running == VERSION
    assert any("OKD cannot be asked through 192.0.2.5: connection refused" in line for line in rig.lines)


def test_an_api_that_does_not_answer_begins_nothing(rig: Rig) -> None:
    rig.okd.down = frozenset(range(100))
    assert "OKD cannot be asked through 192.0.2.5: connection refused" in rig.refused()
    assert sum(rig.clock.slept) >= WITHIN_S
    assert rig.okd.writes == []


@pytest.mark.parametrize("number", range(1, 9))
def test_any_request_without_an_answer_is_made_again(rig: Rig, number: int) -> None:
    rig.okd.down = frozenset({number})
    assert rig.engine.reach().running == VERSION
    assert len(rig.okd.writes) == 1


def test_a_release_that_is_not_accepted_holds_and_goes_on_once_it_is(rig: Rig) -> None:
    rig.okd.refuses = "The update cannot be verified: no signature"
    began = rig.clock.now()
    said = rig.refused()
    assert "has not got on for 600 s: ReleaseAccepted is False: Retrieving payload failed version=" in said
    assert f" failure={rig.okd.refuses}. Fix: " in said
    assert STUCK_S <= rig.clock.now() - began < STUCK_S + LOAD_S + PASS_S + 60
    rig.okd.refuses = ""
    assert rig.engine.reach().running == VERSION
    assert (len(rig.saved), rig.okd.writes) == (1, [WRITE])


def test_failures_of_moments_pass_however_many(rig: Rig) -> None:
    sleep = rig.clock.sleep

    def flap(seconds: float) -> None:
        sleep(seconds)
        rig.okd.unavailable = {"ingress": 0.0} if rig.clock.now() % STUCK_S < STUCK_S / 2 else {}

    rig.clock.sleep = flap  # type: ignore[method-assign]
    assert rig.engine.reach().running == VERSION


def test_a_longer_failure_holds(rig: Rig) -> None:
    rig.okd.tell(version=VERSION, image=IMAGE)
    rig.clock.sleep(LOAD_S)
    rig.engine.running()
    rig.okd.degraded["ingress"] = rig.clock.now()
    assert "600 s: Failing is True: Cluster operator ingress is degraded" in rig.refused()


@pytest.mark.parametrize("at_s", [LOAD_S / 2, LOAD_S + 100])
def test_an_upgrade_that_a_person_gives_up_is_not_waited_for(rig: Rig, at_s: float) -> None:
    """By telling OKD the former release again, which it takes if that is of the same minor one."""
    began, sleep = rig.clock.now(), rig.clock.sleep

    def given_up(seconds: float) -> None:
        sleep(seconds)
        if rig.okd.desired and rig.clock.now() >= began + at_s:
            rig.okd.tell(version="4.21.2", image=image_of("4.21.2"))

    rig.clock.sleep = given_up  # type: ignore[method-assign]
    assert "OKD is not told any more to get 4.21.3" in rig.refused()
    assert rig.clock.now() < began + at_s + 60


def test_the_deadline_ends_the_wait_and_not_the_upgrade() -> None:
    rig = Rig(deadline_s=300)
    assert "not upgraded to 4.21.3 after 300 s: Working towards 4.21.3: " in rig.refused()
    rig.deadline_s = 14400
    assert rig.engine.reach().running == VERSION
    assert rig.okd.writes == [WRITE]
