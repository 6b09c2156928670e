"""Machines that are mixed up, renamed, replaced or gone, with the real engine and BMCs that answer over loopback."""

import copy
import re
import shlex

from testing.fakes.emulator import Emulator
from testing.project import MACHINES, NAMES, Project
from testing.pulumi_env import edited_resources

FIRST, SECOND, THIRD = MACHINES
AT_ONCE = ("--yes", "--skip-preview")


def exchange(project: Project, *inputs: str) -> None:
    """Exchange inputs of both hosts."""
    one, other = project.site["hosts"].values()
    for name in inputs:
        one[name], other[name] = other[name], one[name]


def fixes_in(text: str, command: str) -> list[list[str]]:
    """Return the words of each command of `pulumi` that begins so, behind its name, in the fixes of a run."""
    found = {(*shlex.split(each),) for each in re.findall(rf"`pulumi ({command} [^`]+)`", text)}
    return sorted(map(list, found))


def mixed_up_ones_are_left_and_a_replaced_one_has_to_be_off(project: Project, bmc: Emulator) -> None:
    """Cases P25: exchanged addresses, and consents as a fix once proposed; P24: two machines would have one name."""
    since, hosts = len(bmc.writes), copy.deepcopy(project.site["hosts"])

    exchange(project, "bmc_url")
    mixed_up = project.pulumi("up", *AT_ONCE, fails=True)
    assert "exchange the bmc.address of okd-master-0 and okd-master-1, and leave their consents" in mixed_up
    exchange(project, "consent")
    refused = project.pulumi("preview", fails=True)
    command = f"pulumi config set --path 'consent.okd-master-0' {FIRST}"
    assert f"give okd-master-0 the bmc.address of its own machine, and its consent: {command}" in refused
    assert "Traceback" not in refused

    # The fix, beside a server that is to be replaced.
    project.site["hosts"] = hosts
    hosts["okd-master-1"] |= {"bmc_url": bmc.address(THIRD), "consent": THIRD, "address": bmc.api(THIRD)}
    refused = project.pulumi("up", *AT_ONCE, fails=True)
    assert f"UUID {SECOND}" in refused
    assert "still runs with the name and the addresses of okd-master-1; nothing was changed" in refused
    assert "okd-master-0:" not in refused
    assert bmc.writes[since:] == []
    bmc.guest.systems.set_power_state(SECOND, "ForceOff")
    project.pulumi("up", *AT_ONCE)
    assert [bmc.writes_to(uuid, since) for uuid in (FIRST, SECOND)] == [[], []]
    assert bmc.guest.installs == dict.fromkeys(MACHINES, 1)


def a_destroy_without_their_bmcs_ends_by_the_fixes_of_its_errors(project: Project, bmc: Emulator) -> None:
    """Case P5: neither `up` nor `destroy` ended without a BMC; one is elsewhere now, the other one is gone."""
    with edited_resources(project.folder) as resources:
        for resource in resources:
            if resource["urn"].partition("BmcHost::")[2] in NAMES:
                for side in ("inputs", "outputs"):
                    resource[side]["deadline_s"] = 2
                    bmc_of = resource[side]["bmc"]
                    bmc_of["address"] = bmc_of["address"].replace(f":{bmc.port}/", ":1/")
    refused = project.pulumi("destroy", *AT_ONCE, fails=True)
    (elsewhere, _), (_, gone) = fixes_in(refused, "up --target"), fixes_in(refused, "state delete")
    assert (elsewhere[2][-12:], gone[2][-12:]) == (*NAMES,)
    since = len(bmc.writes)
    project.pulumi(*elsewhere, *AT_ONCE)
    assert bmc.writes[since:] == []
    project.pulumi(*gone, "--yes")
    project.pulumi("destroy", *AT_ONCE)
    assert [bmc.guest.systems.get_power_state(uuid) for uuid in (FIRST, THIRD)] == ["Off", "On"]


def test_machines_are_mixed_up_replaced_and_given_up_without_their_bmcs(project: Project, bmc: Emulator) -> None:
    project.pulumi("up", *AT_ONCE)
    mixed_up_ones_are_left_and_a_replaced_one_has_to_be_off(project, bmc)
    a_destroy_without_their_bmcs_ends_by_the_fixes_of_its_errors(project, bmc)


def test_one_machine_behind_two_spellings_is_not_written_to(project: Project, bmc: Emulator) -> None:
    """Cases C1 and C2: two hosts would fight over one server."""
    since, hosts = len(bmc.writes), project.site["hosts"]
    hosts["okd-master-1"]["bmc_url"] = hosts["okd-master-0"]["bmc_url"].replace("127.0.0.1", "localhost")
    hosts["okd-master-1"] |= {"consent": FIRST, "trust": {"verify": False}}  # its certificate is for the address only
    text = project.pulumi("up", *AT_ONCE, fails=True)
    assert "its BMC and that of okd-master-1 lead to one machine" in text
    assert bmc.writes[since:] == []


def test_a_run_that_asks_nobody_takes_over_no_server_that_runs(project: Project, bmc: Emulator) -> None:
    """As a node that a restored state does not know: `Machines` and `ClusterPower` are no part of such a run."""
    project.pulumi("up", *AT_ONCE, "--target", "**::machines")
    alone, since = ("up", *AT_ONCE, "--target", "**BmcHost::okd-master-0"), len(bmc.writes)
    refused = project.pulumi(*alone, fails=True)
    assert (
        "it runs, and may be a node, for which a run with --target or --exclude asks nobody; nothing was changed"
        in refused
    )
    assert (bmc.writes[since:], bmc.guest.systems.get_power_state(FIRST)) == ([], "On")
    bmc.guest.systems.set_power_state(FIRST, "ForceOff")
    project.pulumi(*alone)
    assert project.outputs("okd-master-0")["uuid"] == FIRST
