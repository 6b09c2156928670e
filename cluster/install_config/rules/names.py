"""Rules for the cluster's name, its domain, and the file's version."""

import re
from collections.abc import Iterator

from base.errors import Fault, Stricter
from cluster.install_config.old_spellings import API_VERSIONS
from cluster.install_config.schema import InstallConfig

NAME_LENGTH = 54
"""The 63 characters of a DNS label, less those that `*.apps` takes in a zone file."""
LABEL_LENGTH = 63
DOMAIN_LENGTH = 253


def dns_fault(text: str) -> Fault | None:
    """Return why a text is not a DNS name in lower case (RFC 1123) that DNS can serve; None if it is."""
    if len(text) > DOMAIN_LENGTH:
        return Fault("", f"has {len(text)} characters", f"write at most {DOMAIN_LENGTH}, the limit of a DNS name")
    labels = text.split(".")
    if not all(re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", label) for label in labels):
        fix = "write lower-case letters, digits and hyphens; begin and end each part with a letter or digit"
        return Fault("", f"{text} is not a DNS name", fix)
    if long := [label for label in labels if len(label) > LABEL_LENGTH]:
        fix = f"write at most {LABEL_LENGTH} in a part between dots"
        return Stricter("", f"{long[0]} has {len(long[0])} characters", fix)
    return None


def _version(config: InstallConfig) -> Iterator[Fault]:
    if not config.api_version:
        yield Fault("apiVersion", "missing", "write v1")
    elif config.api_version not in API_VERSIONS:
        yield Fault("apiVersion", f"{config.api_version} is unknown", "write v1")


def _cluster_name(config: InstallConfig) -> Iterator[Fault]:
    if fault := name_fault(config.metadata.name):
        yield fault.within("metadata.name")


def _base_domain(config: InstallConfig) -> Iterator[Fault]:
    domain = config.base_domain.removesuffix(".")
    absent = Fault("", "missing", "write the parent domain of the cluster's own domain")
    fault = dns_fault(domain) if domain else absent
    if not fault and not name_fault(config.metadata.name):
        length = len(f"{config.metadata.name}.{domain}")
        if length > DOMAIN_LENGTH:
            what = f"has {length} characters with the cluster's name before it"
            fault = Fault("", what, f"shorten either, to at most {DOMAIN_LENGTH} together")
    if fault:
        yield fault.within("baseDomain")


def name_fault(name: str) -> Fault | None:
    """Return why a text cannot be the name of a cluster; None if it can."""
    if not name:
        return Fault("", "missing", "name the cluster")
    if "." in name:
        return Fault("", f"{name} has a dot", "write only the first part: the rest belongs to baseDomain")
    if len(name) > NAME_LENGTH:
        return Fault("", f"{name} has {len(name)} characters", f"write at most {NAME_LENGTH}")
    return dns_fault(name)


RULES = (_version, _cluster_name, _base_domain)
