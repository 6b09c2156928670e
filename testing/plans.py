"""The rehearsal's plan, from the committed stack, with made-up digests."""

import copy
import json
from functools import cache
from ipaddress import IPv4Address
from typing import Any

import yaml

from base.yaml_text import yaml_of
from boot_media.keyfiles import keyfiles_of
from cluster.plan import ClusterPlan, Intent, load_intent, load_plan
from cluster.stack_file import read_stack_file
from testing.checkout import ROOT

STACK = "rehearsal"
INSTALL_CONFIG = ROOT / "stacks" / STACK / "install-config.yaml"
STACK_CONFIG = ROOT / "stacks" / f"Pulumi.{STACK}.yaml"
PROJECT = "okd-baremetal"

PAYLOAD = {"bootstrap": "b0" * 32, "master": "a1" * 32, "worker": "c2" * 32}
BASE_ISO = {"sha256": "d3" * 32}
HOSTS = ("okd-master-0", "okd-master-1", "okd-master-2", "okd-worker-0", "okd-worker-1")
CONSENT = {name: f"SERIAL-{name}" for name in HOSTS}


def install_config() -> dict[str, Any]:
    """Return a copy of the rehearsal's install-config."""
    return copy.deepcopy(_install_config())


@cache
def _install_config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(INSTALL_CONFIG.read_text())
    return loaded


def written(config: dict[str, Any]) -> str:
    """Return a config as YAML."""
    return yaml_of(config)


def options(**changes: Any) -> dict[str, Any]:
    """Return the rehearsal's options, with made-up values for those that a rehearsal sets, and with `changes`."""
    plain = _stack_file()
    media = {**plain["media"], "base_iso": BASE_ISO}
    return copy.deepcopy(
        {**plain, "media": media, "payload": PAYLOAD, "consent": CONSENT, "bmc_ca": "a PEM", **changes}
    )


@cache
def _stack_file() -> dict[str, Any]:
    return read_stack_file(STACK_CONFIG)


def plan(**changes: Any) -> ClusterPlan:
    """Return the rehearsal's plan, with changed options; for the same ones the same plan, since plans are frozen."""
    return _plan(json.dumps(changes))


@cache
def _plan(changes: str) -> ClusterPlan:
    return load_plan(INSTALL_CONFIG, options(**json.loads(changes)), keyfiles_of)


def intent(stack: dict[str, Any] | None = None) -> Intent:
    """Return the intent of the rehearsal's install-config, without or with the options of a stack."""
    return load_intent(INSTALL_CONFIG, stack)


def five_masters(base: ClusterPlan) -> ClusterPlan:
    """Return a plan with the largest control plane that is allowed."""
    last = base.control_plane[-1]
    more = [
        last.changed(name=f"okd-master-{number}", addresses=(IPv4Address(f"192.168.111.{30 + number}"),))
        for number in (3, 4)
    ]
    return base.changed(hosts=(*base.hosts, *more))
