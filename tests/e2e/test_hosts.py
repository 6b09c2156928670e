"""The real Pulumi engine, this program's providers, and sushy-tools' emulator with its fake driver, over loopback."""

import base64
import hashlib
import json
import re
import socket
import ssl
import threading
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assets.contract import KUBELET_PORT
from testing.fakes.emulator import PASSWORD, SECOND_PASSWORD, SECOND_USER, USER, Emulator
from testing.fakes.web_hook import web_hook
from testing.project import COMMAND_S, CROWD, MACHINES, NAMES, ROLE, Project, eventually, host_of, texts
from testing.pulumi_env import forget, resources_of
from testing.server_under_test import server
from wires.bmc.access import BmcAccess
from wires.redfish.capture.tree import BmcCapture

THIRD = "33333333-3333-4333-8333-333333333333"
INSTALLED = ["Reset", "InsertMedia", "Boot", "Reset", "EjectMedia", "Boot", "Reset"]
"""Writes to a server that was running: Off, media, Cd, On; after the installation: eject, Hdd, On."""
INTERRUPTED = ["Reset", "EjectMedia", "InsertMedia", "Reset", "EjectMedia", "Boot", "Reset"]
"""Writes to a server that an earlier run booted from media."""
STEPS = (
    "media",
    "starting the installer",
    "installing from ISO",
    "withdrawing the boot ISO",
    "booting from disk",
    "installed",
)
AT_ONCE = ("--yes", "--skip-preview")
SECRETS = ("content-of-ours", "content-of-a-keyfile", "content-of-another-keyfile", "Authorization", "Basic ")


def secrets_of(state: dict[str, Any]) -> dict[str, set[str]]:
    """Return the names of the inputs and outputs of a resource that are stored as ciphertext."""
    return {
        part: {name for name, value in state[part].items() if isinstance(value, dict) and "ciphertext" in value}
        for part in ("inputs", "outputs")
    }


def hosts_of(bmc: Emulator, number: int, *roles: str) -> dict[str, dict[str, Any]]:
    """Return the first servers of the emulator as hosts `okd-0` and on, with each role in turn."""
    each = zip([*MACHINES, *CROWD][:number], cycle(roles or ("control-plane",)), strict=False)
    return {
        f"okd-{index}": host_of(bmc.address(uuid), uuid, bmc.api(uuid), role)
        for index, (uuid, role) in enumerate(each)
    }


def stored_once(project: Project) -> None:
    """The state has secrets as ciphertext, the files of each host once, and no key of the media server."""
    state = project.state("control-plane")
    assert secrets_of(state) == {"inputs": {"passwords", "ours", "keyfiles"}, "outputs": {"passwords"}}
    assert not {"ours", "keyfiles"} & state["outputs"].keys()
    opened = project.pulumi("stack", "export", "--show-secrets")
    assert opened.count("content-of-ours") == opened.count("content-of-a-keyfile") == len(NAMES)
    assert "PRIVATE" not in opened


def both_are_installed(project: Project, bmc: Emulator) -> None:
    """Install the hosts: one boots with Secure Boot, the BMC of the other one verifies the media server."""
    over_tls = NAMES["okd-master-1"]
    bmc.guest.systems.set_boot_device(over_tls, "Pxe")
    project.site["hosts"]["okd-master-0"]["trust"] = {"boot_mode": "UEFISecureBoot"}
    project.site["over_tls"] = ["okd-master-1"]
    shown = project.pulumi("up", *AT_ONCE)
    outs = project.outputs("control-plane")
    for name, uuid in NAMES.items():
        assert re.search(rf"baremetal:BmcHost {name} .*installed: \d+ s spent", shown)
        assert bmc.guest.installs[uuid] == 1
        assert {"media", "installing from ISO", "booting from disk"} <= outs["steps"][name].keys()
        assert outs["requests"][name] > len(INSTALLED)
    assert [project.outputs(name)["found"]["secure_boot"] for name in NAMES] == ["off", ""]
    assert [bmc.guest.systems.get_secure_boot(uuid) for uuid in NAMES.values()] == [True, False]
    drive = f"/redfish/v1/Systems/{over_tls}/VirtualMedia/Cd"
    insert, eject = (f"POST {drive}/Actions/VirtualMedia.{verb}Media" for verb in ("Insert", "Eject"))
    assert [line for line in bmc.writes if drive in line] == [
        *(f"POST {drive}/Certificates", f"PATCH {drive}", insert),
        *(f"DELETE {drive}/Certificates/Default", f"PATCH {drive}", eject),
    ]
    assert not bmc.verifies_media(over_tls)
    assert not [secret for secret in (PASSWORD, *SECRETS) if secret in shown]


def the_run_has_logged_each_server(project: Project) -> None:
    (up,) = project.logs()
    for name in NAMES:
        steps = texts(up, name, "step", "end")
        assert [word for word in STEPS if any(step.startswith(word) for step in steps)] == [*STEPS]
        inserted = re.compile(r"\S+ POST \S+/VirtualMedia.InsertMedia: HTTP 20\d, \d")
        assert len([*filter(inserted.match, texts(up, name, "redfish"))]) == 1
        resources = {line["resource"] for line in up if line.get("machine") == name}
        assert resources == {"Machines::machines", f"BmcHost::{name}", "HostProvisioning::control-plane"}


def no_run_without_work_has_a_log(project: Project, bmc: Emulator) -> None:
    logs, asked, host = len(project.logs()), len(bmc.requests), project.site["hosts"]["okd-master-0"]
    project.pulumi("up", *AT_ONCE, "--expect-no-changes")
    consent, host["consent"] = host["consent"], ""
    refused = project.pulumi("up", *AT_ONCE, fails=True)  # its check refuses it, before any work
    assert "pulumi config set --path 'consent.okd-master-0' <UUID>" in refused
    assert bmc.requests[asked:] == []
    assert len(project.logs()) == logs
    host["consent"] = consent


def what_others_change_is_told_and_left(project: Project, bmc: Emulator) -> None:
    """Someone changes both hosts, and the same run gives them other files, and one another way to boot."""
    bmc.guest.systems.set_boot_device(NAMES["okd-master-0"], "Pxe")
    bmc.guest.systems.set_power_state(NAMES["okd-master-1"], "ForceOff")
    project.site["roles"]["control-plane"] = {**ROLE, "ours": ROLE["ours"] + " "}
    project.site["hosts"]["okd-master-1"]["trust"] = {"boot_mode": "UEFISecureBoot"}
    # A refresh has the options of the `up` before.
    refreshed = project.pulumi("up", *AT_ONCE, "--refresh", "--config", "power=off")
    assert "changed by someone else: boot override Pxe Continuous, found Hdd Continuous" in refreshed
    assert re.search("okd-master-1 .*power Off; virtual CD empty", refreshed)
    assert "installed, but off: okd-master-1\n" in refreshed
    assert [project.outputs(name)["found"]["secure_boot"] for name in NAMES] == ["off", "off"]
    stored_once(project)
    asleep = project.pulumi("up", *AT_ONCE, "--refresh", "--expect-no-changes", "--config", "power=off")
    assert "installed, but off" not in asleep


def test_hosts_are_installed_refreshed_changed_and_destroyed(project: Project, bmc: Emulator) -> None:
    """The state stores the files of hosts once, whatever run wrote it, and each server is left as it was found.

    No log and no page has a secret, the digest of a boot ISO among them.

    Attack S9: the emulator downloads the ISO at the insert, and verifies as requests does.
    """
    secure, over_tls = NAMES.values()
    both_are_installed(project, bmc)
    the_run_has_logged_each_server(project)
    stored_once(project)
    isos = {each["iso_sha256"] for each in project.outputs("control-plane")["installed"].values()}
    assert len(isos) == len(NAMES)
    no_run_without_work_has_a_log(project, bmc)
    written = {uuid: bmc.writes_to(uuid) for uuid in NAMES.values()}
    assert written == {
        secure: [*INSTALLED[:2], "SecureBoot", *INSTALLED[2:]],
        over_tls: ["Reset", "Certificates", "Cd", *INSTALLED[1:4], "Default", "Cd", *INSTALLED[4:]],
    }
    settled = project.pulumi("up", *AT_ONCE, "--refresh", "--expect-no-changes")
    assert re.search("okd-master-0 .*power On; virtual CD empty; boot override Hdd Continuous", settled)
    assert "changed by someone else" not in settled
    stored_once(project)
    assert len(project.logs()) == 2, "a refresh has a log"
    what_others_change_is_told_and_left(project, bmc)
    stored_once(project)
    assert {uuid: bmc.writes_to(uuid) for uuid in NAMES.values()} == written

    logs = len(project.logs())
    shown = project.pulumi("destroy", *AT_ONCE)
    assert len(project.logs()) == logs + 1
    eventually(lambda: all(part in project.report() for part in ("delete", *NAMES)))
    for name, uuid in NAMES.items():
        assert bmc.guest.systems.get_power_state(uuid) == "Off"
        assert bmc.guest.systems.get_boot_device(uuid) == ("Pxe" if name == "okd-master-1" else "Hdd")
        assert not bmc.guest.systems.get_boot_image(uuid, "Cd")[0]
    assert bmc.writes_to(secure)[-1] == "SecureBoot"
    assert not bmc.guest.systems.get_secure_boot(secure)
    shown += json.dumps(project.logs(), ensure_ascii=False) + project.report()
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert not [secret for secret in (PASSWORD, basic, *isos, *SECRETS) if secret in shown]


def test_a_server_is_installed_through_the_capture_of_sushy_tools(tmp_path: Path, bmc: Emulator) -> None:
    bmc.reset()
    uuid, since = NAMES["okd-master-0"], len(bmc.writes)
    access = BmcAccess(address=bmc.address(uuid), username=USER, ca=bmc.authority.pem)
    client = BmcCapture(access, SecretStr(PASSWORD))
    text = json.dumps(client.tree(lambda _: None))
    client.close()
    assert (bmc.writes[since:], uuid in text) == ([], False)
    file = tmp_path / "capture.json"
    file.write_text(text)
    with server(tmp_path, str(file)) as it:
        it.uuid = it.bmc().identity().uuid
        it.from_start_to_end()
        assert it.is_installed()


def a_killed_run_is_told(project: Project, bmc: Emulator) -> None:
    bmc.guest.may_end.clear()
    with web_hook() as hook:
        project.pulumi("config", "set", "--secret", "okd-baremetal:notify_url", hook.url)
        with project.start("up", *AT_ONCE) as killed:
            eventually(lambda: set(bmc.guest.reads) == set(NAMES.values()) and min(bmc.guest.reads.values()) > 1)
            killed.kill()
        eventually(lambda: project.noticed() != [])
    assert [notice["result"] for notice in hook.notices] == ["killed"], project.noticed()
    (lines,) = project.logs()
    for name in NAMES:
        assert texts(lines, name, "step")[-1].startswith("installing from ISO")


def the_next_run_completes_it(project: Project, bmc: Emulator) -> dict[str, Any]:
    """Return the records of the installations."""
    project.pulumi("cancel", "--yes")
    before = len(bmc.writes)
    with project.start("up", *AT_ONCE) as second:
        # The installers were running, so each server is switched off and on again, before its first one may end.
        again = INTERRUPTED[: INTERRUPTED.index("Reset", 1) + 1]
        eventually(lambda: all(bmc.writes_to(uuid, before) == again for uuid in NAMES.values()))
        bmc.guest.may_end.set()
        assert second.wait(COMMAND_S) == 0
    for uuid in NAMES.values():
        assert bmc.writes_to(uuid, before) == INTERRUPTED
        assert bmc.guest.installs[uuid] == 1
        assert bmc.guest.is_ready(uuid)
    record: dict[str, Any] = project.outputs("control-plane")["installed"]
    assert record.keys() == NAMES.keys()
    return record


def test_a_killed_run_is_told_completed_and_recorded_again(project: Project, bmc: Emulator) -> None:
    """The way back of recover.md: the servers run, and their HostProvisioning has left the state, as in a destroy."""
    a_killed_run_is_told(project, bmc)
    record = the_next_run_completes_it(project, bmc)
    since = len(bmc.writes)
    forget(project.folder, "::control-plane")
    assert re.search(r"\+ 1 created\n +\d+ unchanged\n", project.pulumi("up", *AT_ONCE))
    assert bmc.writes[since:] == []
    assert {bmc.guest.installs[uuid] for uuid in NAMES.values()} == {1}
    again = project.outputs("control-plane")["installed"]
    assert {host: done["uuid"] for host, done in again.items()} == {host: it["uuid"] for host, it in record.items()}


def test_wrong_fingerprints_and_passwords_are_reported_at_once(project: Project, bmc: Emulator) -> None:
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"trust": {"fingerprint": "ab" * 32}}, "bmc_trust"),
        ({"password": "wrong-of-somebody"}, "HTTP 401, the BMC refuses the credentials"),
    )
    made = hosts_of(bmc, len(wrong))
    hosts = {name: made[name] | change for name, (change, _) in zip(made, wrong, strict=True)}
    project.site |= {"roles": {}, "hosts": hosts}
    text = project.pulumi("up", *AT_ONCE, fails=True)
    for uuid, (_, message) in zip(MACHINES, wrong, strict=False):
        assert any(uuid in line and message in line for line in text.splitlines()), message
    assert "wrong-of-somebody" not in text
    assert 'File "' not in text


def test_installed_servers_are_never_written_to_again(project: Project, bmc: Emulator) -> None:
    """Change everything that may change on installed hosts of both roles; then add a host to each, and move BMCs."""
    made = hosts_of(bmc, 6, "control-plane", "compute")
    *installed, third, other = made
    project.site["hosts"] = {name: made[name] for name in installed}
    project.site["roles"] = dict.fromkeys(["control-plane", "compute"], ROLE)
    with ExitStack() as stack:
        for host in made.values():  # the kubelet, by which compute counts as installed
            stack.enter_context(socket.create_server((host["address"], KUBELET_PORT)))
        port = stack.enter_context(bmc.another_port())
        project.pulumi("up", *AT_ONCE)
        first, asked = len(bmc.writes), len(bmc.requests)
        changed = {
            "ignition_sha256": "second",
            "ours": ROLE["ours"] + " ",
            "keyfiles": {"eth0.nmconnection": "[connection]\nid=content-of-another-keyfile\n"},
        }
        project.site["roles"] = dict.fromkeys(project.site["roles"], changed)
        project.site["media_port"] += 1
        project.site["base_iso_sha256"] = project.base_iso(project.base + bytes(2048))
        shown = project.pulumi("preview", "--diff")
        assert "second" in shown
        for untouched in ("okd-0, okd-2", "okd-1, okd-3"):
            assert f"not touched by this change: {untouched}" in shown
        assert len(project.logs()) == 1, "a preview logs nothing"
        shown += project.pulumi("up", *AT_ONCE, "--diff")
        assert bmc.requests[asked:] == []

        project.site["hosts"] = made
        for name in installed:
            url = made[name]["bmc_url"].replace(f":{bmc.port}/", f":{port}/")
            made[name] |= {"bmc_url": url, "username": SECOND_USER, "password": SECOND_PASSWORD}
        shown += project.pulumi("up", *AT_ONCE, "--diff")
        uuids = {name: host["consent"].lower() for name, host in made.items()}
        assert [name for name in installed if not any(uuids[name] in line for line in bmc.requests[asked:])] == []
        assert {name: bmc.writes_to(uuid, first) for name, uuid in uuids.items()} == {
            name: INSTALLED if name in (third, other) else [] for name in made
        }
    state = json.dumps(resources_of(project.folder))
    assert not [secret for secret in (PASSWORD, SECOND_PASSWORD, *SECRETS) if secret in shown + state]


def test_only_a_server_that_is_named_or_new_is_wiped_and_once(project: Project, bmc: Emulator) -> None:
    """`reinstall` names servers by UUID and by serial, in lines that come, change, stay and go; a spare, too."""
    made = hosts_of(bmc, 5)
    again, serial, stays, never, spare = (host["consent"].lower() for host in made.values())
    bmc.labels |= {again: {"SerialNumber": "SN-0"}, serial: {"SerialNumber": "SN-1"}}
    project.site |= {"hosts": made, "spares": ["okd-4"]}
    project.pulumi("up", *AT_ONCE)
    assert (bmc.writes_to(spare), project.outputs("okd-4")["uuid"]) == ([], spare)
    assert bmc.guest.installs == dict.fromkeys([again, serial, stays, never], 1)

    first = len(bmc.writes)
    project.site |= {"reinstall": {"okd-0": again, "okd-1": "SN-1", "okd-2": stays}, "spares": []}
    shown = project.pulumi("up", *AT_ONCE)
    assert "will be wiped and installed again, as `reinstall` requests: okd-0, okd-1, okd-2" in shown
    for uuid in (again, serial, stays, spare):
        assert bmc.writes_to(uuid, first) == INSTALLED
    assert bmc.guest.installs == {again: 2, serial: 2, stays: 2, never: 1, spare: 1}

    second = len(bmc.writes)
    project.site |= {"reinstall": {"okd-0": "SN-0", "okd-2": stays}, "spares": ["okd-4"]}
    project.pulumi("up", *AT_ONCE)
    assert bmc.writes_to(again, second) == INSTALLED
    assert bmc.guest.installs == {again: 3, serial: 2, stays: 2, never: 1, spare: 1}
    assert [bmc.writes_to(uuid, second) for uuid in (serial, stays)] == [[], []]
    assert bmc.writes_to(never, first) == []
    assert bmc.guest.systems.get_power_state(spare) == "Off"


def test_another_machine_at_the_address_is_named_beside_the_recorded_one(project: Project, bmc: Emulator) -> None:
    project.site |= {"roles": {}, "hosts": {"okd-master-0": project.site["hosts"]["okd-master-0"]}}
    uuid = NAMES["okd-master-0"]
    bmc.labels[uuid] = {"Manufacturer": "Acme", "Model": "R650", "SerialNumber": "SN-1", "BiosVersion": "1.2"}
    project.pulumi("up", *AT_ONCE)
    outs = project.outputs("okd-master-0")
    assert {key: outs[key] for key in ("manufacturer", "model", "serial", "bios_version")} == {
        "manufacturer": "Acme", "model": "R650", "serial": "SN-1", "bios_version": "1.2"
    }  # fmt: skip
    assert outs["bmc_version"]

    first = len(bmc.writes)
    bmc.labels[uuid] = {"Manufacturer": "Other", "Model": "DL380", "SerialNumber": "SN-2", "UUID": THIRD}
    both = (
        f"the record is of Acme R650, UUID {uuid}, serial SN-1; the BMC is that of Other DL380, UUID {THIRD}, serial"
    )
    ways_out = {"refresh": "pulumi config set --path 'consent.okd-master-0'", "destroy": "pulumi state delete"}
    for command, way_out in ways_out.items():
        text = " ".join(project.pulumi(command, *AT_ONCE, fails=True).split())
        assert both in text
        assert way_out in text
    assert bmc.writes[first:] == []

    project.site["hosts"]["okd-master-0"]["consent"] = "SN-2"
    replaced = project.pulumi("up", *AT_ONCE)
    assert f"make sure that a system, UUID {uuid}, serial SN-1 is off" in replaced
    assert project.outputs("okd-master-0")["uuid"] == THIRD


def test_twelve_servers_are_reset_at_once_and_each_bmc_trusted_by_its_own(project: Project, bmc: Emulator) -> None:
    """No BMC answers until all twelve are asked, so four calls of the provider at a time would never end."""
    bmc.meeting = threading.Barrier(len(CROWD))
    pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(bmc.certificate)).hexdigest()
    with ExitStack() as ports:
        project.site |= {"roles": {}, "hosts": {}}
        for number, uuid in enumerate(CROWD):
            port = ports.enter_context(bmc.another_port())  # a BMC gets one request at a time
            project.site["hosts"][f"okd-{number}"] = host_of(bmc.address(uuid, port), uuid, bmc.api(uuid))
        project.site["hosts"]["okd-0"]["trust"] = {"ca": "", "fingerprint": pin}
        project.site["hosts"]["okd-1"]["trust"] = {"ca": "", "verify": False}
        shown = project.pulumi("up", *AT_ONCE, "--parallel", str(len(CROWD)))
    assert not bmc.meeting.broken
    assert bmc.first_resets == set(CROWD)
    stays = shown.rpartition("Diagnostics:")[2]  # a row repeats what is below in full
    assert re.findall(r"any certificate is accepted from its BMC .* bmc_trust\.(\S+)", stays) == ["okd-1"]
