"""Settings of a valid plan that cannot be installed yet: one line each, with the field's path."""

from typing import Any

import pytest
import yaml

from cluster.install_config import read
from cluster.plan.refusals import not_installable
from providers.base.errors import Fault
from testing import clusters, plans
from testing.install_configs import Change, host
from testing.plan_files import Files

BARE = "platform.baremetal"
ONLY = (
    "only IPv4 has been installed from end to end so far. "
    "Fix: write one of IPv4, or render the files only, with `okd-baremetal render`"
)


def refusals(change: Change) -> list[Fault]:
    config = plans.install_config()
    change(config)
    return list(not_installable(read(yaml.safe_dump(config)).config))


NOT_YET = ("ipv6", "dual-stack")


@pytest.mark.parametrize("name", [each for each in clusters.VARIANTS if each not in NOT_YET])
def test_every_choice_of_a_stack_can_be_installed(name: str) -> None:
    assert refusals(clusters.VARIANTS[name].change) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c, 1).pop("rootDeviceHints"), id="no-hint"),
        pytest.param(lambda c: host(c, 1)["rootDeviceHints"].update(vendor="ATA", rotational=False), id="several"),
        pytest.param(lambda c: host(c, 1).update(rootDeviceHints={"wwnVendorExtension": "0x1"}), id="another"),
        pytest.param(lambda c: host(c, 1).update(bootMode="UEFISecureBoot"), id="secure-boot"),
    ],
)
def test_any_disk_and_boot_mode_can_be_installed(change: Change) -> None:
    assert refusals(change) == []


@pytest.mark.parametrize(
    ("change", "options", "lines"),
    [
        pytest.param(
            clusters.dual_stack,
            clusters.VARIANTS["dual-stack"].options,
            [
                f"{BARE}.apiVIPs: 192.168.111.5, fd2e::5: {ONLY}",
                f"{BARE}.ingressVIPs: 192.168.111.4, fd2e::4: {ONLY}",
            ],
            id="dual-stack",
        ),
        pytest.param(
            clusters.ipv6,
            clusters.VARIANTS["ipv6"].options,
            [f"{BARE}.apiVIPs: fd2e::5: {ONLY}", f"{BARE}.ingressVIPs: fd2e::4: {ONLY}"],
            id="ipv6",
        ),
    ],
)
def test_a_setting_that_cannot_be_installed_is_refused(
    files: Files, change: Change, options: dict[str, Any], lines: list[str]
) -> None:
    assert files.refused_plan(change, **options) == [f"FILE: {line}" for line in lines]
    assert files.intent(change, plans.options(**options)).servers
