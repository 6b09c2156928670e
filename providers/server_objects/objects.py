"""The objects of a cluster of platform baremetal for its servers, rendered from the plan, and their paths in its API.

A server has a BareMetalHost and a Machine, both with its own name, which is also that of its node. The BareMetalHost
has no `bmc`: the cluster's metal3 then calls the server unmanaged, and never touches it (ADR 63).
Sources: metal3-io/baremetal-operator 02aa5059e, openshift/cluster-api-provider-baremetal f2b0db19.
"""

import json
from typing import Any

from cluster.plan import ClusterPlan, Role, Server

NAMESPACE = "openshift-machine-api"
HOST, MACHINE, PROVISIONING = "BareMetalHost", "Machine", "Provisioning"
METAL3, MACHINES = "metal3.io/v1alpha1", "machine.openshift.io/v1beta1"
COLLECTIONS = {
    HOST: f"/apis/{METAL3}/namespaces/{NAMESPACE}/baremetalhosts",
    MACHINE: f"/apis/{MACHINES}/namespaces/{NAMESPACE}/machines",
    PROVISIONING: f"/apis/{METAL3}/provisionings",
}
"""Path of the collection of each kind, in the order in which they are made.

A Machine that finds no host of its own claims any available one, whose disk is then wiped: so hosts come before it.
metal3 starts with the Provisioning object: until then, no Machine is linked to a node.
"""
DETAILS = "inspect.metal3.io/hardwaredetails"
"""Annotation of a host that nobody inspects; the baremetal-operator moves it into the status."""
PAUSED = {HOST: "baremetalhost.metal3.io/paused", PROVISIONING: "provisioning.metal3.io/paused"}
"""The annotation with which an object of a kind is not acted upon."""
CLUSTER_LABEL = "machine.openshift.io/cluster-api-cluster"
"""Label of a Machine: the infrastructure name of the cluster, which only the cluster knows."""

Manifest = dict[str, Any]


def manifests(plan: ClusterPlan) -> dict[str, Manifest]:
    """Return the manifest of each object by its kind and name, as `Machine/okd-worker-0`."""
    hosts = {f"{HOST}/{server.name}": _host(server) for server in plan.servers}
    machines = {f"{MACHINE}/{server.name}": _machine(server) for server in plan.servers}
    return {**hosts, **machines, f"{PROVISIONING}/{_PROVISIONING['metadata']['name']}": _PROVISIONING}


def path_of(name: str) -> str:
    """Return the path of an object in the API, from its kind and name."""
    kind, _, own = name.partition("/")
    return f"{COLLECTIONS[kind]}/{own}"


# The operator's own DHCP and network boot would reach servers in any other mode.
_PROVISIONING: Manifest = {
    "apiVersion": METAL3,
    "kind": PROVISIONING,
    "metadata": {"name": "provisioning-configuration"},
    "spec": {"provisioningNetwork": "Disabled"},
}


def _host(server: Server) -> Manifest:
    nics = [{"ip": str(address), "mac": server.boot_mac} for address in server.addresses]
    details = json.dumps({"hostname": server.name, "nics": nics}, sort_keys=True)
    role = {"installer.openshift.io/role": "control-plane"} if server.role is Role.CONTROL_PLANE else {}
    return {
        "apiVersion": METAL3,
        "kind": HOST,
        "metadata": {
            "name": server.name,
            "namespace": NAMESPACE,
            # The web hook of OKD 4.20 and later refuses details beside an inspection.
            "annotations": {DETAILS: details, "inspect.metal3.io": "disabled"},
            "labels": role,
        },
        "spec": {
            "online": True,
            "externallyProvisioned": True,
            "bootMACAddress": server.boot_mac,
            "consumerRef": {
                "apiVersion": MACHINES,
                "kind": MACHINE,
                "name": server.name,
                "namespace": NAMESPACE,
            },
        },
    }


def _machine(server: Server) -> Manifest:
    pool = server.role.pool
    return {
        "apiVersion": MACHINES,
        "kind": MACHINE,
        "metadata": {
            "name": server.name,
            "namespace": NAMESPACE,
            "annotations": {"metal3.io/BareMetalHost": f"{NAMESPACE}/{server.name}"},
            "labels": {
                "machine.openshift.io/cluster-api-machine-role": pool,
                "machine.openshift.io/cluster-api-machine-type": pool,
            },
        },
        "spec": {
            "providerSpec": {
                "value": {
                    "apiVersion": "baremetal.cluster.k8s.io/v1alpha1",
                    "kind": "BareMetalMachineProviderSpec",
                    # Wanted of every Machine, and of no effect on a host that is provisioned externally.
                    "customDeploy": {"method": "install_coreos"},
                    "hostSelector": {},
                    "userData": {"name": f"{pool}-user-data-managed"},
                }
            }
        },
    }
