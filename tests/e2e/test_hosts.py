"""The real Pulumi engine, this program's providers, and sushy-tools' emulator with its fake driver, over loopback."""

import hashlib
import json
import re
import socket
import ssl
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assets.contract import KUBELET_PORT
from testing.fakes.emulator import PASSWORD, SECOND_PASSWORD, SECOND_USER, USER, Emulator
from testing.project import COMMAND_S, CROWD, MACHINES, NAMES, ROLE, Project, eventually, host_of
from testing.server_under_test import server
from wires.bmc.access import BmcAccess
from wires.redfish.capture.tree import BmcCapture

THIRD = "33333333-3333-4333-8333-333333333333"
INSTALLED = ["Reset", "InsertMedia", "Boot", "Reset", "EjectMedia", "Boot", "Reset"]
"""Writes to a server that was running: Off, media, Cd, On; after the installation: eject, Hdd, On."""
INTERRUPTED = ["Reset", "EjectMedia", "InsertMedia", "Reset", "EjectMedia", "Boot", "Reset"]
"""Writes to a server that an earlier run booted from media."""
SECRETS = ("content-of-ours", "content-of-a-keyfile", "content-of-another-keyfile", "Authorization", "Basic ")


def secrets_of(state: dict[str, Any]) -> dict[str, set[str]]:
    """Return the names of the inputs and outputs of a resource that are stored as ciphertext."""
    return {
        part: {name for name, value in state[part].items() if isinstance(value, dict) and "ciphertext" in value}
        for part in ("inputs", "outputs")
    }


def test_hosts_are_installed_refreshed_changed_and_destroyed(project: Project, bmc: Emulator) -> None:
    """The state stores the files of hosts once, whatever run wrote it. One host is to boot with Secure Boot."""
    (secure, plain), roles = NAMES.values(), project.site["roles"]

    def unchanged(command: str) -> str:
        return project.pulumi(command, "--yes", "--skip-preview", "--expect-no-changes")

    def stored_once() -> None:
        state = project.state("control-plane")
        assert secrets_of(state) == {"inputs": {"passwords", "ours", "keyfiles"}, "outputs": {"passwords"}}
        assert not {"ours", "keyfiles"} & state["outputs"].keys()
        opened = project.pulumi("stack", "export", "--show-secrets")
        assert opened.count("content-of-ours") == opened.count("content-of-a-keyfile") == len(NAMES)

    first = len(bmc.writes)
    bmc.guest.systems.set_boot_device(plain, "Pxe")
    project.site["roles"] = {}
    project.pulumi("up", "--yes", "--skip-preview")
    assert project.outputs("okd-master-0")["found"]["secure_boot"] == ""
    project.site["hosts"]["okd-master-0"]["trust"] = {"boot_mode": "UEFISecureBoot"}
    project.site["roles"] = roles
    shown = project.pulumi("up", "--yes", "--skip-preview")
    assert project.outputs("okd-master-0")["found"]["secure_boot"] == "off"
    assert (bmc.guest.systems.get_secure_boot(secure), bmc.guest.systems.get_secure_boot(plain)) == (True, False)
    outs = project.outputs("control-plane")
    written = {secure: [*INSTALLED[:2], "SecureBoot", *INSTALLED[2:]], plain: INSTALLED}
    for name, uuid in NAMES.items():
        assert re.search(rf"baremetal:BmcHost {name} .*installed: \d+ s spent", shown)
        assert bmc.guest.installs[uuid] == 1
        assert bmc.writes_to(uuid, first) == written[uuid]
        assert {"media", "installing from ISO", "booting from disk"} <= outs["steps"][name].keys()
        assert outs["requests"][name] > len(INSTALLED)
    stored_once()

    unchanged("up")
    refreshed = unchanged("refresh")
    assert re.search("okd-master-0 .*power On; virtual CD empty; boot override Hdd Continuous", refreshed)
    assert "changed by someone else" not in refreshed
    stored_once()
    bmc.guest.systems.set_boot_device(NAMES["okd-master-0"], "Pxe")
    bmc.guest.systems.set_power_state(NAMES["okd-master-1"], "ForceOff")
    refreshed = unchanged("refresh")
    assert "changed by someone else: boot override Pxe Continuous, found Hdd Continuous" in refreshed
    assert re.search("okd-master-1 .*power Off; virtual CD empty", refreshed)
    assert "installed, but off: okd-master-1\n" in refreshed
    roles["control-plane"] = {**ROLE, "ours": ROLE["ours"] + " "}
    project.pulumi("up", "--yes", "--skip-preview", "--config", "power=off")
    stored_once()
    assert "installed, but off" not in unchanged("refresh")
    assert {uuid: bmc.writes_to(uuid, first) for uuid in NAMES.values()} == written

    shown += project.pulumi("destroy", "--yes", "--skip-preview")
    for name, uuid in NAMES.items():
        assert bmc.guest.systems.get_power_state(uuid) == "Off"
        assert bmc.guest.systems.get_boot_device(uuid) == ("Pxe" if name == "okd-master-1" else "Hdd")
        assert not bmc.guest.systems.get_boot_image(uuid, "Cd")[0]
    assert bmc.writes_to(secure, first)[-1] == "SecureBoot"
    assert not bmc.guest.systems.get_secure_boot(secure)
    assert not [secret for secret in (PASSWORD, *SECRETS) if secret in shown]


def test_sushy_tools_verifies_the_media_server_and_is_left_as_found(project: Project, bmc: Emulator) -> None:
    """Attack S9: the emulator downloads the ISO at the insert, and verifies as requests does."""
    over_tls, plain = NAMES["okd-master-0"], NAMES["okd-master-1"]
    first = len(bmc.requests)
    project.site["over_tls"] = ["okd-master-0"]
    project.pulumi("up", "--yes", "--skip-preview")
    assert bmc.guest.installs[over_tls] == bmc.guest.installs[plain] == 1
    drive = f"/redfish/v1/Systems/{over_tls}/VirtualMedia/Cd"
    trusting = [
        line for line in bmc.requests[first:] if line.startswith(("PATCH", "POST", "DELETE")) and drive in line
    ]
    insert, eject = (f"POST {drive}/Actions/VirtualMedia.{verb}Media" for verb in ("Insert", "Eject"))
    switched = f"PATCH {drive}"
    assert trusting == [
        *(f"POST {drive}/Certificates", switched, insert),
        *(f"DELETE {drive}/Certificates/Default", switched, eject),
    ]
    assert not any("Certificates" in line and plain in line for line in bmc.requests[first:])
    assert not bmc.verifies_media(over_tls)
    assert "PRIVATE" not in project.pulumi("stack", "export", "--show-secrets")


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


def test_the_run_after_a_killed_one_completes_the_installation(project: Project, bmc: Emulator) -> None:
    bmc.guest.may_end.clear()
    with project.start("up", "--yes", "--skip-preview") as killed:
        eventually(lambda: set(bmc.guest.reads) == set(NAMES.values()) and min(bmc.guest.reads.values()) > 1)
        killed.kill()
    project.pulumi("cancel", "--yes")
    before = len(bmc.writes)
    with project.start("up", "--yes", "--skip-preview") as second:
        # The installers were running, so each server is switched off and on again, before its first one may end.
        again = INTERRUPTED[: INTERRUPTED.index("Reset", 1) + 1]
        eventually(lambda: all(bmc.writes_to(uuid, before) == again for uuid in NAMES.values()))
        bmc.guest.may_end.set()
        assert second.wait(COMMAND_S) == 0
    for uuid in NAMES.values():
        assert bmc.writes_to(uuid, before) == INTERRUPTED
        assert bmc.guest.installs[uuid] == 1
        assert bmc.guest.is_ready(uuid)
    project.pulumi("preview", "--expect-no-changes")


def test_wrong_fingerprints_and_passwords_are_reported_at_once(project: Project, bmc: Emulator) -> None:
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"trust": {"fingerprint": "ab" * 32}}, "bmc_trust"),
        ({"password": "wrong-of-somebody"}, "HTTP 401, the BMC refuses the credentials"),
    )
    project.site["roles"] = {}
    project.site["hosts"] = {
        f"okd-{number}": {**host_of(bmc.address(uuid), uuid, bmc.api(uuid)), **change}
        for number, (uuid, (change, _)) in enumerate(zip(MACHINES, wrong, strict=False))
    }
    text = project.pulumi("up", "--yes", "--skip-preview", fails=True)
    for uuid, (_, message) in zip(MACHINES, wrong, strict=False):
        assert any(uuid in line and message in line for line in text.splitlines()), message
    assert "wrong-of-somebody" not in text
    assert 'File "' not in text


def test_a_bmc_is_trusted_by_the_options_of_its_own_host(project: Project, bmc: Emulator) -> None:
    pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(bmc.certificate)).hexdigest()
    project.site["roles"] = {}
    pinned, unchecked = (project.site["hosts"][name] for name in NAMES)
    pinned["trust"] = {"ca": "", "fingerprint": pin}
    unchecked["trust"] = {"ca": "", "verify": False}
    for words in (["preview", "--diff"], ["up", "--yes", "--skip-preview"]):
        stays = project.pulumi(*words).rpartition("Diagnostics:")[2]  # a row repeats what is below in full
        warned = re.findall(r"any certificate is accepted from its BMC .* bmc_trust\.(\S+)", stays)
        assert warned == ["okd-master-1"]


def test_installed_servers_are_never_written_to_again(project: Project, bmc: Emulator) -> None:
    """Change everything that may change on installed hosts of both roles; then add a host to each; then the BMCs."""
    uuids = {f"okd-{number}": uuid for number, uuid in enumerate([*MACHINES, *CROWD][:6])}
    roles = {name: "compute" if number % 2 else "control-plane" for number, name in enumerate(uuids)}
    made = {name: host_of(bmc.address(uuid), uuid, bmc.api(uuid), roles[name]) for name, uuid in uuids.items()}
    *installed, third, other = made
    project.site["hosts"] = {name: made[name] for name in installed}
    project.site["roles"] = dict.fromkeys(["control-plane", "compute"], ROLE)
    with ExitStack() as stack:
        for host in made.values():  # the kubelet, by which compute counts as installed
            stack.enter_context(socket.create_server((host["address"], KUBELET_PORT)))
        port = stack.enter_context(bmc.another_port())
        project.pulumi("up", "--yes", "--skip-preview")
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
        shown += project.pulumi("up", "--yes", "--skip-preview")
        assert bmc.requests[asked:] == []
        project.pulumi("preview", "--expect-no-changes")

        def only_the_new_ones_are_written_to() -> None:
            added = [uuids[name] for name in (third, other)]
            assert [bmc.writes_to(uuid, first) for uuid in added] == [INSTALLED, INSTALLED]
            assert [line for line in bmc.writes[first:] if not any(uuid in line for uuid in added)] == []

        project.site["hosts"] = made
        shown += project.pulumi("up", "--yes", "--skip-preview")
        only_the_new_ones_are_written_to()

        asked = len(bmc.requests)
        for name in installed:
            made[name] |= {
                "bmc_url": bmc.address(uuids[name], port), "username": SECOND_USER, "password": SECOND_PASSWORD
            }  # fmt: skip
        shown += project.pulumi("preview", "--diff") + project.pulumi("up", "--yes", "--skip-preview")
        assert len(bmc.requests) > asked
        only_the_new_ones_are_written_to()
    state = project.pulumi("stack", "export")
    assert not [secret for secret in (PASSWORD, SECOND_PASSWORD, *SECRETS) if secret in shown + state]


def test_reinstall_wipes_the_named_host_alone_and_once(project: Project, bmc: Emulator) -> None:
    again, other = NAMES.values()
    bmc.labels[again] = {"SerialNumber": "SN-1"}
    project.pulumi("up", "--yes", "--skip-preview")
    first, asked = len(bmc.writes), len(bmc.requests)
    project.site["reinstall"] = {"okd-master-0": other}
    assert "reinstall.okd-master-0 names" in project.pulumi("preview", fails=True)
    assert bmc.requests[asked:] == []

    project.site["reinstall"] = {"okd-master-0": again}
    note = "will be wiped and installed again, as `reinstall` requests: okd-master-0"
    assert note in project.pulumi("preview")
    assert bmc.requests[asked:] == []
    for _ in range(2):  # a line that stays has no further effect
        project.pulumi("up", "--yes", "--skip-preview")
        assert (bmc.writes_to(again, first), bmc.writes_to(other, first)) == (INSTALLED, [])
    assert bmc.guest.installs == {again: 2, other: 1}

    second = len(bmc.writes)
    project.site["reinstall"] = {"okd-master-0": "SN-1"}
    project.pulumi("up", "--yes", "--skip-preview")
    project.site["reinstall"] = {}
    project.pulumi("up", "--yes", "--skip-preview")
    assert (bmc.writes_to(again, second), bmc.writes_to(other, first)) == (INSTALLED, [])
    assert bmc.guest.installs == {again: 3, other: 1}


def test_a_spare_is_written_to_only_once_it_becomes_a_server(project: Project, bmc: Emulator) -> None:
    uuid, first = NAMES["okd-master-1"], len(bmc.writes)
    project.site["spares"] = ["okd-master-1"]
    project.pulumi("up", "--yes", "--skip-preview")
    assert (bmc.writes_to(uuid, first), project.outputs("okd-master-1")["uuid"]) == ([], uuid)
    project.site["spares"] = []
    project.pulumi("up", "--yes", "--skip-preview")
    assert bmc.writes_to(uuid, first) == INSTALLED
    assert bmc.guest.installs == dict.fromkeys(NAMES.values(), 1)
    project.site["spares"] = ["okd-master-1"]
    project.pulumi("up", "--yes", "--skip-preview")
    assert bmc.guest.systems.get_power_state(uuid) == "Off"


def test_another_machine_at_the_address_is_named_beside_the_recorded_one(project: Project, bmc: Emulator) -> None:
    project.site |= {"roles": {}, "hosts": {"okd-master-0": project.site["hosts"]["okd-master-0"]}}
    uuid = NAMES["okd-master-0"]
    bmc.labels[uuid] = {"Manufacturer": "Acme", "Model": "R650", "SerialNumber": "SN-1", "BiosVersion": "1.2"}
    project.pulumi("up", "--yes", "--skip-preview")
    outs = project.outputs("okd-master-0")
    assert {key: outs[key] for key in ("manufacturer", "model", "serial", "bios_version")} == {
        "manufacturer": "Acme", "model": "R650", "serial": "SN-1", "bios_version": "1.2"
    }  # fmt: skip
    assert outs["bmc_version"]

    first = len(bmc.writes)
    bmc.labels[uuid] = {"Manufacturer": "Other", "Model": "DL380", "SerialNumber": "SN-2", "UUID": THIRD}
    project.site["hosts"]["okd-master-0"]["password"] = PASSWORD
    project.site["bmc_deadline_s"] = 61
    both = (
        f"the record is of Acme R650, UUID {uuid}, serial SN-1; the BMC is that of Other DL380, UUID {THIRD}, serial"
    )
    for words in (["refresh"], ["up"], ["destroy"]):
        text = " ".join(project.pulumi(*words, "--yes", "--skip-preview", fails=True).split())
        assert both in text
        way_out = "pulumi state delete" if words == ["destroy"] else "pulumi config set --path 'consent.okd-master-0'"
        assert way_out in text
    assert bmc.writes[first:] == []

    project.site["hosts"]["okd-master-0"]["consent"] = "SN-2"
    replaced = project.pulumi("up", "--yes", "--skip-preview")
    assert f"make sure that a system, UUID {uuid}, serial SN-1 is off" in replaced
    assert project.outputs("okd-master-0")["uuid"] == THIRD
    project.pulumi("preview", "--expect-no-changes")


def test_twelve_bmcs_are_asked_at_once(project: Project, bmc: Emulator) -> None:
    """No BMC answers until all twelve are asked, so four calls at a time would never end."""
    bmc.meeting = threading.Barrier(len(CROWD))
    with ExitStack() as ports:
        project.site |= {"roles": {}, "hosts": {}}
        for number, uuid in enumerate(CROWD):
            port = ports.enter_context(bmc.another_port())  # a BMC gets one request at a time
            project.site["hosts"][f"okd-{number}"] = host_of(bmc.address(uuid, port), uuid, bmc.api(uuid))
        project.pulumi("up", "--yes", "--skip-preview", "--parallel", str(len(CROWD)))
    assert not bmc.meeting.broken
    assert bmc.first_reads == set(CROWD)
