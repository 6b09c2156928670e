"""Options as far as they can be judged: what is right counts, whatever else is wrong, missing or encrypted."""

from typing import Any

import pytest

from cluster.known_options import PLACEHOLDERS, SECRETS, holds_ciphertext, known_options
from cluster.options import Options
from cluster.values.phase import Phase
from testing import plans

CIPHERTEXT = {"secure": "v1:ciphertext"}


def test_good_options_are_taken_as_they_are() -> None:
    known = known_options(plans.options())
    assert (known.faults, known.unchecked, known.logins) == ([], frozenset(), True)
    assert known.options == plans.plan().options


def test_a_wrong_value_takes_nothing_else_with_it() -> None:
    addresses = {"m0": ["x"], "m1": ["192.0.2.1"]}
    known = known_options(plans.options(node_addresses=addresses, phase="done", handoff={"soak_s": 0, "stable_s": 7}))
    assert [fault.where for fault in known.faults] == ["node_addresses.m0[0]", "phase", "handoff.soak_s"]
    assert known.options.node_addresses.keys() == {"m1"}
    assert known.options.handoff.stable_s == 7
    assert [known.counts(f"node_addresses.{name}") for name in ("m0", "m1")] == [False, True]


def test_each_required_option_has_a_placeholder_that_fits() -> None:
    required = {name for name, field in Options.model_fields.items() if field.is_required()}
    assert required == PLACEHOLDERS.keys()
    assert Options.model_validate(PLACEHOLDERS).phase is Phase.BOOTSTRAP


def test_the_options_with_logins_tokens_and_keys_are_secret() -> None:
    assert {*SECRETS} == {"bmc_credentials", "pull_secret", "notify_url"}


def test_each_missing_required_option_is_reported_once() -> None:
    known = known_options({"payload": {"master": "a1" * 32}})
    assert [fault.where for fault in known.faults] == ["media", "payload.bootstrap", "payload.worker"]


def test_placeholder_values_are_not_reported() -> None:
    known = known_options(plans.options(payload=CIPHERTEXT, handoff={"soak_s": CIPHERTEXT, "stable_s": 0}))
    assert [fault.where for fault in known.faults] == ["handoff.stable_s"]
    assert not known.counts("payload.master")


@pytest.mark.parametrize(
    ("logins", "all_known"),
    [
        pytest.param({"m0": {"username": "a", "password": CIPHERTEXT}}, True, id="a-password"),
        pytest.param({"m0": CIPHERTEXT}, False, id="a-login"),
        pytest.param(CIPHERTEXT, False, id="all"),
    ],
)
def test_logins_are_known_if_only_their_values_are_encrypted(logins: dict[str, Any], all_known: bool) -> None:
    known = known_options(plans.options(bmc_credentials=logins))
    assert (known.faults, known.logins) == ([], all_known)
    assert holds_ciphertext(logins)
    assert not holds_ciphertext({"m0": {"username": "a", "password": "b"}})
