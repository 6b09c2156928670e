"""Judges whether a payload's files fit each other, the cluster and the current time, before a machine gets them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import Field, ValidationError

from payload.pem import Certificates
from payload.reading import (
    TAKE,
    IgnitionFile,
    authority_of,
    certificates_in,
    data_of,
    first_reason,
    parse_ignition,
    payload_folder,
    read_payload,
)
from providers.base.errors import Fault, PayloadError
from providers.base.spec import Model

PLATFORM_MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"
CERTIFICATES = "/opt/openshift/tls/*.crt"
ROOT_CA = "/opt/openshift/tls/root-ca.crt"
IRONIC_QUADLETS = "/etc/containers/systemd/ironic*.container"

_GENERATE = "generate it with `okd-baremetal payload-config` of this stack's install-config.yaml"

_T = TypeVar("_T")


class _PlatformStatus(Model):
    type: str


class _InfrastructureStatus(Model):
    platform: _PlatformStatus = Field(alias="platformStatus")
    internal_url: str = Field(alias="apiServerInternalURI")
    url: str = Field(alias="apiServerURL")


class _Infrastructure(Model):
    status: _InfrastructureStatus


def read_bootstrap(stack: str, sha256: str, now: datetime) -> bytes:
    """Read the payload's bootstrap.ign. Its certificates are valid for a day, and a run may be repeated much later.

    Raises:
        PayloadError: See `read_payload`; or a certificate is not valid at `now`.
    """
    content, where = read_payload(stack, "bootstrap", sha256), payload_folder(stack) / "bootstrap.ign"
    _check_certificates(where, parse_ignition(where, content), now)
    return content


def check_payload(folder: Path, contents: Mapping[str, bytes], domain: str, now: datetime) -> list[Fault]:
    """Return all faults of a payload's files.

    Args:
        folder: The folder of the files.
        contents: The files that the phase reads, by `bootstrap`, `master` or `worker`.
        domain: The cluster's domain, for example `okd.example.com`.
        now: The current time, with a time zone.
    """
    found = list[Fault]()
    roots = dict[Path, Certificates]()

    def holds(check: Callable[..., _T], *args: Any) -> _T | None:
        try:
            return check(*args)
        except PayloadError as error:
            found.append(error.fault)
            return None

    for name, content in contents.items():
        where = folder / f"{name}.ign"
        config = holds(parse_ignition, where, content)
        if config is None:
            continue
        if name == "bootstrap":
            holds(_check_platform, where, config, domain)
            root = holds(_check_certificates, where, config, now)
        else:
            holds(_check_source, where, config, domain)
            root = holds(authority_of, where, config)
        if root is not None:
            roots[where] = root
    holds(_check_one_root, roots)
    return found


def _check_platform(where: Path, config: IgnitionFile, domain: str) -> None:
    """Check for platform None, no Ironic and this cluster's names. Raise only the first fault: all have one cause."""
    status = _infrastructure(where, config).status
    if status.platform.type != "None":
        what = f"generated for platform {status.platform.type}, not for None"
        raise PayloadError(what, where=str(where), fix=_GENERATE)
    units = [unit.name for unit in config.systemd.units if unit.name.startswith("ironic")]
    if ironic := [*config.contents(IRONIC_QUADLETS), *units]:
        what = f"brings Ironic ({', '.join(ironic)}), a second owner of the servers"
        raise PayloadError(what, where=str(where), fix=_GENERATE)
    for url, wanted in ((status.internal_url, f"api-int.{domain}"), (status.url, f"api.{domain}")):
        if _host(url) != wanted:
            raise _other_cluster(where, _host(url), wanted)


def _infrastructure(where: Path, config: IgnitionFile) -> _Infrastructure:
    text = data_of(where, PLATFORM_MANIFEST, config.contents(PLATFORM_MANIFEST).get(PLATFORM_MANIFEST))
    try:
        return _Infrastructure.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        why = first_reason(error)
    except (yaml.YAMLError, ValueError):
        why = "not YAML"
    what = f"{PLATFORM_MANIFEST} in it is not an infrastructure manifest ({why})"
    raise PayloadError(what, where=str(where), fix=TAKE)


def _check_source(where: Path, config: IgnitionFile, domain: str) -> None:
    hosts = [_host(each.source or "") for each in config.ignition.config.merge]
    wanted = f"api-int.{domain}"
    if wanted not in hosts:
        raise _other_cluster(where, ", ".join(filter(None, hosts)), wanted)


def _other_cluster(where: Path, seen: str, wanted: str) -> PayloadError:
    what = f"of another cluster: it names {seen or 'no host'}, the plan names {wanted}"
    return PayloadError(what, where=str(where), fix=_GENERATE)


def _check_certificates(where: Path, config: IgnitionFile, now: datetime) -> Certificates:
    """Check that all certificates are valid now, and return the root CA."""
    pems = {path: data_of(where, path, each) for path, each in config.contents(CERTIFICATES).items()}
    # Skip empty files, which the installer writes if there is no trust bundle.
    found = {path: certificates_in(where, path, pem) for path, pem in pems.items() if pem.strip()}
    if ROOT_CA not in found:
        raise PayloadError(f"no {ROOT_CA} in it", where=str(where), fix=TAKE)
    path, ends = min(_times(found, lambda each: each.not_valid_after_utc), key=lambda each: each[1])
    if ends < now:
        what = f"useless since {ends:%Y-%m-%d %H:%M} UTC, when the first of its certificates expired ({path})"
        fix = "generate the payload anew, as in docs/how-to/generate-the-payload.md, and pin it"
        raise PayloadError(what, where=str(where), fix=fix)
    path, begins = max(_times(found, lambda each: each.not_valid_before_utc), key=lambda each: each[1])
    if begins > now:
        what = f"not valid before {begins:%Y-%m-%d %H:%M} UTC ({path}), but the time here is {now:%Y-%m-%d %H:%M}"
        fix = "correct the clock of this host, or generate the payload anew on a host with a correct clock"
        raise PayloadError(what, where=str(where), fix=fix)
    return found[ROOT_CA]


def _times(found: Mapping[str, Certificates], time_of: Callable[[Any], datetime]) -> list[tuple[str, datetime]]:
    return [(path, time_of(each)) for path, certificates in found.items() for each in certificates]


def _check_one_root(roots: Mapping[Path, Certificates]) -> None:
    if not roots:
        return
    (first, root), *others = roots.items()
    if different := [path.name for path, other in others if set(other) != set(root)]:
        what = f"its root CA is not that of {' and '.join(different)}"
        fix = "take all files from one run of openshift-install, and pin them"
        raise PayloadError(what, where=str(first), fix=fix)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
