"""What OKD's own kinds require of their objects, for stand-ins: the `required` of the real CRDs, and no more of them.

Source: openshift/api 2a3d73913, config/v1/zz_generated.crd-manifests, `clusterversions-OKD` and `clusteroperators`.
A kube-apiserver takes these schemas as they are.
"""

from typing import Any

Object = dict[str, Any]
SINCE = "2026-11-28T00:00:00Z"
"""For times that nothing here reads."""


def _object(required: str = "", **properties: Object) -> Object:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _list(required: str, **properties: Object) -> Object:
    return {"type": "array", "items": _object(required, **properties)}


_RELEASE = _object("image version")
_CONDITIONS = _list("lastTransitionTime status type")
VERSION_SCHEMA = _object(
    "spec",
    spec=_object("clusterID"),
    status=_object(
        "availableUpdates desired observedGeneration versionHash",
        desired=_RELEASE,
        history=_list("completionTime image startedTime state verified"),
        conditions=_CONDITIONS,
        conditionalUpdates=_list(
            "release risks",
            release=_RELEASE,
            risks=_list("matchingRules message name url"),
            conditions=_list("lastTransitionTime message reason status type"),
        ),
    ),
)
OPERATOR_SCHEMA = _object("spec", status=_object(conditions=_CONDITIONS, versions=_list("name version")))
ANY_SCHEMA = _object()
"""Of a kind whose fields nothing here asks for."""


def history_entry(version: str, image: str, state: str) -> Object:
    """Return an entry of a ClusterVersion's history."""
    completed = SINCE if state == "Completed" else None
    times = {"startedTime": SINCE, "completionTime": completed}
    return {"state": state, "version": version, "image": image, "verified": False, **times}
