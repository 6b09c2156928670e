"""The URNs that resources are given as an input, against those of the real engine."""

import json
from pathlib import Path

from testing.previews import fresh

THREE_CLUSTERS = """
from pathlib import Path

import pulumi

from boot_media.keyfiles import keyfiles_of
from cluster.stack_file import read_stack_file
from cluster.plan import load_plan
from components.cluster import Cluster, ClusterArgs

options = read_stack_file(Path("stacks/Pulumi.rehearsal.yaml"))
plan = load_plan(Path("stacks/rehearsal/install-config.yaml"), options, keyfiles_of)
site = pulumi.ComponentResource("acme:index:Site", "site")
below = {"okd": None, "two": None, "three": pulumi.ResourceOptions(parent=site)}
for name, opts in below.items():
    Cluster(name, ClusterArgs(plan.changed(name=name)), opts)
"""


def test_each_urn_input_is_the_engines_urn_also_below_a_foreign_component(tmp_path: Path) -> None:
    project = fresh(tmp_path)
    (project.program / "__main__.py").write_text(THREE_CLUSTERS)
    planned = [step["newState"] for step in json.loads(project.pulumi("preview", "--json"))["steps"]]
    given = {each["urn"]: each["inputs"]["urn"] for each in planned if each.get("inputs", {}).get("urn")}
    assert len(given) == 3 * 11
    assert given == {urn: urn for urn in given}
    rollouts = [each["inputs"] for each in planned if each["urn"].endswith("-control-plane") and each["custom"]]
    servers = {urn for urn in given if "BmcHost" in urn}
    rows = {urn for rollout in rollouts for urn in rollout["rows"].values()}
    assert len(rows) == 3 * 3
    assert rows <= servers
    assert (
        "urn:pulumi:rehearsal::okd-baremetal::acme:index:Site$baremetal:cluster:Cluster$baremetal:servers:Servers"
        "$pulumi-python:dynamic/baremetal:BmcHost::three-okd-master-0" in rows
    )
