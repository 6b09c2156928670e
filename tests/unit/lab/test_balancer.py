"""The load balancer of the lab's site, and what the rehearsal proves by it."""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.inventory import Site, load_site
from lab.rehearsal import balancer as proofs
from lab.rehearsal.__main__ import main
from lab.rehearsal.balancer import BalancerProofs
from lab.rehearsal.etcd import Etcd
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.segment import status
from lab.rehearsal.stack import OnLine
from lab.site import balancer
from testing.certificates import authority
from testing.clusters import as_stack, plan
from testing.fakes.https_server import https_server
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root
from testing.scene.machine import until

NODES = ["okd-master-0", "okd-master-1", "okd-master-2"]
API_MACHINES = ["okd-bootstrap", *NODES]
ROW = "     ~  pulumi-python:dynamic/baremetal:VipHandoff okd-api updating (4s) [diff: ~phase]; "
AWAITED = f"{ROW}await: okd-bootstrap (192.168.111.20) still accepts connections on 6443 and 22623, so the balancer"
LET_GO = f"{ROW}let go"


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site("balancer")


def sections(site: Site) -> dict[str, list[str]]:
    """Return the lines of each service of the balancer's config, without indent."""
    _, *listens = balancer._config(balancer.services(site)).split("\nlisten ")
    stripped = ([line.strip() for line in listen.strip().splitlines()] for listen in listens)
    return {name: lines for name, *lines in stripped}


def test_each_service_leads_to_its_documented_machines(site: Site) -> None:
    assert sections(site) == {
        "api": [
            "bind 10.41.0.100:6443",
            "option httpchk GET /readyz HTTP/1.0",
            "server balanced-bootstrap 10.40.0.20:6443 check-ssl verify none",
            "server row-a 10.40.0.21:6443 check-ssl verify none",
            "server row-b 10.40.0.22:6443 check-ssl verify none",
            "server row-c 10.40.0.23:6443 check-ssl verify none",
        ],
        "config-server": [
            "bind 10.41.0.100:22623",
            "option httpchk GET /healthz HTTP/1.0",
            "server balanced-bootstrap 10.40.0.20:22623 check-ssl verify none",
            "server row-a 10.40.0.21:22623 check-ssl verify none",
            "server row-b 10.40.0.22:22623 check-ssl verify none",
            "server row-c 10.40.0.23:22623 check-ssl verify none",
        ],
        "https": [
            "bind 10.41.0.100:443",
            "option httpchk GET /healthz/ready HTTP/1.0",
            "server row-d 10.40.0.24:443 port 1936",
        ],
        "http": [
            "bind 10.41.0.100:80",
            "option httpchk GET /healthz/ready HTTP/1.0",
            "server row-d 10.40.0.24:80 port 1936",
        ],
    }


def test_it_has_the_addresses_of_both_families(tmp_path: Path) -> None:
    services = sections(load_site("dual-stack", as_stack("dual-stack", tmp_path)))
    assert services["api"][:2] == ["bind 192.168.111.5:6443", "bind [fd2e::5]:6443"]
    assert services["http"][:2] == ["bind 192.168.111.4:80", "bind [fd2e::4]:80"]


@needs_root
def test_a_real_haproxy_reports_its_backends_and_its_clients(
    site: Site, tmp_path: Path, certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balancer, "STATS", tmp_path / "stats")
    config, log = tmp_path / "balancer.cfg", tmp_path / "log"
    machines = (site.plan.bootstrap, site.plan.servers[0])
    services = (balancer.API, "/readyz"), (balancer.CONFIG_SERVER, "/healthz")

    def behind() -> list[tuple[str, str]]:
        try:
            return [(backend.service, backend.machine) for backend in balancer.backends() if backend.is_up]
        except OSError:
            return []

    def work() -> None:
        for address in ("10.41.0.100", "10.40.0.20", "10.40.0.21"):
            ip(f"address add {address}/32 dev lo")
        with ExitStack() as open_, log.open("wb") as output:
            servers = [open_.enter_context(https_server(certificate, address="10.40.0.20")) for _ in services]
            wanted = [
                balancer.Service(name, server.port, site.plan.api.addresses, machines, page, balancer._HTTPS)
                for (name, page), server in zip(services, servers, strict=True)
            ]
            config.write_text(balancer._config(wanted))
            command = [*MORTAL, "haproxy", "-db", "-f", str(config)]
            haproxy = open_.enter_context(subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": SBIN}))
            open_.callback(haproxy.kill)
            only = [("api", "balanced-bootstrap"), ("config-server", "balanced-bootstrap")]
            until("the balancer leads only to the bootstrap", lambda: behind() == only)
            url = f"https://api.okd.lab.test:{servers[1].port}/config/master"
            assert status(url, "10.41.0.100", authority("test-ca").pem) == 200

    in_own_network(work)
    assert proofs._LED.findall(log.read_text()) == [("10.41.0.100", "balanced-bootstrap")]


def test_the_first_machine_that_is_up_is_read_from_the_log() -> None:
    lines = [
        "Server api/row-a is DOWN, reason: Layer4",
        "Server api/balanced-bootstrap is UP, reason",
        "Server api/row-a is UP",
    ]
    assert proofs._UP.findall("\n".join(lines)) == ["balanced-bootstrap", "row-a"]


def test_the_node_that_hangs_is_no_holder_of_the_balancers_address(tmp_path: Path) -> None:
    """Nobody asks whose MAC answers there: the address is the provisioner's own."""
    found = BalancerProofs(plan("balancer"), authority("test-ca").pem, Report("balancer", folder=tmp_path))
    assert found.node_to_freeze().name == NODES[-1]


@pytest.fixture
def hand_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, str]]]:
    """Hand over with these lines of an update; return its proofs, as wanted and seen."""

    def run(*lines: str, completes: bool = True) -> list[tuple[str, str]]:
        up = list(API_MACHINES)

        def complete(_: Etcd) -> None:
            if completes:
                up.remove("okd-bootstrap")

        monkeypatch.setattr(proofs, "_behind", lambda _: list(up))
        monkeypatch.setattr(Etcd, "complete", complete)
        report = Report("balancer", folder=tmp_path)

        def update(on_line: OnLine) -> None:
            for line in lines:
                on_line(line, 1)

        BalancerProofs(plan("balancer"), authority("test-ca").pem, report).hand_over(update)
        return [(proof.wanted, proof.seen) for proof in report.proofs]

    return run


def test_the_bootstrap_completes_when_it_is_awaited(hand_over: Callable[..., list[tuple[str, str]]]) -> None:
    machines, nodes = ", ".join(API_MACHINES), ", ".join(NODES)
    assert hand_over(f"{ROW}gate", AWAITED, LET_GO, LET_GO) == [(machines, machines), (nodes, nodes)]


def test_a_vm_that_goes_while_the_balancer_leads_to_it_fails_the_proof(
    hand_over: Callable[..., list[tuple[str, str]]],
) -> None:
    with pytest.raises(RehearsalError, match="when the VM is let go: seen okd-bootstrap, okd-master-0"):
        hand_over(AWAITED, LET_GO, completes=False)


@pytest.mark.parametrize("lines", [(AWAITED,), (LET_GO,)], ids=["never-let-go", "never-awaited"])
def test_an_update_without_both_fails_the_proof(
    hand_over: Callable[..., list[tuple[str, str]]], lines: tuple[str, ...]
) -> None:
    with pytest.raises(RehearsalError, match="never awaited the end of the bootstrap's API, or never let"):
        hand_over(*lines)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["faults"], "faults with payload stand-in"),
        (["--payload", "kubernetes"], "whole with payload kubernetes"),
    ],
    ids=["faults", "kubernetes"],
)
def test_a_scenario_that_moves_vips_is_refused(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--stack", "balancer"]) == 2
    assert capsys.readouterr().out.startswith(f"FAILED: {named}: needs VIPs on the cluster's machines. Fix: ")
