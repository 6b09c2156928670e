"""What a preview shows before `up`: a change of one input is a few lines in the files that it touches."""

import copy
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from review.document import page_of
from review.markdown import markdown
from review.preview import read_preview
from testing import clusters, plans
from testing.git import committed
from testing.golden import REVIEWS, masked
from testing.previews import INSTALL_CONFIG, Lines, Project, Review, fresh, settled

REINSTALL = {"okd-master-0": plans.CONSENT["okd-master-0"]}
OF_THE_STACK, OF_THE_INSTALL_CONFIG, NEW_PASSWORD = "password-of-the-stack", "rehearsal-only", "password-of-today"
PULL_SECRETS = ("cmVoZWFyc2FsOm9ubHk=", "b3B0aW9uOm9ubHk=")
"""That of the install-config, and that of the options."""
OUR_FILES = "data:;base64,"  # the prefix of a file's content in an Ignition config

MASTERS, WORKERS = ("okd-master-0", "okd-master-1", "okd-master-2"), ("okd-worker-0", "okd-worker-1")
PREFLIGHT = "update ProvisionerPreflight okd-preflight"
NETWORK = "update NetworkPreflight okd-network"
BOOTSTRAP = "update BootstrapVm okd-bootstrap"
HANDOFF = "update VipHandoff okd-api"
INGRESS = "update VipHeld okd-ingress"
CONTROL_PLANE = "update HostProvisioning okd-control-plane"
COMPUTE = "update HostProvisioning okd-compute"
FIRST_INSTALLATION = "create HostProvisioning okd-control-plane"
MACHINES = "update Machines okd-machines"


@dataclass(frozen=True)
class Change:
    """A change of one input, and everything that a preview then shows."""

    make: Callable[[Project], None]
    others: dict[str, set[str]]
    files: dict[str, Lines] = field(default_factory=dict)
    phase: str = "bootstrap"


def before_the_installation(make: Callable[[Project], None]) -> Callable[[Project], None]:
    """Make a change while the state has no record of an installed server."""

    def made(project: Project) -> None:
        project.pulumi("state", "delete", "--yes", project.urn("HostProvisioning", "okd-control-plane"))
        make(project)

    return made


def swapped(old: str, new: str, *lines: str) -> Lines:
    return Lines(removed=list(lines), added=[line.replace(old, new) for line in lines])


def each(names: Iterable[str], lines: Lines) -> dict[str, Lines]:
    return dict.fromkeys(names, lines)


def keepalived(*masters: str) -> list[str]:
    return [f"okd-hosts-{name}-keepalived.conf" for name in masters]


def by_dhcp(*hosts: str) -> list[str]:
    return [f"okd-hosts-{name}-okd-machine-network.nmconnection" for name in hosts]


def both(name: str) -> list[str]:
    """A file that the bootstrap and the control plane have."""
    return [f"okd-bootstrap-{name}", f"okd-control-plane-{name}"]


def everywhere(name: str) -> list[str]:
    """A file that all machines have."""
    return [*both(name), f"okd-compute-{name}"]


def digests(*hosts: str) -> set[str]:
    """Return the digests of the hosts' Ignition configs, with `ours`, the secret part of those."""
    return {"ours", *(f'ignition_sha256["{host}"]' for host in hosts)}


def add_a_worker(project: Project) -> None:
    with project.install_config() as config:
        hosts = config["platform"]["baremetal"]["hosts"]
        host = copy.deepcopy(hosts[-1]) | {"name": "okd-worker-2", "bootMACAddress": "52:54:00:11:10:1a"}
        host["bmc"]["address"] += "-2"
        hosts.append(host)
        config["compute"][0]["replicas"] = 3
    project.configure(node_addresses={"okd-worker-2": ["192.168.111.26"]}, consent={"okd-worker-2": "SERIAL-2"})


def change_a_password(project: Project) -> None:
    with project.install_config() as config:
        config["platform"]["baremetal"]["hosts"][1]["bmc"]["password"] = NEW_PASSWORD


def in_install_config(line: str, old: str, new: str) -> Callable[[Project], None]:
    return lambda project: project.replace(INSTALL_CONFIG, f"{line}{old}\n", f"{line}{new}\n")


API = ("192.168.111.5", "192.168.111.6")
APPS = ("192.168.111.4", "192.168.111.7")
PEER = ("192.168.111.22", "192.168.111.32")
ROUTER = ("67", "77")
WEIGHT = ("20", "19")
UPSTREAMS = ("/run/okd-baremetal/upstreams", "192.0.2.53")
DOMAIN = ("lab.test", "site.test")
UPSTREAMS_WITHOUT = (
    """own=$(ip -o address show | awk '{sub("/.*", "", $4); print "nameserver " $4}'; """
    "printf 'nameserver %s\\n' 192.168.111.5)"
)
LEAVES = "# keepalived on the bootstrap VM: the API VIP until {}. Rendered by okd-baremetal."
LETS_GO = "# 0: keep the VIP; {}: keep it until another machine takes it over, so that one always answers."
USAGE = ("PORT PATH", "PORT PAGE")


def service(vip: tuple[str, str]) -> Lines:
    """Return the lines about a VIP in the unit that starts keepalived."""
    unit = f"Description=okd-baremetal: keepalived for {vip[0]}"
    return swapped(*vip, unit, f"ExecStartPre=/usr/local/bin/okd-keepalived.sh 60 {vip[0]}")


def claim(vip: tuple[str, str]) -> Lines:
    """Return the lines about a VIP in keepalived.conf."""
    return swapped(*vip, f"interface @INTERFACE:{vip[0]}@", f"{vip[0]}/32 label vip")


def resolver(old: str, new: str) -> Lines:
    """Return the lines about the cluster's domain in the unit of CoreDNS."""
    return swapped(old, new, "ExecStartPost=/usr/local/bin/okd-resolver.sh okd.lab.test 192.168.111.0/24")


CHANGES = {
    "api-vip": Change(
        in_install_config("- ", *API),
        {
            NETWORK: {"api.vips[0]"},
            BOOTSTRAP: {"vip", "ignition_sha256", "ours"},
            HANDOFF: {"vips[0]"},
            CONTROL_PLANE: {"api_vip", "keyfiles", *digests(*MASTERS)},
        },
        {
            **each(["okd-bootstrap-keepalived.conf", *keepalived(*MASTERS)], claim(API)),
            **each(both("okd-keepalived.service"), service(API)),
            **each(both("okd-keepalived"), swapped(*API, "vips=(192.168.111.5)")),
            **each(everywhere("Corefile"), swapped(*API, "192.168.111.5 api.okd.lab.test api-int.okd.lab.test")),
            **each(everywhere("okd-coredns.sh"), swapped(*API, UPSTREAMS_WITHOUT)),
            **each(by_dhcp(*MASTERS, *WORKERS), swapped(*API, "dns=192.168.111.5;")),
            "okd-bootstrap-okd-vip-channel.sh": swapped(*API, "vips=(192.168.111.5/32)"),
            "okd-control-plane-haproxy.nft": swapped(
                *API,
                "ip daddr 192.168.111.5 tcp dport 6443 redirect to :9445",
                'ip daddr 192.168.111.5 tcp dport 6443 oifname "lo" redirect to :9445',
            ),
        },
    ),
    "ingress-vip": Change(
        in_install_config("- ", *APPS),
        {
            NETWORK: {"ingress.vips[0]"},
            BOOTSTRAP: {"ignition_sha256", "ours"},
            CONTROL_PLANE: digests(*MASTERS),
        },
        {
            "okd-compute-keepalived.conf": claim(APPS),
            "okd-compute-okd-keepalived.service": service(APPS),
            "okd-compute-okd-keepalived": swapped(*APPS, "vips=(192.168.111.4)"),
            **each(
                everywhere("Corefile"),
                swapped(*APPS, 'answer "{{ .Name }} 60 IN A 192.168.111.4"'),
            ),
        },
    ),
    "peer": Change(
        before_the_installation(lambda project: project.configure(node_addresses={"okd-master-1": [PEER[1]]})),
        {
            MACHINES: {'hosts["okd-master-1"].address'},
            NETWORK: {'api.holders["okd-master-1"][0]'},
            BOOTSTRAP: {"nodes[1]", "ignition_sha256", "ours"},
            HANDOFF: {'nodes["okd-master-1"]'},
            FIRST_INSTALLATION: set(),
        },
        {
            **each(
                ["okd-bootstrap-keepalived.conf", *keepalived("okd-master-0", "okd-master-2")],
                swapped(*PEER, "192.168.111.22 min_ttl 255 max_ttl 255"),
            ),
            **each(keepalived("okd-master-1"), swapped(*PEER, "unicast_src_ip 192.168.111.22")),
            **each(everywhere("Corefile"), swapped(*PEER, "192.168.111.22 okd-master-1 okd-master-1.okd.lab.test")),
            "okd-control-plane-haproxy.cfg": swapped(
                *PEER,
                "server okd-master-1 192.168.111.22:6443",
            ),
        },
    ),
    "vrid": Change(
        lambda project: project.configure(vrids={"api": 77}),
        {
            NETWORK: {"api.router_id"},
            BOOTSTRAP: {"ignition_sha256", "ours"},
            CONTROL_PLANE: digests(*MASTERS),
        },
        each(["okd-bootstrap-keepalived.conf", *keepalived(*MASTERS)], swapped(*ROUTER, "virtual_router_id 67")),
    ),
    "weight": Change(
        lambda project: project.replace(
            "cluster/values/vrrp.py", "load_balancer: int = 20", "load_balancer: int = 19"
        ),
        {CONTROL_PLANE: digests(*MASTERS)},
        each(keepalived(*MASTERS), swapped(*WEIGHT, "weight 20")),
    ),
    "policy": Change(
        lambda project: project.configure(vrrp={"policy": "preempt"}),
        {BOOTSTRAP: {"ignition_sha256", "ours"}, CONTROL_PLANE: digests(*MASTERS)},
        {
            "okd-bootstrap-keepalived.conf": Lines(
                [LEAVES.format("the bootstrap lets go"), LETS_GO.format(-20), "weight -20", "priority 70"],
                [LEAVES.format("a control-plane node serves"), LETS_GO.format(-1), "weight -1", "priority 51"],
            ),
            "okd-bootstrap-okd-vip-channel.sh": Lines(['echo -20 >"$file"'], ['echo -1 >"$file"']),
            **{
                f"okd-hosts-{name}-keepalived.conf": swapped(
                    "the bootstrap lets go",
                    "a control-plane node serves",
                    f"# keepalived on {name}: the API VIP once the bootstrap lets go. Rendered by okd-baremetal.",
                )
                for name in MASTERS
            },
        },
    ),
    "forwarder": Change(
        lambda project: project.replace("assets/common/Corefile.j2", "{{ contract.UPSTREAMS }}", UPSTREAMS[1]),
        {BOOTSTRAP: {"ignition_sha256", "ours"}, CONTROL_PLANE: digests(*MASTERS)},
        each(everywhere("Corefile"), swapped(*UPSTREAMS, "forward . /run/okd-baremetal/upstreams {")),
    ),
    "domain": Change(
        in_install_config("baseDomain: ", *DOMAIN),
        {
            BOOTSTRAP: {"ignition_sha256", "ours"},
            PREFLIGHT: {"domain", "payload_values"},
            NETWORK: {"domain"},
            HANDOFF: {"domain"},
            CONTROL_PLANE: {"api_name", *digests(*MASTERS)},
        },
        each(everywhere("okd-coredns.service"), resolver(*DOMAIN))
        | each(
            everywhere("Corefile"),
            swapped(
                *DOMAIN,
                "template IN A apps.okd.lab.test {",
                "template IN AAAA apps.okd.lab.test {",
                "192.168.111.5 api.okd.lab.test api-int.okd.lab.test",
                *(
                    f"192.168.111.{number} {name} {name}.okd.lab.test"
                    for number, name in enumerate((*MASTERS, *WORKERS), start=21)
                ),
            ),
        ),
    ),
    "new-worker": Change(
        add_a_worker,
        {
            "create BmcHost okd-okd-worker-2": set(),
            "create RenderedAsset okd-hosts-okd-worker-2-hostname": set(),
            "create RenderedAsset okd-hosts-okd-worker-2-okd-machine-network.nmconnection": set(),
            PREFLIGHT: {'topology["compute.replicas"]', "payload_values"},
            NETWORK: {'ingress.holders["okd-worker-2"]'},
            CONTROL_PLANE: digests(*MASTERS),
            COMPUTE: {
                'hosts["okd-worker-2"]',
                'identities["okd-worker-2"]',
                'rows["okd-worker-2"]',
                "passwords",
                "keyfiles",
                *digests(*WORKERS, "okd-worker-2"),
            },
            INGRESS: {'nodes["okd-worker-2"]'},
            "update ClusterPower okd-power": {
                'hosts["okd-worker-2"]',
                'vips["192.168.111.4"]["okd-worker-2"]',
                "passwords",
            },
            MACHINES: {'hosts["okd-worker-2"]', "passwords"},
        },
        each(
            ["okd-control-plane-Corefile", "okd-compute-Corefile"],
            Lines([], ["192.168.111.26 okd-worker-2 okd-worker-2.okd.lab.test"]),
        ),
        phase="production",
    ),
    "byte-of-a-script": Change(
        lambda project: project.replace("assets/common/okd-check.sh", *USAGE),
        {CONTROL_PLANE: digests(*MASTERS), COMPUTE: digests(*WORKERS)},
        each(
            ["okd-control-plane-okd-check.sh", "okd-compute-okd-check.sh"],
            swapped(
                *USAGE,
                "# two, and plain bash costs half as much as curl. USAGE: okd-check.sh PORT PATH",
            ),
        ),
        phase="production",
    ),
    "deadline": Change(lambda project: project.configure(handoff={"deadline_s": 240}), {HANDOFF: {"deadline_s"}}),
    "payload": Change(
        lambda project: project.configure(payload={"master": "e5" * 32}),
        {
            PREFLIGHT: {"payload.master"},
            HANDOFF: {"payload_sha256"},
            CONTROL_PLANE: {"payload_sha256", *digests(*MASTERS)} - {"ours"},
        },
    ),
    "password": Change(
        change_a_password,
        # A preview cannot know that the BMC will name the same machine.
        {
            "update BmcHost okd-okd-master-1": {"password"},
            MACHINES: {"passwords"},
            CONTROL_PLANE: {"passwords", *(f'identities["okd-master-1"].{key}' for key in ("uuid", "serial"))},
        },
    ),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Previews run side by side: each keeps one core busy for seconds, in a folder of its own."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield pool


@pytest.fixture(scope="module")
def stacks(pool: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """The stacks by phase; the one in `production` is imported, as after a lost state."""
    folder = tmp_path_factory.mktemp("stacks")
    made = {
        phase: pool.submit(
            settled, folder / phase, OF_THE_STACK, phase=phase, import_production=phase == "production"
        )
        for phase in ("bootstrap", "production")
    }
    return {phase: project.result() for phase, project in made.items()}


@pytest.fixture(scope="module")
def reviews(
    pool: ThreadPoolExecutor, stacks: dict[str, Project], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[Review]]:
    """The previews of all changes, by name."""
    folder = tmp_path_factory.mktemp("changed")

    def review(name: str, change: Change) -> Review:
        project = stacks[change.phase].copy(folder / name)
        change.make(project)
        return project.preview()

    return {name: pool.submit(review, name, change) for name, change in CHANGES.items()}


@pytest.mark.parametrize("name", CHANGES)
def test_a_preview_shows_what_an_input_changes_and_nothing_else(
    reviews: dict[str, Future[Review]], name: str
) -> None:
    review, change = reviews[name].result(), CHANGES[name]
    assert review.files == change.files
    assert review.others == change.others
    for secret in (OF_THE_STACK, OF_THE_INSTALL_CONFIG, NEW_PASSWORD, *PULL_SECRETS, OUR_FILES):
        assert secret not in review.text


def test_an_upgrade_that_is_added_in_a_sleep_is_refused_by_a_preview(
    stacks: dict[str, Project], tmp_path: Path
) -> None:
    """The engine gives each provider process the options of this run; in the state, `power` is on."""
    project = stacks["production"].copy(tmp_path / "asleep")
    project.set(power="off", upgrade={"version": "4.21.3", "image": f"quay.io/okd/release@sha256:{'a' * 64}"})
    refused = project.pulumi("preview", fails=True)
    assert "upgrade: set for the first time with `power` off, so nothing can answer it. Fix: wake" in refused


@pytest.fixture(scope="module")
def previews(
    pool: ThreadPoolExecutor,
    stacks: dict[str, Project],
    reviews: dict[str, Future[Review]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Future[Review]]:
    """The same, and what an operator does to a whole stack."""
    folder = tmp_path_factory.mktemp("operated")

    def settled_then(name: str, **options: object) -> Review:
        project = stacks["bootstrap"].copy(folder / name)
        project.set(**options)
        return project.preview()

    return {
        **reviews,
        "nothing": pool.submit(stacks["bootstrap"].preview),
        "first": pool.submit(lambda: fresh(folder / "first").preview()),
        "to-production": pool.submit(settled_then, "to-production", phase="production"),
        "reinstall": pool.submit(settled_then, "reinstall", reinstall=REINSTALL),
        "consent": pool.submit(
            settled_then, "consent", consent={**plans.CONSENT, "okd-master-0": "NEW", "okd-worker-1": "ANOTHER"}
        ),
    }


REVIEWED = (*CHANGES, "nothing", "first", "to-production", "reinstall", "consent")


@pytest.mark.golden
@pytest.mark.parametrize("name", REVIEWED)
def test_a_review_equals_the_golden_one(previews: dict[str, Future[Review]], name: str, accept_golden: bool) -> None:
    found = markdown(page_of(read_preview(previews[name].result().text, name), plans.STACK))
    file = REVIEWS / f"{name}.md"
    if accept_golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(masked(found))
    assert masked(found) == file.read_text(), "`make accept`, then review"
    for secret in (OF_THE_STACK, OF_THE_INSTALL_CONFIG, NEW_PASSWORD, *PULL_SECRETS, OUR_FILES, "urn:pulumi"):
        assert secret not in found


@pytest.mark.golden
def test_every_golden_review_belongs_to_a_change(accept_golden: bool) -> None:
    wanted = {*REVIEWED, *REFUSED, *(f"to-production-{name}" for name in clusters.REVIEWED)}
    for path in REVIEWS.iterdir() if accept_golden else ():
        if path.stem not in wanted:
            path.unlink()
    assert {path.stem for path in REVIEWS.iterdir()} == wanted


def test_the_command_makes_the_preview_that_it_reviews(stacks: dict[str, Project], tmp_path: Path) -> None:
    project = stacks["bootstrap"].copy(tmp_path / "reviewed")
    project.set(reinstall=REINSTALL)
    done = project.review()
    assert (done.returncode, masked(done.stdout), done.stderr) == (0, (REVIEWS / "reinstall.md").read_text(), "")
    judged = project.review("--policy", "backend", "consent")
    assert judged.returncode == 4
    assert "  - the backend is `file:///" in judged.stdout
    assert "  - reinstall.okd-master-0: it is unknown when it was written: " in judged.stdout
    project.set(reinstall={"okd-master-0": "another"})
    refused = project.review()
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.startswith("pulumi preview: ")
    assert "reinstall.okd-master-0 names another, the host is a system, UUID" in line


REFUSED = {
    "refused-vips": [CHANGES[name].make for name in ("api-vip", "ingress-vip", "vrid")],
    "refused-address": [lambda project: project.configure(node_addresses={"okd-worker-1": [PEER[1]]})],
}
"""What a preview of a cluster in production refuses: by `check` of a resource, and by `diff` of one."""


@pytest.mark.golden
@pytest.mark.parametrize("name", REFUSED)
def test_a_review_begins_with_what_a_running_cluster_keeps(
    stacks: dict[str, Project], tmp_path: Path, name: str, accept_golden: bool
) -> None:
    project = stacks["production"].copy(tmp_path / "refused")
    for make in REFUSED[name]:
        make(project)
    done, file = project.review(), REVIEWS / f"{name}.md"
    if accept_golden:
        file.write_text(done.stdout)
    assert (done.returncode, done.stdout) == (2, file.read_text()), "`make accept`, then review"


def test_a_change_of_what_is_not_installed_is_shown_against_the_base(tmp_path: Path) -> None:
    project = fresh(tmp_path / "new")
    committed(project.program)
    project.configure(vrids={"api": 77})
    whole, compared = project.review(), project.review("--base", "HEAD")
    assert (whole.returncode, compared.returncode, compared.stderr) == (0, 0, "")
    verdict, _, rest = compared.stdout.partition("\n### Files\n")
    assert "resources that `up` has not created yet; below is only what this change makes different" in verdict
    assert sorted(line for line in rest.splitlines() if line.startswith(("-", "+"))) == [
        *["+    virtual_router_id 77"] * 4,
        *["-    virtual_router_id 67"] * 4,
    ]
    assert "| `api.router_id` | `67` | `77` | okd-network |" in rest
    assert len(compared.stdout) < len(whole.stdout) / 5
    unknown = project.review("--base", "elsewhere")
    assert (unknown.stdout, unknown.stderr[:29]) == (whole.stdout, "not compared with elsewhere: ")


def test_a_plain_preview_names_on_stdout_the_disk_that_it_wipes(stacks: dict[str, Project], tmp_path: Path) -> None:
    project = stacks["bootstrap"].copy(tmp_path / "wiped")
    project.set(reinstall=REINSTALL)
    assert "will be wiped and installed again, as `reinstall` requests: okd-master-0" in project.pulumi("preview")


def test_the_state_stores_the_secrets_encrypted(stacks: dict[str, Project]) -> None:
    for project in stacks.values():
        opened, closed = project.pulumi("stack", "export", "--show-secrets"), project.pulumi("stack", "export")
        for secret in (OF_THE_STACK, OF_THE_INSTALL_CONFIG, OUR_FILES):
            assert secret in opened
            assert secret not in closed
        # Pulumi itself keeps all options with its provider, the secret ones encrypted.
        first, *ours = json.loads(opened)["deployment"]["resources"]
        assert first["type"] == "pulumi:providers:pulumi-python"
        assert not any(secret in json.dumps(ours) for secret in PULL_SECRETS)
        assert not any(secret in closed for secret in PULL_SECRETS)


def test_a_preview_shows_a_text_change_line_by_line(stacks: dict[str, Project], tmp_path: Path) -> None:
    project = stacks["bootstrap"].copy(tmp_path / "changed")
    CHANGES["weight"].make(project)
    shown, _, _ = project.pulumi("preview", "--diff").partition("--outputs:--")
    marked = re.findall(r"^ *([~+-] .*)$", re.sub("[0-9a-f]{64}", "SHA256", shown), re.M)
    assert sorted(" ".join(line.split()) for line in marked) == sorted(
        [
            *["~ pulumi-python:dynamic/baremetal:RenderedAsset: (update)", "~ text:", "- weight 20", "+ weight 19"]
            * 3,
            "~ pulumi-python:dynamic/baremetal:HostProvisioning: (update)",
            "~ ignition_sha256: {",
            *(f'~ {name}: "SHA256" => "SHA256"' for name in MASTERS),
            "~ ours : [secret] => [secret]",
        ]
    )
