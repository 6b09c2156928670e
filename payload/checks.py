"""Whether a payload's files fit each other, this cluster and this hour, judged before a machine is given them."""

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
    """The payload's bootstrap.ign. Its certificates last for a day, and a run may be tried again much later.

    Raises:
        PayloadError: As `read_payload`; or it is useless by `now`.
    """
    content, where = read_payload(stack, "bootstrap", sha256), payload_folder(stack) / "bootstrap.ign"
    _check_certificates(where, parse_ignition(where, content), now)
    return content


def check_payload(folder: Path, contents: Mapping[str, bytes], domain: str, now: datetime) -> list[Fault]:
    """Everything that is wrong with these files of a payload.

    Args:
        folder: Where they are.
        contents: By `bootstrap`, `master`, `worker`: those that the phase reads.
        domain: The cluster's, e.g. `okd.example.com`.
        now: With a time zone.
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
    """Platform None, no Ironic and this cluster's names: of these the first that fails, for all have one cause."""
    status = _infrastructure(where, config).status
    if status.platform.type != "None":
        what = f"generated for platform {status.platform.type}, None is wanted"
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
        why = "no YAML"
    what = f"{PLATFORM_MANIFEST} in it is not an infrastructure manifest ({why})"
    raise PayloadError(what, where=str(where), fix=TAKE)


def _check_source(where: Path, config: IgnitionFile, domain: str) -> None:
    hosts = [_host(each.source or "") for each in config.ignition.config.merge]
    wanted = f"api-int.{domain}"
    if wanted not in hosts:
        raise _other_cluster(where, ", ".join(filter(None, hosts)), wanted)


def _other_cluster(where: Path, seen: str, wanted: str) -> PayloadError:
    what = f"of another cluster: it names {seen or 'no host'}, the plan {wanted}"
    return PayloadError(what, where=str(where), fix=_GENERATE)


def _check_certificates(where: Path, config: IgnitionFile, now: datetime) -> Certificates:
    """All of them are valid now; which are the root."""
    pems = {path: data_of(where, path, each) for path, each in config.contents(CERTIFICATES).items()}
    # Without a trust bundle there are empty files.
    found = {path: certificates_in(where, path, pem) for path, pem in pems.items() if pem.strip()}
    if ROOT_CA not in found:
        raise PayloadError(f"no {ROOT_CA} in it", where=str(where), fix=TAKE)
    path, ends = min(_times(found, lambda each: each.not_valid_after_utc), key=lambda each: each[1])
    if ends < now:
        what = f"useless since {ends:%Y-%m-%d %H:%M} UTC, when the first of its certificates ended ({path})"
        fix = "generate the payload anew, as in docs/how-to/generate-the-payload.md, and pin it"
        raise PayloadError(what, where=str(where), fix=fix)
    path, begins = max(_times(found, lambda each: each.not_valid_before_utc), key=lambda each: each[1])
    if begins > now:
        what = f"good only from {begins:%Y-%m-%d %H:%M} UTC on ({path}), here it is {now:%Y-%m-%d %H:%M}"
        fix = "set the clock of this host right, or else generate the payload anew where the clock is"
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
