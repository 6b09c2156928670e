"""Proofs of the objects of servers on platform baremetal, which metal3 and machine-api act upon meanwhile."""

from base64 import b64decode
from dataclasses import dataclass

from base.log_entries import Event
from base.yaml_text import parse_yaml
from cluster.plan import Intent
from lab.rehearsal.client import Client
from lab.rehearsal.okd import Okd
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from payload.kubeconfig import kubeconfig_path
from testing.fakes.metal3 import HOSTS, MACHINES, PROVISIONINGS, Object

NONE = "none"
_PAUSED = {HOSTS: "baremetalhost.metal3.io/paused", PROVISIONINGS: "provisioning.metal3.io/paused"}
_KINDS = (HOSTS, MACHINES, PROVISIONINGS)


@dataclass(frozen=True)
class ObjectProofs:
    """Proofs of one cluster."""

    okd: Okd
    stack: Stack
    plan: Intent
    report: Report

    @property
    def api(self) -> OkdApi:
        """The API, over a connection of its own: that of the operators is theirs."""
        used = self.okd.api.client
        return OkdApi(Client(used.address, used.server_name, used.tls, used.port))

    def are_linked(self) -> None:
        """Prove that nobody manages a server, and that each Machine is its node.

        The order in which they were made is not asked: the API servers that dated them have a clock each.
        """
        found = {kind: self.api.list(kind) for kind in _KINDS}
        names = [server.name for server in self.plan.servers]
        states = {
            _name(host): host.get("status", {}).get("provisioning", {}).get("state", NONE) for host in found[HOSTS]
        }
        self._each("state of each BareMetalHost", dict.fromkeys(names, "unmanaged"), states)
        nodes = {_name(machine): _running_as(machine) for machine in found[MACHINES]}
        self._each("phase and node of each Machine", {name: f"Running, {name}" for name in names}, nodes)
        paused = [f"{kind}/{_name(each)}" for kind in _PAUSED for each in found[kind] if _is_paused(kind, each)]
        self.report.prove("objects that are paused", wanted=NONE, seen=", ".join(paused) or NONE)

    def routers_are_trusted(self) -> None:
        """Prove that the operator's kubeconfig has the CA of OKD's routers."""
        path = self.stack.project / kubeconfig_path(self.stack.name)
        trusted = b64decode(parse_yaml(path.read_text())["clusters"][0]["cluster"]["certificate-authority-data"])
        seen = trusted.startswith(self.okd.router_ca.strip().encode())
        self.report.prove("the routers' CA is in auth/kubeconfig", wanted=True, seen=seen)

    def are_repaired(self) -> None:
        """Prove that a refresh names what somebody paused, and that `up` has metal3 act again last."""
        host = self.plan.servers[-1].name
        with self.report.step("objects that somebody paused"):
            provisioning = _name(self.api.list(PROVISIONINGS)[0])
            for kind, name in ((PROVISIONINGS, provisioning), (HOSTS, host)):
                self._pause(kind, name)
            text = self.stack.run("refresh", "--yes", "--skip-preview")
            named = sum(f"annotation {annotation}, wanted none" in text for annotation in _PAUSED.values())
            self.report.prove("paused objects that a refresh names", wanted=len(_PAUSED), seen=named)
            self.stack.run("up", "--yes", "--skip-preview")
            self.are_linked()
            # The API does not tell: metal3 writes to the host again once it has taken its details.
            writes = [line["text"].split()[-1] for line in self.stack.log_lines() if line["event"] == Event.WRITE]
            wanted = f"{HOSTS}/{host}, {PROVISIONINGS}/{provisioning}"
            self.report.prove("the host is repaired before metal3 acts", wanted=wanted, seen=", ".join(writes[-2:]))

    def touched_no_server(self) -> None:
        """Prove that metal3 would have touched no server, and that etcd's operator kept no member out."""
        self.okd.stop()
        for what, found in (
            ("faults of the lab's OKD", self.okd.problems),
            ("what metal3 did to servers", self.okd.metal3.touched),
            ("nodes that the etcd operator kept out", self.okd.metal3.kept_out),
        ):
            self.report.prove(what, wanted=NONE, seen=", ".join(sorted({*found})) or NONE)
        self.report.prove("metal3 was at work", wanted=True, seen=self.okd.metal3.works)

    def _each(self, what: str, wanted: dict[str, str], seen: dict[str, str]) -> None:
        self.report.prove_each(what, wanted=wanted, seen={**dict.fromkeys(wanted, NONE), **seen})

    def _pause(self, kind: str, name: str) -> None:
        (found,) = (own for own in self.api.list(kind) if _name(own) == name)
        found["metadata"].setdefault("annotations", {})[_PAUSED[kind]] = ""
        self.api.put(kind, found)


def _name(own: Object) -> str:
    return str(own["metadata"]["name"])


def _is_paused(kind: str, own: Object) -> bool:
    return _PAUSED[kind] in (own["metadata"].get("annotations") or {})


def _running_as(machine: Object) -> str:
    status = machine.get("status", {})
    return f"{status.get('phase', NONE)}, {status.get('nodeRef', {}).get('name', NONE)}"
