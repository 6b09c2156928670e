"""DestroyGuard as a resource: its delete refuses, where Pulumi's own refusal is passed."""

import re

import pytest

from base.errors import ConfigError
from providers.destroy_guard.model import DestroyGuardSpec
from providers.destroy_guard.provider import DestroyGuardProvider
from providers.pulumi.dynamic import Props
from testing import plans


def props(phase: str, *, destroyable: bool) -> Props:
    return DestroyGuardSpec.of(plans.plan(phase=phase, destroyable=destroyable)).model_dump()


def test_it_is_not_deleted_in_production_unless_destroyable() -> None:
    provider = DestroyGuardProvider()
    guarded, unguarded = (props("production", destroyable=destroyable) for destroyable in (False, True))
    fix = "run `pulumi config set destroyable true && pulumi up`, then `pulumi destroy`"
    with pytest.raises(ConfigError, match=f"okd: the cluster is in production and not destroyable.*{re.escape(fix)}"):
        provider.delete("okd", provider.create(guarded).outs or {})
    provider.delete("okd", provider.update("okd", guarded, unguarded).outs or {})
    provider.delete("okd", props("bootstrap", destroyable=False))
