"""What the installer's decoder refuses, or reads from another key, before any rule sees it.

Source: openshift/installer pkg/asset/installconfig/installconfigbase.go, which reads the file with sigs.k8s.io/yaml:
keys in any letter case, unknown ones refused even without a value, and a value for each field that decodes itself.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel

from base.errors import Fault, Stricter
from base.shapes import dotted
from cluster.install_config.platform import BARE
from cluster.install_config.rules.networks import cidr_fault
from cluster.install_config.schema import InstallConfig, Metadata
from cluster.install_config.section import CIDR, TIME, as_text
from cluster.install_config.walk import Value, keys_of, values_of

KUBERNETES = {
    *("generateName", "selfLink", "uid", "resourceVersion", "generation", "deletionTimestamp", "finalizers"),
    *("deletionGracePeriodSeconds", "ownerReferences", "managedFields"),
}
"""The keys of Kubernetes' ObjectMeta that `metadata` does not have here, because no installer reads them."""
RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
MTU = re.compile(re.escape(BARE) + r"\.hosts\[\d+\]\.networkConfig\.interfaces\[\d+\]\.mtu")


def respell(content: Any) -> list[Fault]:
    """Give each key of a file that is in another letter case its own spelling, and drop unread ones of Kubernetes.

    Args:
        content: The content of a file, which this function changes.

    Returns:
        A fault for each of these keys.
    """
    faults = list[Fault]()
    for value in [*values_of(InstallConfig, content)]:
        if (section := value.section) is None:
            continue
        known = keys_of(section)
        for key in [key for key in value.value if key not in known]:
            right, where = _spelled(section).get(key.lower(), key), dotted((*value.at, key))
            if section is Metadata and key in KUBERNETES:
                faults.append(Stricter(where, "a key of Kubernetes that no installer reads", "remove it"))
                del value.value[key]
            elif right != key and right not in value.value:
                faults.append(Stricter(where, "the key is in another letter case", f"write {right}"))
                value.value[right] = value.value.pop(key)
    return faults + respell(content) if faults else []


@cache
def _spelled(section: type[BaseModel]) -> dict[str, str]:
    """Return the keys of a section by what they are in lower case."""
    return {key.lower(): key for key in keys_of(section)}


def undecodable(content: Any) -> Iterator[Fault]:
    """Yield what no installer decodes.

    Args:
        content: The content of a file with its nulls, after `respell`.
    """
    for value in values_of(InstallConfig, content):
        if value.section:
            yield from _unknown_nulls(value)
        if CIDR in value.marks and isinstance(text := as_text(value.value), str) and (fault := cidr_fault(text)):
            yield fault.within(dotted(value.at))
        if TIME in value.marks and isinstance(value.value, str) and not RFC_3339.fullmatch(value.value):
            what, fix = f"{value.value} is not a time", "write it as 2026-01-31T12:00:00Z, or remove it"
            yield Fault(dotted(value.at), what, fix)
        if value.value is None and MTU.fullmatch(where := dotted(value.at)):
            yield Fault(where, "empty, and not a whole number", "write one, for example 9000, or remove mtu")


def _unknown_nulls(value: Value) -> Iterator[Fault]:
    known = keys_of(value.section) if value.section else {}
    for key, member in value.value.items():
        if member is None and key not in known:
            yield Fault(dotted((*value.at, key)), "unknown key", "remove it")
