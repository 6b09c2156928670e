"""What a ClusterVersion says of a release."""

from collections.abc import Mapping
from typing import Any

import pytest

from providers.cluster_upgrade.release import ClusterVersion
from testing.fakes.okd_release import conditions, image_of

IMAGE = image_of("4.21.3")


def version(
    statuses: Mapping[str, str] | None = None, generation: int = 1, state: str = "Completed"
) -> ClusterVersion:
    entry = {"state": state, "version": "4.21.3", "image": IMAGE}
    status: dict[str, Any] = {
        "history": [entry],
        "observedGeneration": 1,
        "conditions": conditions(**(statuses or {})),
    }
    return ClusterVersion.model_validate({"metadata": {"generation": generation}, "status": status})


def test_a_status_of_the_former_spec_says_nothing_of_this_one() -> None:
    """After a way from a release to another one and back, the first status is of the first way."""
    assert version().has(IMAGE)
    assert not version(generation=2).has(IMAGE)
    assert version({"Failing": "True"}).stuck == "Failing is True: Failing's message"
    assert version({"Failing": "True"}, generation=2).stuck is None
    assert version({"Progressing": "True"}, generation=2).progress == "OKD has not begun yet"


def test_what_okd_has_begun_with_it_goes_on_with_after_a_clear() -> None:
    """`oc adm upgrade --clear` leaves no desired update; OKD stays with the release that its own operator is of."""
    begun = ClusterVersion.model_validate({"status": {"desired": {"version": "4.21.3", "image": IMAGE}}})
    assert begun.is_told(IMAGE)
    assert not begun.is_told(image_of("4.21.4"))


def test_what_is_invalid_beside_a_desired_image_does_not_take_it_back() -> None:
    """As `spec.upstream` that is no URL: of the fields that cannot be, the operator leaves out only those."""
    named = {"spec": {"desiredUpdate": {"version": "4.21.4", "image": image_of("4.21.4")}}}
    status = {"desired": {"version": "4.21.3", "image": IMAGE}, "conditions": conditions(Invalid="True")}
    told = ClusterVersion.model_validate({**named, "status": status})
    assert (told.is_told(image_of("4.21.4")), told.is_told(IMAGE)) == (True, False)
    assert told.stuck == "Invalid is True: Invalid's message"


@pytest.mark.parametrize("name", ["mirror.site.test:5000/okd/release", "quay.io/okd/scos-release"])
def test_a_release_is_the_same_at_each_mirror(name: str) -> None:
    assert version().has(f"{name}@{IMAGE.partition('@')[2]}")
    assert not version().has(f"{name}@sha256:{'5e' * 32}")
    assert not version(state="Partial").has(IMAGE)


@pytest.mark.parametrize(
    ("statuses", "stuck"),
    [
        ({"Failing": "Unknown"}, None),  # an operator that is slow
        ({"ReleaseAccepted": "Unknown"}, None),  # it is fetched
        ({"ReleaseAccepted": "False"}, "ReleaseAccepted is False: ReleaseAccepted's message"),
        ({"Invalid": "True"}, "Invalid is True: Invalid's message"),
    ],
)
def test_only_what_the_operator_calls_a_failure_holds(statuses: dict[str, str], stuck: str | None) -> None:
    assert version(statuses).stuck == stuck
