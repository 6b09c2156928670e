"""Checks that a payload's files fit each other, this cluster and this hour, before a machine gets one of them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from base.errors import Fault, PayloadError
from cluster.values.address import netloc
from cluster.values.platform import ClusterPlatform
from payload.bootstrap_checks import (
    check_issuers,
    check_objects,
    check_paths,
    check_platform,
    check_target,
    check_validity,
    check_vips,
    read_certificates,
    read_status,
)
from payload.origin_checks import check_install_config, check_release
from payload.pem import Certificates
from payload.reading import (
    CONFIG_PORT,
    TAKE,
    IgnitionFile,
    authority_of,
    data_of,
    host_of,
    other_cluster,
    parse_ignition,
    payload_folder,
    read_payload,
)

if TYPE_CHECKING:
    from cryptography import x509

    from cluster.plan import Intent

_T = TypeVar("_T")


@dataclass(frozen=True)
class Expected:
    """What a plan expects of its payload."""

    domain: str
    """The cluster's, for example `okd.example.com`."""
    values: Mapping[str, str]
    """The values of its install-config; see `payload_values`. Empty: unknown."""
    paths: Collection[str]
    """The paths of all files that this program writes on the machines."""
    release: str = ""
    """The release image, by digest, whose images this program's services run. Empty: no release."""
    platform: ClusterPlatform = ClusterPlatform.NONE
    api_vips: tuple[str, ...] = ()
    """As ingress_vips, only a payload of platform baremetal has them."""
    ingress_vips: tuple[str, ...] = ()

    @classmethod
    def of(cls, intent: "Intent", values: Mapping[str, str], paths: Collection[str]) -> Self:
        """Return what an intent expects."""
        vips = (intent.api, intent.ingress) if intent.platform is ClusterPlatform.BAREMETAL else ()
        addresses = (tuple(map(str, vip.addresses)) for vip in vips)
        return cls(intent.domain, values, paths, intent.images.release, intent.platform, *addresses)

    @property
    def address(self) -> str:
        """The address from which a machine fetches its Ignition on first boot. Empty: it asks api-int."""
        return self.api_vips[0] if self.platform is ClusterPlatform.BAREMETAL else ""


def read_bootstrap(stack: str, sha256: str, now: datetime) -> bytes:
    """Return the payload's bootstrap.ign. Its certificates are valid for a day, and a run may be repeated much later.

    Raises:
        PayloadError: As `read_payload`; or a certificate has expired.
    """
    content, where = read_payload(stack, "bootstrap", sha256), payload_folder(stack) / "bootstrap.ign"
    check_validity(where, read_certificates(where, parse_ignition(where, content)), now)
    return content


def first_to_expire(stack: str, sha256: str) -> "x509.Certificate":
    """Return the certificate of the payload's bootstrap.ign that expires first.

    Raises:
        PayloadError: As `read_payload`; or the file has no readable certificates.
    """
    content, where = read_payload(stack, "bootstrap", sha256), payload_folder(stack) / "bootstrap.ign"
    by_path = read_certificates(where, parse_ignition(where, content))
    return min(chain.from_iterable(by_path.values()), key=lambda certificate: certificate.not_valid_after_utc)


def check_payload(folder: Path, contents: Mapping[str, bytes], expected: Expected, now: datetime) -> list[Fault]:
    """Return all faults of a payload's files.

    Args:
        folder: The folder of the files.
        contents: The files that the phase reads, by name, without `.ign`.
        expected: What the plan expects of them.
        now: The current time, with a time zone.
    """
    checks, roots = _Checks(expected, now), dict[Path, Certificates]()
    for name, content in contents.items():
        where = folder / f"{name}.ign"
        config = checks.run(_readable, where, content)
        if config is None:
            continue
        root = checks.bootstrap_root(where, config) if name == "bootstrap" else checks.pointer_root(where, config)
        if root is not None:
            roots[where] = root
    checks.run(_check_one_root, roots)
    return [*dict.fromkeys(checks.faults)]  # two checks may have read the same manifest


@dataclass
class _Checks:
    """The checks of one payload; what they find is collected, so that one fault hides no other."""

    expected: Expected
    now: datetime
    faults: list[Fault] = field(default_factory=list)

    def run(self, check: Callable[..., _T], *args: Any) -> _T | None:
        """Return what a check returns; None if it has found a fault."""
        try:
            return check(*args)
        except PayloadError as error:
            self.faults.append(error.fault)
            return None

    def bootstrap_root(self, where: Path, config: IgnitionFile) -> Certificates | None:
        """Check bootstrap.ign, and return the root of its certificates."""
        expected = self.expected
        self.run(check_target, where, config)
        if status := self.run(read_status, where, config):
            self.run(check_platform, where, config, status, expected.domain, expected.platform)
            self.run(check_vips, where, status, expected.api_vips, expected.ingress_vips)
        self.run(check_objects, where, config, expected.platform)
        self.run(check_install_config, where, config, expected.values)
        self.run(check_release, where, config, expected.release)
        self.run(check_paths, where, config, expected.paths)
        certificates = self.run(read_certificates, where, config)
        root = self.run(check_validity, where, certificates, self.now) if certificates else None
        if root and status:
            self.run(check_issuers, where, certificates, status, expected.address)
        return root

    def pointer_root(self, where: Path, config: IgnitionFile) -> Certificates | None:
        """Check the file of a role, which points to the config server, and return the root that it trusts."""
        self.run(_check_source, where, config, self.expected.address or f"api-int.{self.expected.domain}")
        return self.run(authority_of, where, config)


def _readable(where: Path, content: bytes) -> IgnitionFile:
    """Return a config that Ignition can apply as a whole: on the machine, nobody would see its refusal."""
    config = parse_ignition(where, content)
    if config.ignition.config.replace is not None:
        what = "ignition.config.replace drops all other files, this program's too"
        raise PayloadError(what, where=str(where), fix=TAKE)
    for file in config.storage.files:
        if (file.contents.source or "").startswith("data:"):
            data_of(where, file.path, file.contents)
    return config


def _check_source(where: Path, config: IgnitionFile, host: str) -> None:
    """Check the config server's URL: the pointers of the roles differ in nothing else."""
    sources = [child.source for child in config.ignition.config.merge if child.source]
    fetched = [source for source in sources if not source.startswith("data:")]
    if host not in (hosts := [host_of(source) for source in fetched]):
        raise other_cluster(where, ", ".join(filter(None, hosts)), host)
    wanted = f"https://{netloc(host, CONFIG_PORT)}/config/{where.stem}"
    if fetched != [wanted]:
        fix = "put all files of one run of openshift-install there, each under its own name"
        raise PayloadError(f"fetches {', '.join(fetched)}, but only {wanted} is expected", where=str(where), fix=fix)


def _check_one_root(roots: Mapping[Path, Certificates]) -> None:
    if not roots:
        return
    (first, root), *others = roots.items()
    if different := [path.name for path, other in others if set(other) != set(root)]:
        what = f"its root CA is not that of {' and '.join(different)}"
        fix = "take all files from one run of openshift-install, that of any installed node, and pin them"
        raise PayloadError(what, where=str(first), fix=fix)
