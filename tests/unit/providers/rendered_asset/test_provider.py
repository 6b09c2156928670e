"""A rendered file as a resource: checked by its reader, identified by its path and digest."""

from typing import Any

import pytest

from base.errors import AssetError
from providers.rendered_asset.model import RenderedAssetSpec
from providers.rendered_asset.provider import RenderedAssetProvider
from testing.refusals import refusals

SCRIPT = {"path": "/usr/local/bin/x.sh", "mode": "0755", "reader": "bash", "text": "echo x\n"}
SHA256 = "641da915aff92d2166ad038a3cf184f73b47a8b3f5a508bad472ec531d8423a7"
BROKEN = {**SCRIPT, "text": "if true\n"}


def test_a_file_is_identified_by_its_path_and_digest() -> None:
    created = RenderedAssetProvider().create(dict(SCRIPT))
    assert created.id == "/usr/local/bin/x.sh"
    assert created.outs == {**SCRIPT, "sha256": SHA256}
    changed = RenderedAssetProvider().update("x", {**SCRIPT, "text": "true\n"}, dict(SCRIPT))
    assert changed.outs == {**SCRIPT, "sha256": SHA256}


@pytest.mark.parametrize("step", ["create", "update"])
def test_a_file_that_its_reader_refuses_ends_the_run(step: str) -> None:
    provider = RenderedAssetProvider()
    with pytest.raises(AssetError, match=r"^/usr/local/bin/x\.sh: bash refuses it: .*syntax error"):
        provider.create(dict(BROKEN)) if step == "create" else provider.update("x", dict(SCRIPT), dict(BROKEN))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        pytest.param({"reader": "a-reader"}, "reader", id="no-such-reader"),
        pytest.param({"text": None}, "text", id="no-text"),
    ],
)
def test_malformed_inputs_are_refused_first(change: dict[str, Any], key: str) -> None:
    assert {name for name, _ in refusals(RenderedAssetProvider().check({}, {**SCRIPT, **change}))} == {key}


def test_the_text_of_a_file_is_never_printed() -> None:
    spec = RenderedAssetSpec.model_validate({**SCRIPT, "text": "hunter2"})
    assert spec.plain == "hunter2"
    assert "hunter2" not in repr(spec)
