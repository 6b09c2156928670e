"""What all providers share, and each one's pure part: check and diff."""

import hashlib
import sys
from typing import Any

import pulumi
import pytest

from providers.base.dynamic import Props, Provider, is_known
from providers.base.errors import AssetError, OkdBaremetalError
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.rendered_asset.provider import AssetProvider
from providers.vip_handoff.provider import VipHandoffProvider
from providers.vip_held.provider import VipHeldProvider

PROVIDERS = [AssetProvider, BootstrapVmProvider, VipHandoffProvider, VipHeldProvider]
UNKNOWN = pulumi.output.UNKNOWN


class Recorder(Provider):
    """Notes what reaches a provider."""

    seen: list[Any]

    def _create(self, props: Props) -> tuple[str, Props]:
        return "id", {"seen": sorted(props)}

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        return {"seen": [sorted(olds), sorted(news)]}

    def _read(self, id_: str, props: Props) -> Props | None:
        return None if props.get("gone") else {"found": sorted(props)}


PROPS = {"key": "value", "__provider": "pickle"}


def test_the_pickle_is_kept_from_the_provider_and_for_the_state() -> None:
    created = Recorder().create(PROPS)
    assert created.outs == {**PROPS, "seen": ["key"]}
    assert Recorder().update("id", PROPS, PROPS).outs == {**PROPS, "seen": [["key"], ["key"]]}


def test_outs_of_an_update_echo_the_new_inputs() -> None:
    assert (Recorder().update("id", {"key": "old"}, {"key": "new"}).outs or {})["key"] == "new"


def test_a_refresh_keeps_the_inputs_and_adds_what_it_found() -> None:
    read = Recorder().read("id", PROPS)
    assert (read.id, read.outs) == ("id", {**PROPS, "found": ["key"]})


def test_what_is_gone_is_said_by_an_empty_id() -> None:
    assert Recorder().read("id", {"gone": True}).id == ""


def test_a_diff_leaves_the_comparison_to_the_engine() -> None:
    diff = BootstrapVmProvider().diff("id", {"name": "a", "mac": "1"}, {"name": "a", "mac": "2"})
    assert (diff.changes, diff.replaces, diff.delete_before_replace) == (None, [], True)


def test_another_name_is_another_vm() -> None:
    diff = BootstrapVmProvider().diff("id", {"name": "a", "pool": "x"}, {"name": "b", "pool": "x"})
    assert diff.replaces == ["name"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_has_no_attributes_that_would_land_in_the_state(provider: type[Provider]) -> None:
    assert vars(provider()) == {}
    assert provider.serialize_as_secret_always is False


@pytest.mark.parametrize("error", [OkdBaremetalError("what", where="host", fix="Do"), AssetError("what")])
def test_our_own_errors_reach_the_operator_without_a_traceback(error: Exception) -> None:
    class Failing(Provider):
        def _create(self, props: Props) -> tuple[str, Props]:
            try:
                raise KeyError("below")
            except KeyError as cause:
                raise error from cause

    with pytest.raises(type(error)) as caught:
        Failing().create({})
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert sys.tracebacklimit == 0


def test_an_error_of_ours_is_where_what_and_hint() -> None:
    assert str(OkdBaremetalError("is Off, wanted On", where="https://bmc", fix="Look")) == (
        "https://bmc: is Off, wanted On. Look"
    )


def test_a_value_that_a_preview_does_not_have_is_not_known() -> None:
    assert not is_known(UNKNOWN)
    assert all(is_known(value) for value in ("", None, 0, "x"))


BACK = "there is no way back to bootstrap"
EMPTY = "the stack is empty"


@pytest.mark.parametrize(
    ("olds", "news", "why"),
    [
        pytest.param({}, {"phase": "bootstrap"}, "", id="first-up"),
        pytest.param({"phase": "bootstrap"}, {"phase": "bootstrap"}, "", id="again"),
        pytest.param({"phase": "bootstrap"}, {"phase": "production"}, "", id="the-handoff"),
        pytest.param({"phase": "production"}, {"phase": "production"}, "", id="in-production"),
        pytest.param({"phase": "production"}, {"phase": "bootstrap"}, BACK, id="back"),
        pytest.param(
            {"phase": "production"}, {"phase": "bootstrap", "import_production": True}, BACK, id="back-is-no-import"
        ),
        pytest.param({}, {"phase": "production"}, EMPTY, id="production-first"),
        pytest.param({}, {"phase": "production", "import_production": False}, EMPTY, id="no-import"),
        pytest.param({}, {"phase": "production", "import_production": True}, "", id="import"),
        pytest.param({"__provider": "x"}, {"phase": "production"}, EMPTY, id="a-pickle-is-no-state"),
        pytest.param({}, {"phase": UNKNOWN}, "", id="unknown"),
    ],
)
def test_the_phase_goes_one_way(olds: Props, news: Props, why: str) -> None:
    failures = VipHandoffProvider().check(olds, news).failures
    assert bool(failures) == bool(why)
    if why:
        (failure,) = failures
        assert failure.property == "phase"
        assert why in failure.reason
        assert "\n" not in failure.reason


SCRIPT = {"path": "/usr/local/bin/x.sh", "mode": "0755", "reader": "bash", "text": "#!/usr/bin/env bash\ntrue\n"}


def test_an_asset_is_known_by_the_digest_of_its_text() -> None:
    created = AssetProvider().create(dict(SCRIPT))
    assert created.id == "/usr/local/bin/x.sh"
    assert (created.outs or {})["sha256"] == hashlib.sha256(SCRIPT["text"].encode()).hexdigest()


@pytest.mark.parametrize("step", ["create", "update"])
def test_an_asset_that_its_reader_refuses_is_refused(step: str) -> None:
    broken = {**SCRIPT, "text": "if true; then\n"}
    with pytest.raises(AssetError, match=r"/usr/local/bin/x\.sh: bash refuses it"):
        AssetProvider().create(broken) if step == "create" else AssetProvider().update("x", SCRIPT, broken)
