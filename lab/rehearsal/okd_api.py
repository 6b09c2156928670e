"""What the API of OKD has beyond that of Kubernetes, as the cluster-version operator makes it there.

The schemas of the kinds have only what their objects must have (`testing.fakes.okd_kinds`); the rules of metal3's web
hook are there.
"""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from lab.rehearsal.client import Client
from testing.fakes.metal3 import HOSTS, MACHINES, PROVISIONINGS, Object
from testing.fakes.okd_kinds import ANY_SCHEMA, OPERATOR_SCHEMA, VERSION_SCHEMA

NAMESPACE, METAL3, MACHINE = "openshift-machine-api", "metal3.io/v1alpha1", "machine.openshift.io/v1beta1"
CONFIG = "config.openshift.io/v1"
PATHS = {
    HOSTS: f"/apis/{METAL3}/namespaces/{NAMESPACE}/{HOSTS}",
    MACHINES: f"/apis/{MACHINE}/namespaces/{NAMESPACE}/{MACHINES}",
    PROVISIONINGS: f"/apis/{METAL3}/{PROVISIONINGS}",
}
"""The collection of each kind of object of servers."""
INFRASTRUCTURES, VERSIONS, OPERATORS = (
    f"/apis/{CONFIG}/{plural}" for plural in ("infrastructures", "clusterversions", "clusteroperators")
)
PUBLISHED = "openshift-config-managed"
"""The namespace of what operators publish."""
_NAMESPACES = "/api/v1/namespaces"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_KINDS = {
    HOSTS: ("BareMetalHost", METAL3, "Namespaced"),
    MACHINES: ("Machine", MACHINE, "Namespaced"),
    PROVISIONINGS: ("Provisioning", METAL3, "Cluster"),
    "infrastructures": ("Infrastructure", CONFIG, "Cluster"),
    "clusterversions": ("ClusterVersion", CONFIG, "Cluster"),
    "clusteroperators": ("ClusterOperator", CONFIG, "Cluster"),
}
_SCHEMAS = {"clusterversions": VERSION_SCHEMA, "clusteroperators": OPERATOR_SCHEMA}
_ANNOTATIONS = "object.metadata.?annotations.orValue({})"
_RULES = {
    # baremetal-operator 02aa5059e, baremetalhost_validation.go; 19e11f5bb of OKD 4.20 and later
    "when hardware details are provided, the inspection must be disabled": (
        f"!('inspect.metal3.io/hardwaredetails' in {_ANNOTATIONS}) || "
        f"{_ANNOTATIONS}[?'inspect.metal3.io'].orValue('') == 'disabled'"
    ),
    "externallyProvisioned can not be changed": (
        "request.operation == 'CREATE' || object.spec.?externallyProvisioned.orValue(false) == "
        "oldObject.spec.?externallyProvisioned.orValue(false)"
    ),
    "bootMACAddress can not be changed once it is set": (
        "request.operation == 'CREATE' || object.spec.?bootMACAddress.orValue('') == "
        "oldObject.spec.?bootMACAddress.orValue('')"
    ),
}


@dataclass(frozen=True)
class OkdApi:
    """Writes as an operator of the cluster. It implements the `Store` of `testing.fakes.metal3`.

    Every call may raise OSError and http.client.HTTPException: the API does not answer, or refuses.
    """

    client: Client

    def list(self, kind: str) -> list[Object]:
        """See `Store`."""
        return list(self.client.call("GET", PATHS[kind])["items"])

    def put(self, kind: str, changed: Object) -> None:
        """See `Store`. The status goes first: a host's hardware details are in it before their annotation goes."""
        path = f"{PATHS[kind]}/{changed['metadata']['name']}"
        written = self.client.call("PUT", f"{path}/status", changed)
        newest = {"resourceVersion": written["metadata"]["resourceVersion"]}
        self.client.call("PUT", path, {**changed, "metadata": {**changed["metadata"], **newest}})

    def remove(self, kind: str, name: str) -> None:
        """See `Store`: what is deleted goes with its last finalizer."""
        path = f"{PATHS[kind]}/{name}"
        found = self.client.call("GET", path)
        self.client.call("PUT", path, {**found, "metadata": {**found["metadata"], "finalizers": []}})

    def prepare(self, infrastructure: Object) -> None:
        """Make what OKD has; safe to repeat, and to be repeated until the API serves all kinds."""
        for plural, (kind, api, scope) in _KINDS.items():
            self.ensure(_CRDS, _crd(plural, kind, api, scope))
        self.ensure(f"{_ADMISSION}/validatingadmissionpolicies", _policy())
        binding = {"policyName": "baremetalhosts.metal3.io", "validationActions": ["Deny"]}
        bound = {"metadata": {"name": "baremetalhosts.metal3.io"}, "spec": binding}
        self.ensure(f"{_ADMISSION}/validatingadmissionpolicybindings", bound)
        for namespace in (NAMESPACE, PUBLISHED):
            self.ensure(_NAMESPACES, {"metadata": {"name": namespace}})
        self.ensure(INFRASTRUCTURES, infrastructure)
        self.report(INFRASTRUCTURES, infrastructure)
        for path in PATHS.values():
            self.client.call("GET", path)

    def tell_topology(self, infrastructure: Object) -> None:
        """Say what OKD takes the cluster for, and what is wanted of it; to be repeated until the API serves that."""
        kind, path = "infrastructures", f"{INFRASTRUCTURES}/{infrastructure['metadata']['name']}"
        self.ensure(_CRDS, _crd(kind, *_KINDS[kind]))
        found = self.ensure(INFRASTRUCTURES, infrastructure)
        newest = self.client.call("PUT", path, {**found, "spec": infrastructure["spec"]})
        self.client.call("PUT", f"{path}/status", {**newest, "status": infrastructure["status"]})

    def report(self, collection: str, wanted: Object) -> None:
        """Give an object a status, and make it if it is missing."""
        found = self.ensure(collection, wanted)
        if found.get("status") != wanted["status"]:
            path = f"{collection}/{wanted['metadata']['name']}/status"
            self.client.call("PUT", path, {**found, "status": wanted["status"]})

    def report_condition(self, path: str, wanted: Mapping[str, str]) -> None:
        """Give an object a condition, in place of the one of its type."""
        found = self.client.call("GET", path)
        conditions = found.get("status", {}).get("conditions", [])
        others = [each for each in conditions if each["type"] != wanted["type"]]
        if [*others, wanted] != conditions:
            self.client.call("PUT", f"{path}/status", {**found, "status": {"conditions": [*others, wanted]}})

    def keep(self, collection: str, wanted: Object) -> None:
        """Give an object its data, and make it if it is missing."""
        found = self.ensure(collection, wanted)
        if found.get("data") != wanted["data"]:
            path = f"{collection}/{wanted['metadata']['name']}"
            self.client.call("PUT", path, {**found, "data": wanted["data"]})

    def publish(self, name: str, data: Mapping[str, str]) -> None:
        """Give a ConfigMap of what operators publish its data."""
        self.keep(f"{_NAMESPACES}/{PUBLISHED}/configmaps", {"metadata": {"name": name}, "data": data})

    def refuses_details(self) -> bool:
        """Whether the rules are in force."""
        annotations = {"inspect.metal3.io/hardwaredetails": "{}"}
        host = {"apiVersion": METAL3, "kind": "BareMetalHost", "spec": {"online": True}}
        try:
            probe = {**host, "metadata": {"name": "probe", "annotations": annotations}}
            self.client.call("POST", f"{PATHS[HOSTS]}?dryRun=All", probe)
        except http.client.HTTPException:
            return True
        return False

    def ensure(self, collection: str, wanted: Object) -> Object:
        """Return an object, which is made if it is missing."""
        path = f"{collection}/{wanted['metadata']['name']}"
        try:
            return self.client.call("GET", path)
        except http.client.HTTPException as error:
            if error.args[:1] != (HTTPStatus.NOT_FOUND,):
                raise
        return self.client.call("POST", collection, wanted)


def _crd(plural: str, kind: str, api: str, scope: str) -> Object:
    group, _, version = api.partition("/")
    schema = {"openAPIV3Schema": _SCHEMAS.get(plural, ANY_SCHEMA)}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    spec = {"group": group, "scope": scope, "names": names, "versions": [served]}
    annotations = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1111"}
    return {"metadata": {"name": f"{plural}.{group}", "annotations": annotations}, "spec": spec}


def _policy() -> Object:
    rule = {
        "apiGroups": ["metal3.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["baremetalhosts"],
    }
    validations = [{"expression": own, "message": text, "reason": "Forbidden"} for text, own in _RULES.items()]
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    return {"metadata": {"name": "baremetalhosts.metal3.io"}, "spec": spec}
