"""What a cluster of platform baremetal does with the objects of servers: metal3, machine-api and the etcd operator.

It acts on any store of objects, one in memory or a real Kubernetes API, and says what it would have done to a server.
Sources: metal3-io/baremetal-operator 02aa5059e, openshift/cluster-baremetal-operator 4ecb36c02,
cluster-api-provider-baremetal f2b0db19 (actuator.go), machine-api-operator 951196122 (nodelink),
cluster-etcd-operator b4786ae33 (clustermembercontroller).
"""

import copy
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

Object = dict[str, Any]
HOSTS, MACHINES, PROVISIONINGS = "baremetalhosts", "machines", "provisionings"
DETAILS = "inspect.metal3.io/hardwaredetails"
FINALIZER = {HOSTS: "baremetalhost.metal3.io", MACHINES: "machine.machine.openshift.io"}
EXISTS = ("unmanaged", "externally provisioned", "provisioned", "registering")
DETAIL_FIELDS = {"systemVendor", "firmware", "ramMebibytes", "nics", "storage", "cpu", "hostname"}
NIC_FIELDS = {"name", "model", "mac", "ip", "speedGbps", "vlans", "vlanId", "pxe", "lldp"}


class Store(Protocol):
    """The objects, by the plural of their kind."""

    def list(self, kind: str) -> list[Object]:
        """Return copies of all objects of a kind."""
        ...

    def put(self, kind: str, changed: Object) -> None:
        """Write an object with its status."""
        ...

    def remove(self, kind: str, name: str) -> None:
        """Remove an object, whatever its finalizers."""
        ...


@dataclass
class Metal3:
    """The controllers of one cluster."""

    store: Store
    nodes: dict[str, str]
    """Address of each node, by name."""
    holders_of_etcd: frozenset[str]
    """Names of the nodes that belong into etcd."""
    members: set[str]
    """Names of those that are in it."""
    touched: list[str] = field(default_factory=list)
    """What was done to servers."""
    kept_out: list[str] = field(default_factory=list)
    """Nodes that the etcd operator will never admit."""
    works: bool = False
    """Whether metal3 was deployed."""

    def step(self) -> None:
        """Have each controller look at each object once."""
        for provisioning in self.store.list(PROVISIONINGS):
            # cluster-baremetal-operator, controllers/provisioning_controller.go: a paused one is asked again later.
            self.works |= "provisioning.metal3.io/paused" not in _annotations(provisioning)
        if self.works:
            for host in self.store.list(HOSTS):
                self._host(host)
        for machine in self.store.list(MACHINES):
            self._machine(machine)
        self._etcd()

    def _host(self, host: Object) -> None:
        before, name = copy.deepcopy(host), host["metadata"]["name"]
        status, spec = host.setdefault("status", {}), host["spec"]
        spec.setdefault("bmc", {"address": "", "credentialsName": ""})  # the operator's type writes it so
        enrolled = bool(spec["bmc"]["address"]) and status.get("operationalStatus") != "detached"
        if "deletionTimestamp" in host["metadata"]:
            if enrolled and status.get("provisioning", {}).get("state") == "externally provisioned":
                self.touched.append(f"{name}: power off")
            self.store.remove(HOSTS, name)
            return
        if "baremetalhost.metal3.io/paused" in _annotations(host):
            if enrolled and status.get("provisioning"):
                self.touched.append(f"{name}: power on")  # Ironic's own power sync
            return
        _finalize(HOSTS, host)
        if details := _annotations(host).get(DETAILS):
            if not status.get("hardware") or _annotations(host).get("inspect.metal3.io") == "disabled":
                status["hardware"] = _known(json.loads(details))
            del host["metadata"]["annotations"][DETAILS]
        status["provisioning"] = {"state": self._state(name, host, enrolled)}
        if host != before:
            self.store.put(HOSTS, host)

    def _state(self, name: str, host: Object, enrolled: bool) -> str:
        """Return a host's next state, and note what leads to it."""
        spec, state = host["spec"], host["status"].get("provisioning", {}).get("state", "")
        if not spec["bmc"]["address"]:
            return "unmanaged"
        if spec.get("externallyProvisioned"):
            if enrolled:
                self.touched += [f"{name}: eject media", f"{name}: power on"]
            return "externally provisioned"
        if state == "available" and spec.get("consumerRef") and spec.get("customDeploy"):
            self.touched.append(f"{name}: wipe")
            return "provisioning"
        if state not in ("available", "provisioning"):
            self.touched.append(f"{name}: boot the agent")
        return state or "available"

    def _machine(self, machine: Object) -> None:
        before, name = copy.deepcopy(machine), machine["metadata"]["name"]
        host = self._host_of(machine)
        if "deletionTimestamp" in machine["metadata"]:
            self.nodes.pop(machine.get("status", {}).get("nodeRef", {}).get("name", ""), None)
            if host and _consumes(machine, host):
                del host["spec"]["consumerRef"]
                self.store.put(HOSTS, host)
            self.store.remove(MACHINES, name)
            return
        _finalize(MACHINES, machine)
        status = machine.setdefault("status", {})
        if host and _consumes(machine, host) and _state_of(host) in EXISTS:
            self._link(machine, host)
        elif machine["spec"].get("providerID"):
            status.update(phase="Failed", errorMessage="Can't find created instance.", addresses=[])
        else:
            status.update(phase="Provisioning", addresses=[])
            self._claim(machine, host or self._available(machine))
        if machine != before:
            self.store.put(MACHINES, machine)

    def _host_of(self, machine: Object) -> Object | None:
        own = machine["spec"].get("providerID", "").removeprefix("baremetalhost:///").split("/")
        hosts = {host["metadata"]["name"]: host for host in self.store.list(HOSTS)}
        if len(own) == 3:
            host = hosts.get(own[1])
            return host if host and host["metadata"]["uid"] == own[2] else None
        return hosts.get(_annotations(machine).get("metal3.io/BareMetalHost", "").rpartition("/")[2])

    def _available(self, machine: Object) -> Object | None:
        """Return the host that names the Machine, or any that nobody has claimed."""
        hosts = self.store.list(HOSTS)
        free = [host for host in hosts if _state_of(host) == "available" and "consumerRef" not in host["spec"]]
        wanted = [host for host in hosts if _consumes(machine, host)] or [
            host for host in free if not host["spec"].get("externallyProvisioned")
        ]
        return wanted[0] if wanted else None

    def _claim(self, machine: Object, host: Object | None) -> None:
        if host is None:
            return
        before, value = copy.deepcopy(host), machine["spec"]["providerSpec"]["value"]
        assert value["customDeploy"]["method"], "a Machine without it is an invalid configuration"
        reference = {"kind": "Machine", "apiVersion": machine["apiVersion"]}
        reference |= {key: machine["metadata"][key] for key in ("name", "namespace")}
        host["spec"].update(customDeploy=value["customDeploy"], online=True, consumerRef=reference)
        if host != before:
            self.store.put(HOSTS, host)

    def _link(self, machine: Object, host: Object) -> None:
        meta, hardware = host["metadata"], host.get("status", {}).get("hardware", {})
        machine["spec"]["providerID"] = f"baremetalhost:///{meta['namespace']}/{meta['name']}/{meta['uid']}"
        addresses = [nic["ip"] for nic in hardware.get("nics", ())]
        node = next((name for name, own in self.nodes.items() if addresses[:1] == [own]), None)
        # Once there, the reference stays, whatever becomes of the node or the addresses.
        reference = {"name": node} if node else machine.get("status", {}).get("nodeRef")
        machine["status"] = {"phase": "Running", "nodeRef": reference} if reference else {"phase": "Provisioned"}
        machine["status"]["addresses"] = addresses

    def _etcd(self) -> None:
        """Once one Machine of these pools runs, a node without one that has its address stays out for ever.

        Their label: pkg/operator/starter.go of cluster-etcd-operator, b4786ae33.
        """
        label = "machine.openshift.io/cluster-api-machine-role"
        pools = ("master", "arbiter")
        machines = [each for each in self.store.list(MACHINES) if each["metadata"]["labels"].get(label) in pools]
        running = [each for each in machines if each.get("status", {}).get("phase") == "Running"]
        linked = {each["status"]["nodeRef"]["name"] for each in running}
        if running:
            self.kept_out += sorted(self.holders_of_etcd - self.members - linked)


def _known(details: Object) -> Object:
    """Return hardware details, whose unknown fields the operator refuses."""
    assert not details.keys() - DETAIL_FIELDS, details
    assert not {key for nic in details["nics"] for key in nic} - NIC_FIELDS, details
    return details


def _annotations(owner: Object) -> dict[str, str]:
    return dict(owner["metadata"].get("annotations") or {})


def _state_of(host: Object) -> str:
    return str(host.get("status", {}).get("provisioning", {}).get("state", ""))


def _consumes(machine: Object, host: Object) -> bool:
    reference, meta = host["spec"].get("consumerRef") or {}, machine["metadata"]
    wanted = (machine["apiVersion"], "Machine", meta["name"], meta["namespace"])
    return tuple(reference.get(key) for key in ("apiVersion", "kind", "name", "namespace")) == wanted


def _finalize(kind: str, owned: Object) -> None:
    finalizers = owned["metadata"].setdefault("finalizers", [])
    if FINALIZER[kind] not in finalizers:
        finalizers.append(FINALIZER[kind])
