"""Sites whose servers are BMCs of the fake fleet, in one repository of stacks with a clone per site."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml
from temporalio.client import Client

from cluster.install_config import read
from fleet import desk
from fleet.approvers import write_approver
from fleet.connection import NAMESPACE
from fleet.desk import ClusterStatus
from fleet.keys import write_key
from fleet.workflows import APPROVAL, STOPPED, cluster_id
from testing import payloads, plans
from testing.checkout import ROOT
from testing.fakes.fleet.certificates import API_NAME
from testing.fakes.fleet.fleet import OFF, Fleet, Options, Pace, running_in_process, uuid_of
from testing.git import committed, git
from testing.install_configs import bare
from testing.live_iso import live_iso
from testing.pulumi_env import site_env

ROLES = ("master", "master", "master", "worker", "worker")
"""The servers of a cluster."""
INSTALLED = Counter({"On": 2})
"""The resets of a server that is off, and is installed: for the installer, and for the installed system."""
PASSPHRASE = "correct-horse-of-the-site"
LONGEST_S = 300
POLL_S = 0.5

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Got:
    """The resets of a server by its BMC, and its installations."""

    resets: Counter[str]
    installs: int


class LateError(Exception):
    """A step was not reached in time."""


@contextmanager
def servers_of(clusters: int, pace: Pace) -> Iterator[Fleet]:
    """Run the servers of that many clusters in a process: they are off, their disks are empty."""
    with running_in_process(Options(hosts=clusters * len(ROLES), pace=pace)) as fleet:
        fleet.change(**OFF)
        fleet.forget()
        yield fleet


@dataclass(frozen=True)
class Cluster:
    """One cluster of the fake fleet.

    Args:
        number: From 0, over all sites; its servers are hosts `5 * number` to `5 * number + 4`.
    """

    name: str
    site: str
    number: int

    @property
    def hosts(self) -> dict[str, int]:
        """The number in the fake fleet of each server, by its name."""
        first = self.number * len(ROLES)
        return {f"{self.name}-{role}-{index}": first + index for index, role in enumerate(ROLES)}

    def install_config(self, fleet: Fleet) -> dict[str, Any]:
        """Return the rehearsal's install-config with this cluster's name, VIPs, cards and BMCs."""
        config = plans.install_config()
        config["metadata"]["name"] = self.name
        section = bare(config)
        section.update(apiVIPs=[f"192.168.111.{100 + 2 * self.number}"])
        section.update(ingressVIPs=[f"192.168.111.{101 + 2 * self.number}"])
        section["externalMACAddress"] = f"52:54:01:00:{self.number:02x}:ff"
        for host, (name, index) in zip(section["hosts"], self.hosts.items(), strict=True):
            host.update(name=name, bootMACAddress=f"52:54:01:00:{self.number:02x}:{index % len(ROLES):02x}")
            # Only the site has the login: the BMC refuses this one.
            host["bmc"].update(address=fleet.address(index), username="admin", password="in-no-one-s-hands")
        return config

    def payload(self, fleet: Fleet) -> dict[str, bytes]:
        """Return the files of openshift-install, which trust the API of the fake fleet's servers too."""
        config = read(plans.written(self.install_config(fleet))).config
        return payloads.written(payloads.good(datetime.now(UTC), config, beside=fleet.ca))

    def options(self, payload: Mapping[str, bytes]) -> dict[str, Any]:
        """Return the stack's options, with addresses of this cluster only, which pin its payload."""
        bootstrap, *nodes = (f"192.168.111.{120 + 10 * self.number + machine}" for machine in range(len(ROLES) + 1))
        consent = {name: uuid_of(index) for name, index in self.hosts.items()}
        pins = {name: hashlib.sha256(content).hexdigest() for name, content in payload.items()}
        return plans.options(
            bootstrap={**plans.options()["bootstrap"], "address": [bootstrap]},
            node_addresses={name: [address] for name, address in zip(self.hosts, nodes, strict=True)},
            consent=consent,
            payload=pins,
        )


class Sites:
    """A repository of stacks, a clone per site, and the secrets of each site.

    Args:
        folder: An empty folder.
        fleet: The fleet with the servers.
        clusters: Names of clusters by site.
        server: Environment of a worker with the addresses of server and state.
        waves: As in `fleet.yaml`.
    """

    def __init__(
        self,
        folder: Path,
        fleet: Fleet,
        clusters: Mapping[str, Sequence[str]],
        server: Mapping[str, str],
        waves: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.folder, self.fleet, self.address = folder, fleet, server["TEMPORAL_ADDRESS"]
        named = [(name, site) for site, names in clusters.items() for name in names]
        self.clusters = {name: Cluster(name, site, number) for number, (name, site) in enumerate(named)}
        write_key(folder / "key")
        self._approver = write_approver(folder / "approver.key")
        self.payloads = {name: cluster.payload(fleet) for name, cluster in self.clusters.items()}
        self.base = live_iso()
        self._server = dict(server)
        self.origin = self._repository(clusters, waves)
        for site in clusters:
            self._clone(site)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the worker of workflows: no secret of a site, and no key of an approver."""
        server = {key: value for key, value in self._server.items() if key.startswith("TEMPORAL_")}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {
            **server,
            "PATH": path,
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "FLEET_KEY_FILE": str(self.folder / "key"),
        }

    @property
    def approver_env(self) -> dict[str, str]:
        """What only the operator has beside that."""
        return {"FLEET_APPROVER_KEY_FILE": str(self.folder / "approver.key")}

    def site_env(self, site: str) -> dict[str, str]:
        """Return the environment of a site's worker."""
        return {
            **site_env(self.folder / site),
            **self._server,
            "FLEET_KEY_FILE": str(self.folder / "key"),
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "TMPDIR": str(self.folder),  # a worker that is killed leaves its temporary folder
        }

    def root(self, site: str) -> Path:
        """Return a site's clone."""
        return self.folder / site / "clone"

    def worker(self, site: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """Start the worker of a site, or that of the workflows, and return it once it polls.

        Args:
            environment: Values that replace those of the default environment.
        """
        words = ["--site", site] if site else []
        env, folder = (self.site_env(site), self.root(site)) if site else (self.env, self.origin)
        with (self.folder / f"worker-{site or 'workflows'}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "cli", "fleet", "worker", *words],
                cwd=folder,
                env=env | environment,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdout is not None
        assert process.stdout.readline(), (self.folder / f"worker-{site or 'workflows'}.log").read_text()
        return process

    def start(self, *clusters: str, **fields: object) -> None:
        """Start a rollout of some clusters, named after the first.

        Args:
            fields: Further ones of its file.
        """
        sites: dict[str, list[str]] = {}
        for cluster in clusters:
            sites.setdefault(self.clusters[cluster].site, []).append(cluster)
        file = self.origin / f"{clusters[0]}.yaml"
        file.write_text(yaml.safe_dump({"sites": sites, "waves": [{"at_a_time": len(clusters)}], **fields}))
        self.command("start", file.name, "--name", clusters[0])

    def command(self, *words: str, code: int = 0, **environment: str) -> str:
        """Run `okd-baremetal fleet`, and return what it prints.

        Args:
            environment: Values that replace those of the operator's.
        """
        done = subprocess.run(
            [sys.executable, "-m", "cli", "fleet", *words],
            cwd=self.origin,
            env=self.env | self.approver_env | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def review(self, cluster: str) -> str:
        """Return the review of a cluster, as its site's own CI makes it of a pull request."""
        site = self.clusters[cluster].site
        command = [sys.executable, "-m", "cli", "review", cluster]
        return subprocess.run(
            command, cwd=self.root(site), env=self.site_env(site), capture_output=True, text=True, check=True
        ).stdout

    def status(self) -> list[ClusterStatus]:
        """Return the table of these clusters, which the server has unsealed; other tests may have theirs there."""
        return [row for row in self._query(desk.cluster_statuses) if row.cluster in self.clusters]

    def until(self, cluster: str, step: str) -> None:
        """Wait until a cluster is at a step.

        Raises:
            LateError: It is not, or a cluster has stopped.
        """
        self.wait(
            lambda: any((row.cluster, row.step) == (cluster, step) for row in self.status()), f"{cluster}: {step}"
        )

    def wait(self, is_true: Callable[[], bool], what: str) -> None:
        """Wait until `is_true`.

        Raises:
            LateError: It is not in time, or a cluster has stopped.
        """
        began = time.monotonic()
        while not is_true():
            table = self.status()
            if stopped := [row.cluster for row in table if row.step.endswith(STOPPED)]:
                raise LateError("\n".join(self.command("status", cluster) for cluster in stopped))
            if time.monotonic() - began > LONGEST_S:
                raise LateError(f"not within {LONGEST_S} s: {what}; {table}")
            time.sleep(POLL_S)

    def approve(self, cluster: str, phase: str) -> str:
        """Wait for a cluster's preview, approve it, and return what `status` and `approve` print."""
        self.until(cluster, f"{phase}: {APPROVAL}")
        shown = self.command("status", cluster)
        return shown + self.command("approve", cluster, shown.split()[-1], "--by", "the-operator")

    def attempt(self, cluster: str) -> int:
        """Return the number of the attempt that runs, or that the server wants since the one before fell silent."""

        async def asked(client: Client) -> int:
            described = await client.get_workflow_handle(cluster_id(cluster)).describe()
            return max((pending.attempt for pending in described.raw_description.pending_activities), default=0)

        return self._query(asked)

    def got(self, cluster: str) -> dict[str, Got]:
        """Return the resets and installations of each server of a cluster."""
        figures = {name: self.fleet.figures(host) for name, host in self.clusters[cluster].hosts.items()}
        return {name: Got(counted.resets, counted.installs) for name, counted in figures.items()}

    def wanted(self, cluster: str) -> dict[str, Got]:
        """Return the same in production, by the state of each server now: docs/explanation/servers.md."""
        totals = self.got(cluster)
        for name, host in self.clusters[cluster].hosts.items():
            state, got = self.fleet.state(host), totals[name]
            if state.power == "On" and not state.image:
                continue
            # An interrupted installation is ended first. Then the server boots from its ISO, and from its disk.
            interrupted = Counter({"ForceOff": 1} if state.power == "On" else {})
            totals[name] = Got(got.resets + interrupted + INSTALLED, got.installs + 1)
        return totals

    def _query(self, query: Callable[[Client], Awaitable[Answer]]) -> Answer:
        async def asked() -> Answer:
            return await query(await Client.connect(self.address, namespace=NAMESPACE))

        return asyncio.run(asked())

    def _repository(self, clusters: Mapping[str, Sequence[str]], waves: Sequence[Mapping[str, Any]]) -> Path:
        origin = self.folder / "stacks.git"
        shutil.copytree(ROOT / "testing" / "sites" / "program", origin, ignore=shutil.ignore_patterns("__pycache__"))
        (origin / ".gitignore").write_text("/.fleet/\n/stacks/*/payload/\n/log/\n__pycache__/\n")
        for cluster in self.clusters.values():
            folder = origin / "stacks" / cluster.name
            folder.mkdir(parents=True)
            (folder / "install-config.yaml").write_text(yaml.safe_dump(cluster.install_config(self.fleet)))
            chosen = cluster.options(self.payloads[cluster.name])
            options = {f"{plans.PROJECT}:{name}": value for name, value in chosen.items()}
            (origin / "stacks" / f"Pulumi.{cluster.name}.yaml").write_text(yaml.safe_dump({"config": options}))
        plan: dict[str, Any] = {
            "sites": {site: list(names) for site, names in clusters.items()},
            "approvers": {"operator": self._approver},
        }
        if waves:
            plan["waves"] = list(waves)
        (origin / "fleet.yaml").write_text(yaml.safe_dump(plan))
        committed(origin)
        return origin

    def _clone(self, site: str) -> None:
        """Clone the repository, and add the site's own files: payloads, logins, a base ISO."""
        root, clusters = self.root(site), [cluster for cluster in self.clusters.values() if cluster.site == site]
        git(self.folder, "clone", "-q", str(self.origin), str(root))
        for cluster in clusters:
            folder = root / "stacks" / cluster.name / "payload"
            folder.mkdir()
            for name, content in self.payloads[cluster.name].items():
                (folder / f"{name}.ign").write_bytes(content)
        base_sha256 = hashlib.sha256(self.base).hexdigest()
        cached = self.folder / site / "cache" / "okd-baremetal" / "images" / base_sha256
        cached.parent.mkdir(parents=True)
        cached.write_bytes(self.base)
        known = {
            "username": self.fleet.options.username,
            "password": self.fleet.options.password,
            "ca": self.fleet.ca,
            "api_name": API_NAME,
            "base_iso_sha256": base_sha256,
            "nodes": {name: self.fleet.node(index) for cluster in clusters for name, index in cluster.hosts.items()},
        }
        (self.folder / site / "site.json").write_text(json.dumps(known))
