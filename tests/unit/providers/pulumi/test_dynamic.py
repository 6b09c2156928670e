"""The base of all resources and providers: typed inputs and outputs, unknowns, secrets, one line per error."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import pulumi
import pytest
from pydantic import BaseModel, Field, SecretStr

from base.errors import AssetError, ConfigError, Fault, OkdBaremetalError
from base.spec import INPUT_ONLY, REPLACES, Outs, Spec
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.pulumi.dynamic import Props, Provider, inputs_of
from providers.vip_held.provider import VipHeldProvider
from testing.refusals import refusals

UNKNOWN = pulumi.output.UNKNOWN
Failures = list[tuple[str, str]]


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel, frozen=True):
    name: str
    count: int = 1


class ThingSpec(Spec):
    name: Annotated[str, REPLACES]
    size: int = 8
    ratio: float = 0.5
    color: Annotated[Color, REPLACES] = Color.RED
    labels: tuple[str, ...] = ()
    parts: dict[str, Part] = Field({})
    password: SecretStr = SecretStr("")
    large: Annotated[dict[str, dict[str, SecretStr]], INPUT_ONLY] = Field({})


class ThingOuts(Outs):
    log: list[str] = Field([])
    """The arguments that reached the provider."""
    made: int = 0
    part: Part | None = None


class Things(Provider[ThingSpec, ThingOuts]):
    """Writes its arguments into its outputs."""

    def _faults(self, old: ThingSpec | None, new: ThingSpec) -> Iterator[Fault]:
        if new.name == "bad":
            yield Fault("name", "is bad", "take another one")
            yield Fault("parts.x[0].count", "is wrong")
        if new.name == "log":
            yield Fault("name", f"was {old.name if old else None}, parts {sorted(new.parts)}")

    def _create(self, spec: ThingSpec) -> tuple[str, ThingOuts]:
        return spec.name, ThingOuts(log=[repr(spec)])

    def _update(self, old: ThingSpec, outs: ThingOuts, new: ThingSpec) -> ThingOuts:
        return ThingOuts(log=[repr(old), repr(outs), repr(new)])

    def _read(self, spec: ThingSpec, outs: ThingOuts) -> ThingOuts | None:
        return None if spec.name == "gone" else ThingOuts(log=[repr(spec), repr(outs)])

    def _delete(self, spec: ThingSpec, outs: ThingOuts) -> None:
        raise OkdBaremetalError(f"{spec!r} {outs!r}")


class Drifting(Things):
    """Reports the state that it finds as its inputs."""

    outputs_are_inputs = True


def outs_of(answer: Any) -> dict[str, Any]:
    outs: dict[str, Any] = answer.outs
    return outs


def failures(news: Props, olds: Props | None = None) -> Failures:
    answer = Things().check(olds or {}, news)
    assert answer.inputs is news
    return refusals(answer)


class TestInputs:
    def test_inputs_get_the_types_of_the_spec_whatever_json_made_of_them(self) -> None:
        parts = {"x": {"name": "p", "count": 2.0}}
        spec = ThingSpec.model_validate(
            {"name": "a", "size": 9.0, "ratio": 1, "color": "blue", "labels": ["l"], "parts": parts}
        )
        assert outs_of(Things().create({**spec.model_dump(mode="json"), "size": 9.0, "parts": parts}))["log"] == [
            "ThingSpec(urn='', name='a', size=9, ratio=1.0, color=<Color.BLUE: 'blue'>, labels=('l',),"
            " parts={'x': Part(name='p', count=2)}, password=SecretStr(''), large={})"
        ]
        assert (spec.size, type(spec.size), spec.ratio, type(spec.ratio)) == (9, int, 1.0, float)
        assert spec.parts == {"x": Part(name="p", count=2)}

    @pytest.mark.parametrize(
        "props",
        [
            pytest.param({"name": "a"}, id="missing"),
            pytest.param({"name": "a", "size": None, "parts": None, "password": None}, id="null"),
            pytest.param({"name": "a", "__provider": "pickle", "dropped_field": 1}, id="unknown-to-the-spec"),
        ],
    )
    def test_missing_inputs_get_their_default_and_unknown_ones_are_ignored(self, props: Props) -> None:
        default = repr(ThingSpec(name="a"))
        assert outs_of(Things().create(props))["log"] == [default]
        assert outs_of(Things().update("id", props, props))["log"] == [default, repr(ThingOuts()), default]
        assert outs_of(Things().read("id", props))["log"][0] == default
        with pytest.raises(OkdBaremetalError) as caught:
            Things().delete("id", props)
        assert str(caught.value) == f"{default} {ThingOuts()!r}"

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda bad: Things().create(bad), id="create"),
            pytest.param(lambda bad: Things().update("id", bad, {"name": "a"}), id="update-of"),
            pytest.param(lambda bad: Things().update("id", {"name": "a"}, bad), id="update-to"),
            pytest.param(lambda bad: Things().read("id", bad), id="read"),
            pytest.param(lambda bad: Things().delete("id", bad), id="delete"),
        ],
    )
    @pytest.mark.parametrize(
        ("change", "line"),
        [
            pytest.param(
                {"size": "canary"},
                "size: Input should be a valid integer, unable to parse string as an integer",
                id="no-number",
            ),
            pytest.param(
                {"size": 8.5}, "size: Input should be a valid integer, got a number with a fractional part", id="half"
            ),
            pytest.param(
                {"labels": "canary"}, "labels: a list is wanted. Fix: put a hyphen before each element", id="no-list"
            ),
            pytest.param({"color": "canary"}, "color: Input should be 'red' or 'blue'", id="no-member"),
            pytest.param(
                {"parts": {"x": {"name": ["canary"]}}},
                "parts.x.name: text is wanted. Fix: write one value in quotes, no list and no mapping",
                id="nested",
            ),
            pytest.param(
                {"password": ["canary"]},
                "password: text is wanted. Fix: write one value in quotes, no list and no mapping",
                id="secret",
            ),
            pytest.param({"name": None}, "name: missing. Fix: add it", id="missing"),
        ],
    )
    def test_a_wrong_input_is_one_line_without_the_value(
        self, call: Callable[[Props], object], change: Props, line: str
    ) -> None:
        with pytest.raises(ConfigError) as caught:
            call({"name": "a", **change})
        assert str(caught.value) == line
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        assert sys.tracebacklimit == 0


class TestCheck:
    def test_good_inputs_have_no_failure(self) -> None:
        assert failures({"name": "a", "__provider": "pickle", "size": 8.0, "parts": {"x": {"name": "p"}}}) == []

    def test_a_failure_names_its_input_and_its_fix(self) -> None:
        wanted = [("name", "is bad. Fix: take another one"), ("parts", "x[0].count: is wrong")]
        assert failures({"name": "bad"}) == wanted

    def test_inputs_that_the_spec_refuses_are_failures_without_the_values(self) -> None:
        assert failures({"size": "canary", "parts": {"x": {"name": "p", "count": "canary"}}}) == [
            ("name", "missing. Fix: add it"),
            ("size", "Input should be a valid integer, unable to parse string as an integer"),
            ("parts", "x.count: Input should be a valid integer, unable to parse string as an integer"),
        ]

    @pytest.mark.parametrize(
        ("olds", "name"),
        [
            pytest.param({}, "None", id="no-state"),
            pytest.param({"name": "before", "made": 3.0}, "before", id="state"),
            pytest.param({"size": 8.0}, "None", id="state-that-does-not-suffice"),
        ],
    )
    def test_check_sees_the_inputs_of_the_state(self, olds: Props, name: str) -> None:
        assert failures({"name": "log"}, olds) == [("name", f"was {name}, parts []")]

    @pytest.mark.parametrize(
        ("news", "keys"),
        [
            pytest.param({"name": UNKNOWN}, [], id="a-required-one"),
            pytest.param({"name": UNKNOWN, "size": "x"}, ["size"], id="another-is-wrong"),
            pytest.param({"name": "bad", "parts": UNKNOWN}, ["name"], id="a-fault-elsewhere"),
            pytest.param({"name": "bad", "parts": {"x": {"name": UNKNOWN}}}, ["name"], id="a-part-of-it"),
            pytest.param({"name": "a", "labels": ["l", UNKNOWN]}, [], id="in-a-list"),
            pytest.param({"name": "a", "parts": {"x": {"count": UNKNOWN}}}, [], id="its-neighbour-missing"),
        ],
    )
    def test_unknown_inputs_cause_no_failure(self, news: Props, keys: list[str]) -> None:
        assert [key for key, _ in failures(news)] == keys

    @pytest.mark.parametrize("value", [UNKNOWN, {"name": UNKNOWN}, {"name": "p", "count": [{"a": UNKNOWN}]}])
    def test_an_unknown_member_is_left_out_of_its_mapping(self, value: object) -> None:
        parts = {"x": value, "y": {"name": "p"}}
        assert failures({"name": "log", "parts": parts}) == [("name", "was None, parts ['y']")]

    @pytest.mark.parametrize("value", [False, 0, None, [], {}])
    def test_an_empty_value_is_not_unknown(self, value: object) -> None:
        assert [key for key, _ in failures({"name": value})] == ["name"]


class TestOutputs:
    def test_outputs_repeat_inputs_except_large_secrets_and_keep_the_pickle(self) -> None:
        props = {"name": "a", "size": 9.0, "large": {"x": {"y": "canary"}}, "__provider": "pickle", "log": None}
        created = Things().create(props)
        outs = outs_of(created)
        assert created.id == "a"
        assert outs == {"name": "a", "size": 9.0, "__provider": "pickle", "log": outs["log"], "made": 0, "part": None}
        assert "canary" not in str(outs)

    def test_outputs_of_an_update_repeat_the_new_inputs(self) -> None:
        olds = {"name": "old", "ratio": 2.0, "log": ["a"], "made": 3.0, "__provider": "before"}
        outs = outs_of(Things().update("id", olds, {"name": "new", "large": {"x": {}}, "__provider": "pickle"}))
        assert outs == {"name": "new", "__provider": "pickle", "log": outs["log"], "made": 0, "part": None}
        assert outs["log"][1] == "ThingOuts(log=['a'], made=3, part=None)"

    @pytest.mark.parametrize(
        ("state", "outs"),
        [
            pytest.param({}, "ThingOuts(log=[], made=0, part=None)", id="missing"),
            pytest.param({"log": None, "made": None}, "ThingOuts(log=[], made=0, part=None)", id="null"),
            pytest.param({"made": 2.0, "dropped": 1}, "ThingOuts(log=[], made=2, part=None)", id="dropped"),
            pytest.param(
                {"part": {"name": "p", "count": 2.0}},
                "ThingOuts(log=[], made=0, part=Part(name='p', count=2))",
                id="nested",
            ),
            pytest.param(
                {"part": {"name": "p"}}, "ThingOuts(log=[], made=0, part=Part(name='p', count=1))", id="part"
            ),
        ],
    )
    def test_outputs_of_an_older_state_are_read(self, state: Props, outs: str) -> None:
        assert repr(Things().outs_of(state)) == outs
        assert outs_of(Things().update("id", {"name": "a", **state}, {"name": "a"}))["log"][1] == outs
        assert outs_of(Things().read("id", {"name": "a", **state}))["log"][1] == outs

    def test_a_refresh_keeps_the_inputs_and_adds_what_it_found(self) -> None:
        read = Things().read("id", {"name": "a", "made": 3.0, "__provider": "pickle"})
        outs = outs_of(read)
        assert (read.id, read.inputs) == ("id", None)
        assert outs == {"name": "a", "__provider": "pickle", "log": outs["log"], "made": 0, "part": None}

    def test_a_refresh_returns_inputs_if_the_provider_corrects_drift(self) -> None:
        """Issue 40, N9: the program names no outputs, so one that is as usual would be a change in each preview."""
        read = Drifting().read("id", {"name": "a", "made": 0, "part": None})
        assert read.inputs == {"name": "a", "log": outs_of(read)["log"]}
        assert outs_of(read).items() >= {"made": 0, "part": None}.items()

    def test_a_missing_object_has_an_empty_id(self) -> None:
        read = Things().read("id", {"name": "gone"})
        assert (read.id, read.outs) == ("", {})


class TestDiff:
    def test_diff_leaves_the_comparison_to_pulumis_engine(self) -> None:
        diff = Things().diff("id", {"name": "a", "size": 1}, {"name": "a", "size": 2})
        assert (diff.changes, diff.replaces, diff.delete_before_replace) == (None, [], True)

    def test_a_changed_name_replaces_the_resource(self) -> None:
        diff = Things().diff("id", {"name": "a", "color": "red"}, {"name": "b", "color": "red"})
        assert diff.replaces == ["name"]
        assert BootstrapVmProvider().diff("id", {"name": "a", "pool": "x"}, {"name": "b", "pool": "x"}).replaces == [
            "name"
        ]


class TestBegunAnew:
    """`up --replace` and `pulumi state taint`: no input changes, and Pulumi asks neither `diff` nor says why."""

    THING = {"name": "a", "urn": "urn:pulumi:prod::okd::Thing::okd-a"}

    def test_what_the_program_declares_is_not_deleted(self) -> None:
        things = Things()
        things.check({}, self.THING)
        with pytest.raises(ConfigError) as caught:
            things.delete("id", self.THING)
        assert str(caught.value).startswith(
            "okd-a: it would be deleted and made anew, as `--replace` or `pulumi state"
        )
        assert f"Fix: run `pulumi state untaint {self.THING['urn']}`, and `pulumi up` without" in str(caught.value)

    def test_what_a_change_replaces_or_nobody_declares_is_deleted(self) -> None:
        things, old = Things(), self.THING | {"name": "b"}
        with pytest.raises(OkdBaremetalError, match="ThingSpec"):
            things.delete("id", self.THING)
        things.check(old, self.THING)
        things.diff("id", old, self.THING)
        things.check({}, self.THING)
        with pytest.raises(OkdBaremetalError, match="ThingSpec"):
            things.delete("id", old)

    def test_what_ends_nothing_may_be_begun_anew(self) -> None:
        class Harmless(Provider[ThingSpec, ThingOuts]):
            """Deletes nothing."""

        Harmless().check({}, self.THING)
        Harmless().delete("id", self.THING)


class TestErrors:
    @pytest.mark.parametrize("error", [OkdBaremetalError("what", where="host", fix="do it"), AssetError("what")])
    def test_an_error_of_this_program_has_no_traceback(self, error: Exception) -> None:
        class Failing(Things):
            def _create(self, spec: ThingSpec) -> tuple[str, ThingOuts]:
                try:
                    raise KeyError("below")
                except KeyError as cause:
                    raise error from cause

        with pytest.raises(type(error)) as caught:
            Failing().create({"name": "a"})
        assert caught.value is error
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        assert sys.tracebacklimit == 0

    def test_a_defect_of_the_program_keeps_its_traceback(self) -> None:
        class Failing(Things):
            def _create(self, spec: ThingSpec) -> tuple[str, ThingOuts]:
                raise KeyError("defect") from ValueError("below")

        with pytest.raises(KeyError) as caught:
            Failing().create({"name": "a"})
        assert isinstance(caught.value.__cause__, ValueError)
        assert not hasattr(sys, "tracebacklimit")

    def test_an_error_has_where_what_and_fix(self) -> None:
        error = OkdBaremetalError("is Off, wanted On", where="https://bmc", fix="look at it")
        assert str(error) == "https://bmc: is Off, wanted On. Fix: look at it"
        assert error.faults == (Fault("https://bmc", "is Off, wanted On", "look at it"),)


@pytest.mark.parametrize("provider", [Things, BootstrapVmProvider, VipHeldProvider])
def test_a_provider_has_no_attributes_to_store_in_the_state(provider: type[Provider[Any, Any]]) -> None:
    assert vars(provider()) == {}
    assert provider.serialize_as_secret_always is False


def resolved(spec: Spec) -> dict[str, tuple[bool, Any]]:
    """Return for each input whether it is secret, and its value."""

    async def each() -> dict[str, tuple[bool, Any]]:
        inputs = {}
        for name, value in inputs_of(spec).items():
            if isinstance(value, pulumi.Output):
                inputs[name] = (await value.is_secret(), await value.future())
            else:
                inputs[name] = (False, value)
        return inputs

    return asyncio.run(each())


def test_an_input_that_holds_a_secret_at_any_depth_is_secret_as_a_whole() -> None:
    spec = ThingSpec(
        urn="urn",
        name="a",
        color=Color.BLUE,
        labels=("l", "m"),
        parts={"x": Part(name="p")},
        password=SecretStr("canary"),
        large={"w0": {"eth0": SecretStr("canary")}, "w1": {}},
    )
    inputs = resolved(spec)
    assert inputs == {
        "urn": (False, "urn"),
        "name": (False, "a"),
        "size": (False, 8),
        "ratio": (False, 0.5),
        "color": (False, "blue"),
        "labels": (False, ["l", "m"]),
        "parts": (False, {"x": {"name": "p", "count": 1}}),
        "password": (True, "canary"),
        "large": (True, {"w0": {"eth0": "canary"}, "w1": {}}),
    }
    assert type(inputs["color"][1]) is str, "an enumeration member must not reach the state"
    assert "canary" not in repr(spec)


class Secretive(Spec):
    models: tuple["Keyed", ...] = ()
    either: str | SecretStr = ""


class Keyed(BaseModel, frozen=True):
    key: SecretStr


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param(Secretive(), {"models": (False, []), "either": (False, "")}, id="nothing-secret"),
        pytest.param(
            Secretive(models=(Keyed(key=SecretStr("canary")),), either="plain"),
            {"models": (True, [{"key": "canary"}]), "either": (False, "plain")},
            id="in-a-model-in-a-list",
        ),
        pytest.param(
            Secretive(either=SecretStr("canary")),
            {"models": (False, []), "either": (True, "canary")},
            id="one-that-need-not-be",
        ),
    ],
)
def test_an_input_is_secret_only_if_it_holds_a_secret(spec: Spec, wanted: dict[str, tuple[bool, Any]]) -> None:
    assert resolved(spec) == {"urn": (False, ""), **wanted}
