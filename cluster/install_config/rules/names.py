"""The cluster's name, its domain, and the file's version."""

import re
from collections.abc import Iterator

from cluster.install_config.old_spellings import API_VERSIONS
from cluster.install_config.schema import InstallConfig
from cluster.problems import Problem

NAME_LENGTH = 54
"""63 of a DNS label, less what `*.apps` takes in a zone file."""
LABEL_LENGTH = 63
DOMAIN_LENGTH = 253


def dns_fault(text: str) -> str:
    """Why a text is no DNS name in lower case (RFC 1123) that DNS can serve; empty if it is one."""
    if len(text) > DOMAIN_LENGTH:
        return f"has {len(text)} characters; a DNS name has at most {DOMAIN_LENGTH}"
    labels = text.split(".")
    if not all(re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", label) for label in labels):
        return (
            f"{text} is no DNS name; write lower-case letters, digits and hyphens, "
            "beginning and ending each part with a letter or digit"
        )
    if long := [label for label in labels if len(label) > LABEL_LENGTH]:
        return f"{long[0]} has {len(long[0])} characters; a part between dots has at most {LABEL_LENGTH}"
    return ""


def _version(config: InstallConfig) -> Iterator[Problem]:
    if not config.api_version:
        yield Problem("apiVersion", "missing; write v1")
    elif config.api_version not in API_VERSIONS:
        yield Problem("apiVersion", f"{config.api_version} is unknown; write v1")


def _cluster_name(config: InstallConfig) -> Iterator[Problem]:
    if fault := name_fault(config.metadata.name):
        yield Problem("metadata.name", fault)


def _base_domain(config: InstallConfig) -> Iterator[Problem]:
    domain = config.base_domain.removesuffix(".")
    fault = dns_fault(domain) if domain else "missing; write the domain that the cluster's own is below"
    if not fault and not name_fault(config.metadata.name):
        length = len(f"{config.metadata.name}.{domain}")
        if length > DOMAIN_LENGTH:
            fault = f"has {length} characters with the cluster's name before it; at most {DOMAIN_LENGTH} may be"
    if fault:
        yield Problem("baseDomain", fault)


def name_fault(name: str) -> str:
    """Why a text cannot be the name of a cluster; empty if it can."""
    if not name:
        return "missing; name the cluster"
    if "." in name:
        return f"{name} has a dot; write the first part only, the rest belongs to baseDomain"
    if len(name) > NAME_LENGTH:
        return f"{name} has {len(name)} characters; write at most {NAME_LENGTH}"
    return dns_fault(name)


RULES = (_version, _cluster_name, _base_domain)
