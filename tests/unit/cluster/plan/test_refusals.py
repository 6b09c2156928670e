"""The base ISOs that a plan wants: one for each architecture of its servers."""

from typing import Any

import pytest

from providers.base.errors import ConfigError
from testing import plans
from testing.install_configs import all_of_arm64, arm64
from testing.plan_files import Files, addresses

WEB = "https://web.example.com/isos"


def test_each_architecture_of_servers_needs_its_base_iso(files: Files) -> None:
    of_arm64 = (
        "config: media.base_iso_arm64.sha256: missing, and servers are of arm64. "
        "Fix: name the SHA-256 of CoreOS' live ISO of arm64"
    )
    assert files.refused_plan(arm64) == [of_arm64]
    media = {"url": WEB, "base_iso_arm64": plans.BASE_ISO}
    assert files.plan(all_of_arm64, media=media).options.media.base_iso is None
    with pytest.raises(ConfigError, match=r"^config: media\.base_iso\.sha256: missing, and servers are of amd64"):
        files.plan(arm64, media=media)


def test_a_pool_without_servers_needs_no_base_iso(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        arm64(config)
        config["compute"][0]["replicas"] = 0

    consent = {name: "x" for name in plans.HOSTS[:3]}
    named = {name: found for name, found in addresses().items() if "master" in name}
    assert files.plan(change, consent=consent, node_addresses=named).options.media.base_iso_arm64 is None
