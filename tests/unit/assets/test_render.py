"""Renders: complete, the same each time, and independent of the phase."""

import re
from collections.abc import Collection

import pytest
from jinja2 import UndefinedError

from assets.file import Reader, RenderedFile
from assets.render import FOLDER, TEMPLATES, render, render_bootstrap, render_role, render_server
from cluster.plan import ClusterPlan, Intent, Role
from payload.of_servers import UNITS
from testing import clusters, plans
from testing.documents import table

CHRONY = "/etc/chrony.conf"


def everything(intent: Intent) -> list[RenderedFile]:
    return [file for files in render(intent).folders.values() for file in files]


@pytest.mark.parametrize("name", clusters.VARIANTS)
def test_no_rendered_byte_depends_on_the_phase(name: str) -> None:
    bootstrap, production = (clusters.plan(name, phase=phase) for phase in ("bootstrap", "production"))
    assert bootstrap.options.phase != production.options.phase
    assert render(bootstrap) == render(production)


def test_an_intent_renders_as_its_plan_without_consents_and_digests(plan: ClusterPlan) -> None:
    stack = {name: plans.options()[name] for name in ("node_addresses", "bootstrap", "images")}
    assert render(plans.intent(stack)) == render(plan)


def test_no_rendered_byte_holds_a_secret(plan: ClusterPlan) -> None:
    texts = "".join(file.text for file in everything(plan))
    assert "rehearsal-only" not in texts
    assert "cmVoZWFyc2FsOm9ubHk" not in texts


def test_only_the_interface_is_filled_in_on_the_machine(plan: ClusterPlan) -> None:
    for file in everything(plan):
        assert "{{" not in file.text.replace("{{ .Name }}", ""), file.path
        assert "{%" not in file.text, file.path
        assert ("@INTERFACE:" in file.text) == (file.name in ("keepalived.conf", "okd-keepalived.sh")), file.path


def test_time_servers_reach_every_machine_if_the_file_names_some() -> None:
    folders = render(clusters.intent("static")).folders
    texts = {folder: file.text for folder, files in folders.items() for file in files if file.path == CHRONY}
    assert texts.keys() == {"bootstrap", "control-plane", "compute"}
    (text,) = set(texts.values())
    servers = [line for line in text.splitlines() if line.startswith("server ")]
    assert servers == ["server ntp.lab.test iburst", "server 192.168.111.1 iburst", "server fd2e::1 iburst"]


def test_without_time_servers_a_machine_keeps_those_of_its_image(plan: ClusterPlan) -> None:
    assert CHRONY not in {file.path for file in everything(plan)}


def test_only_scripts_are_executable(plan: ClusterPlan) -> None:
    scripts = {file.path for file in everything(plan) if file.text.startswith("#!/usr/bin/env bash\n")}
    assert {file.path for file in everything(plan) if file.mode == 0o755} == scripts
    assert {file.mode for file in everything(plan)} == {0o755, 0o644, 0o600}


def test_keyfiles_have_mode_0600_and_those_with_a_password_are_secret() -> None:
    intent = clusters.intent("static")
    first, second = (
        [file for file in render_server(intent, server) if file.reader is Reader.KEYFILE]
        for server in intent.control_plane[:2]
    )
    assert [file.name for file in first] == ["bond0.nmconnection", "eno1.nmconnection", "eno2.nmconnection"]
    assert {(file.mode, file.secret) for file in first} == {(0o600, True)}
    assert any(clusters.SWITCH_PASSWORD in file.text for file in first)
    assert clusters.SWITCH_PASSWORD not in repr(first)
    assert [(file.name, file.mode, file.secret) for file in second] == [("eno1.nmconnection", 0o600, False)]


@pytest.mark.parametrize("name", clusters.WITH_VIPS)
def test_a_vip_has_a_host_prefix_and_is_recognizable_as_a_vip(name: str) -> None:
    """By its label, or for IPv6 by its length, okd-get-vip-subnet-cidr.sh knows it from a machine's own address."""
    intent = clusters.intent(name)
    wanted = {
        f"{vip}/32 label vip" if vip.version == 4 else f"{vip}/128"
        for role in Role
        for each in intent.vips_of(role)
        for vip in each.addresses
    }
    texts = [file.text for file in everything(intent) if file.reader is Reader.KEEPALIVED]
    vips = {line for text in texts for line in re.findall(r"virtual_ipaddress \{\n +(.*)\n", text)}
    assert vips == wanted


@pytest.mark.parametrize("name", clusters.WITH_VIPS)
def test_adverts_count_only_from_peers_on_the_segment(name: str) -> None:
    """S1, in each instance with unicast; tests/wire/test_forged_adverts.py has the attack."""
    texts = [file.text for file in everything(clusters.intent(name)) if file.reader is Reader.KEEPALIVED]
    for block in re.findall(r"^vrrp_instance .*?^}$", "\n".join(texts), re.M | re.S):
        _, unicast, peers = block.partition("    unicast_ttl 255\n    check_unicast_src\n    unicast_peer {\n")
        assert bool(unicast) == ("unicast" in block)
        for peer in peers.partition("    }")[0].splitlines():
            assert peer.endswith(" min_ttl 255 max_ttl 255")


def test_a_machine_that_claims_a_vip_alone_says_no_list_of_peers() -> None:
    with_spares = clusters.intent("spares", vrrp={"ingress": "unicast"})
    alone = with_spares.changed(hosts=with_spares.servers)
    (conf,) = [file for file in render(alone).of(alone.compute[0]) if file.path.endswith("/keepalived.conf")]
    assert "unicast_peer" not in conf.text
    assert "# Multicast: no other machine claims the VIP, and keepalived knows no unicast without peers." in conf.text


def test_with_a_balancer_of_the_site_no_machine_claims_or_balances_a_vip() -> None:
    files = everything(clusters.intent("balancer"))
    assert {file.reader for file in files} & {Reader.KEEPALIVED, Reader.HAPROXY, Reader.NFT} == set()
    assert {file.name for file in files if "10.20.0.100" in file.text} == {"Corefile"}
    units = {file.name for file in files if file.reader is Reader.SYSTEMD}
    assert units == {"okd-coredns.service", "okd-images.service"}


HOSTS_OWN = {f"{name}.nmconnection" for name in ("bond0", "eno1", "eno2")}


def every_path_and_name(without: Collection[str]) -> tuple[set[str], set[str]]:
    """Return the paths and names of all files of all variants, except those named `without`."""
    all_files = (file for name in clusters.VARIANTS for file in everything(clusters.intent(name)))
    files = [file for file in all_files if not file.is_mask]
    others = [file for file in files if file.name not in without]
    return {file.path for file in others}, {file.name for file in others}


def test_every_template_is_rendered() -> None:
    templates = [path for path in FOLDER.glob("*/*") if path.parent.name != "__pycache__"]
    included = {name for path in templates for name in re.findall(r'include ".*/(.+)\.j2"', path.read_text())}
    assert {path.name.removesuffix(".j2") for path in templates} == every_path_and_name(HOSTS_OWN)[1] | included


def test_each_file_has_its_row_in_the_reference() -> None:
    rows = {row["path"].strip("`") for row in table("reference/files.md", "path")}
    made_on_the_machine = {
        "/run/okd-baremetal/keepalived.conf",
        "/run/okd-baremetal/upstreams",
        "/var/lib/okd-baremetal/release",
        "/var/lib/okd-baremetal/images",
    }
    of_a_host = "/etc/NetworkManager/system-connections/<profile>.nmconnection"
    assert rows == every_path_and_name(HOSTS_OWN)[0] | made_on_the_machine | {of_a_host}


def test_each_masked_unit_has_its_row_in_the_reference() -> None:
    rows = {row["unit"].strip("`"): row["what it is"] for row in table("reference/files.md", "unit")}
    assert rows == UNITS


def test_an_undefined_name_in_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        TEMPLATES.from_string("{{ missing }}").render()


@pytest.mark.parametrize("role", Role)
def test_no_two_files_of_a_server_share_a_path(plan: ClusterPlan, role: Role) -> None:
    for server in plan.of(role):
        paths = [file.path for file in (*render_role(plan, role), *render_server(plan, server))]
        assert len(paths) == len(set(paths))


def test_no_two_files_of_the_bootstrap_share_a_path(plan: ClusterPlan) -> None:
    paths = [file.path for file in render_bootstrap(plan)]
    assert len(paths) == len(set(paths))


def test_no_path_collides_with_the_payloads(plan: ClusterPlan) -> None:
    others = {
        file.path
        for file in everything(plan)
        if not file.path.startswith("/etc/okd-baremetal/") and not file.name.startswith("okd-")
    }
    # A rendered master of MCO 7ff337a4 has none of these either (2026-11).
    assert others == {"/etc/dhcp/dhclient.conf", "/etc/hostname", "/etc/default/nodeip-configuration"}


FIRST_BOOT = "ConditionPathExists=!/etc/ignition-machine-config-encapsulated.json\n"


def test_units_of_the_bootstrap_ignore_the_file_of_a_first_boot(
    plan: ClusterPlan,
) -> None:
    units = [file for file in render_bootstrap(plan) if file.reader is Reader.SYSTEMD]
    assert [unit.name for unit in units if "ConditionPath" in unit.text] == []
    assert {unit.name for unit in units} == {
        "okd-coredns.service",
        "okd-images.service",
        "okd-keepalived.service",
        "okd-vip-channel.service",
    }


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("name", ["rehearsal", "host"])
def test_no_unit_of_a_node_starts_on_its_first_boot(name: str, role: Role) -> None:
    units = [file for file in render_role(clusters.intent(name), role) if file.reader is Reader.SYSTEMD]
    assert [unit.name for unit in units if FIRST_BOOT not in unit.text] == []


@pytest.mark.parametrize("name", ["rehearsal", "images", "host"])
def test_no_unit_waits_for_the_target_that_waits_for_an_image(name: str) -> None:
    units = [file for file in everything(clusters.intent(name)) if file.reader is Reader.SYSTEMD]
    settings = [line for unit in units for line in unit.text.splitlines() if not line.startswith("#")]
    assert [line for line in settings if "network-online.target" in line] == []


def test_an_arbiter_is_in_no_list_of_peers_and_behind_no_balancer() -> None:
    intent = clusters.intent("arbiter")
    (arbiter,) = intent.arbiters
    texts = {file.name: file.text for file in everything(intent) if str(arbiter.address) in file.text}
    assert texts.keys() == {"Corefile"}, "each CoreDNS answers its name"
    own = {file.name for file in render(intent).of(arbiter)}
    assert not {name for name in own if "keepalived" in name or "haproxy" in name or "check" in name}
    assert {"okd-coredns.service", "okd-resolver.sh", "hostname", "nodeip-configuration"} <= own


def test_names_resolve_before_coredns_runs(plan: ClusterPlan) -> None:
    link = "L /etc/resolv.conf - - - - ../run/NetworkManager/resolv.conf\n"
    machines = (render_bootstrap(plan), *(render_role(plan, role) for role in Role if plan.of(role)))
    for files in machines:
        (link_file,) = [file for file in files if file.path == "/etc/tmpfiles.d/okd-resolver-link.conf"]
        assert link_file.text.endswith(link)


def test_the_track_file_is_there_before_a_container_wants_it(plan: ClusterPlan) -> None:
    (channel_file,) = [file for file in render_bootstrap(plan) if file.path == "/etc/tmpfiles.d/okd-vip-channel.conf"]
    assert channel_file.text.endswith("f /var/lib/okd-baremetal/release 0644 root root - 0\n")


def test_each_server_gets_its_name_and_the_network_of_its_address(plan: ClusterPlan) -> None:
    rendered = render(plan)
    for server in plan.servers:
        texts = {file.path: file.text for file in rendered.of(server)}
        assert texts["/etc/hostname"] == f"{server.name}\n"
        assert texts["/etc/default/nodeip-configuration"].endswith("KUBELET_NODEIP_HINT=192.168.111.0\n")


def test_a_changed_name_changes_the_vrids_in_the_files(plan: ClusterPlan) -> None:
    (file,) = [each for each in render_server(plan, plan.control_plane[0]) if each.reader is Reader.KEEPALIVED]
    assert "virtual_router_id 67\n" in file.text
    ingress = next(file for file in render_role(plan, Role.COMPUTE) if file.reader is Reader.KEEPALIVED)
    assert "virtual_router_id 162\n" in ingress.text
