"""A preview is read without URNs and secrets; what is none is refused."""

import json
from typing import Any

import pytest
from pulumi.runtime import rpc

from base.errors import ConfigError
from base.spec import SECRET_OUTPUT, Spec, marked, secret_inputs
from review.document import page_of
from review.html import html
from review.markdown import markdown
from review.preview import FIX, SECRETS, SIGNATURE, UNKNOWN, read_preview
from testing import plans
from testing.preview_steps import bmc_host, file, handoff, installation, preview, printed, records, step, step_of
from testing.specs import provider_classes

PLAN = plans.plan()
M0, M1, *_ = plans.HOSTS
CANARY = "hunter2-canary"
WRAPPED = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps(CANARY)}


def test_the_marks_are_those_of_the_engine() -> None:
    assert rpc.UNKNOWN == UNKNOWN
    assert rpc._special_sig_key == SIGNATURE


def test_every_secret_of_a_resource_is_known_as_one() -> None:
    """A file's text is secret or not by its content; the engine masks it then."""
    found = {
        name
        for provider in provider_classes()
        for name in (*secret_inputs(provider.spec), *marked(provider.outs, SECRET_OUTPUT))
    }
    assert found == SECRETS | {"text"}


@pytest.mark.parametrize("given", [CANARY, {"m0": CANARY}, {"m0": {"file": CANARY}}, WRAPPED, {"m0": WRAPPED}])
def test_no_secret_comes_out_however_it_came_in(given: Any) -> None:
    def with_secrets(spec: Spec) -> dict[str, Any]:
        """Return the inputs as an engine prints them that does not mask."""
        inputs = printed(spec)
        return inputs | dict.fromkeys(secret_inputs(type(spec)), given)

    old, new = printed(installation(PLAN)), with_secrets(installation(PLAN))
    outs = records(PLAN, M0).props()
    host, handed = bmc_host(PLAN, M0), printed(handoff(PLAN))
    text = preview(
        step_of("update", "HostProvisioning", "okd-a", old, new, outs=outs),
        step_of("update", "HostProvisioning", "okd-b", new, old, outs=outs | new),
        step_of("create", "HostProvisioning", "okd-c", None, new),
        step_of("update", "BmcHost", f"okd-{M0}", printed(host), with_secrets(host)),
        step_of("update", "VipHandoff", "okd-api", handed, {**handed, "soak_s": 5}, outs={"kubeconfig": given}),
        step_of("delete", "BmcHost", f"okd-{M1}", with_secrets(bmc_host(PLAN, M1)), None),
        step_of("update", "Volume", "okd-v", {"source": WRAPPED}, {"source": {"url": WRAPPED}}),
        bmc_credentials={"m0": {"password": given}},
        pull_secret=given,
    )
    page = page_of(read_preview(text, ""), "prod")
    for written in (markdown(page), html(page), repr(page)):
        assert CANARY not in written
    assert "| `password` | secret | secret | okd-okd-master-0 |" in markdown(page)


def test_a_wrapped_text_of_a_file_is_a_secret() -> None:
    steps = [file("hosts/m0", "/etc/k", "a\n", "b\n"), file("hosts/m1", "/etc/k", None, "b\n")]
    for each in steps:
        each["newState"]["inputs"]["text"] = WRAPPED
    written = markdown(page_of(read_preview(preview(*steps), ""), "prod"))
    assert CANARY not in written
    assert written.count("secret, so its lines are not shown") == 2


def test_no_urn_comes_out() -> None:
    old = printed(installation(PLAN))
    text = preview(
        step_of("update", "HostProvisioning", "okd-a", old, {**old, "rows": {M0: "urn:pulumi:x"}}),
        file("control-plane", "/etc/a", "1\n", "2\n"),
    )
    assert "urn:pulumi" in text
    page = page_of(read_preview(text, ""), "prod")
    assert "urn:pulumi" not in markdown(page) + html(page)


def test_options_are_read_as_json_or_as_text() -> None:
    found = read_preview(preview(consent={"m0": "1"}, phase="bootstrap", destroyable="true"), "").options
    assert found == {"consent": {"m0": "1"}, "phase": "bootstrap", "destroyable": True}


def test_components_and_what_stays_are_no_steps() -> None:
    component = {"op": "create", "urn": "urn:pulumi:s::p::baremetal:cluster:Cluster$baremetal:files:Files::okd"}
    same = step("same", f"okd-{M0}", bmc_host(PLAN, M0), bmc_host(PLAN, M0))
    assert read_preview(preview(component, same), "").steps == ()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"steps": 1}', "null"])
def test_what_is_no_preview_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_preview(text, "a.json")
    assert str(refused.value) == f"a.json: no output of `pulumi preview --json`. Fix: {FIX}"


def test_a_preview_that_failed_is_refused_with_its_lines() -> None:
    errors = [
        {"severity": "error", "message": "error: config: consent.m0: missing\nconfig: media: missing\n"},
        {"severity": "info", "message": "not shown"},
    ]
    with pytest.raises(ConfigError) as refused:
        read_preview(preview(diagnostics=errors), "a.json")
    assert str(refused.value).splitlines() == [
        "a.json: the preview failed: config: consent.m0: missing",
        "a.json: the preview failed: config: media: missing",
    ]


# As pulumi/pulumi v3.259 has them in pkg/resource/deploy: step.go and step_generator.go.
DELETED = (
    'error: resource "{0}" cannot be deleted\nbecause it is protected. To unprotect the resource, either remove the '
    "`protect` flag from the resource in your Pulumi program and run `pulumi up`, or use the command:\n"
    "`pulumi state unprotect '{0}'`\n"
)
REPLACED = (
    'error: unable to replace resource "{0}"\nas it is currently marked for protection. To unprotect the resource, '
    "remove the `protect` flag from the resource in your Pulumi program and run `pulumi up`\n"
)


@pytest.mark.parametrize("said", [DELETED, REPLACED], ids=["delete", "replace"])
def test_pulumis_advice_to_unprotect_is_not_repeated(said: str) -> None:
    """Issue 40, 10: in a comment on a pull request it read as advice of this program, and gave the server up."""
    urn = step("delete", f"okd-{M1}", bmc_host(PLAN, M1), None)["urn"]
    errors = [{"severity": "error", "message": said.format(urn)}]
    with pytest.raises(ConfigError) as refused:
        read_preview(preview(diagnostics=errors), "a.json")
    assert str(refused.value) == (
        f"a.json: the preview failed: BmcHost okd-{M1}: it would be deleted, but its cluster is in production and "
        "not destroyable. Fix: undo the change that removes it; if it is to go, set destroyable to true in an update "
        "before (docs/how-to/day-two.md)"
    )


def test_a_note_is_no_failure() -> None:
    assert read_preview(preview(diagnostics=[{"severity": "info", "message": "x"}]), "").steps == ()
