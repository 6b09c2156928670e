"""What each release of openshift-install takes: the keys and values that came after 4.16, and the feature gates.

Source: openshift/installer, `pkg/types` of the branches release-4.16 (441e0e5469), 4.17 (b102c3acc6), 4.18
(488926dc2c), 4.19 (9cdc31344d), 4.20 (1d295ac40d), 4.21 (a8bea03c72), 4.22 (52540f5fe4), of main on 2026-08-01
(5f2b0d3dc3, here 5.1), and the openshift/api that each has in `vendor`. docs/reference/releases.md has the table too.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from base.errors import Fault
from base.shapes import values_at
from cluster.install_config.platform import BARE
from cluster.install_config.schema import InstallConfig
from cluster.values.bmc_url import UEFI_HTTP


class Release(NamedTuple):
    """A minor release of OpenShift or OKD."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def of(cls, version: str) -> Self | None:
        """Return the release of `4.21.0-okd-scos.3` or `v4.21.0`; None if a text does not begin so."""
        match = re.match(r"v?(\d+)\.(\d+)(?!\d)", version, re.ASCII)
        return cls(int(match[1]), int(match[2])) if match else None


NEWEST = Release(5, 1)
REFUSES_UNKNOWN_KEYS = Release(4, 22)
"""The first release that refuses a key that it does not know (installer#10287). Older ones warn, and ignore it."""


class Since(NamedTuple):
    """A key, or a value of a key, and the first release that knows it."""

    what: str
    """`networking.ovnKubernetesConfig`, `featureSet: OKD`; an element of a list is `[]`."""
    release: Release
    source: str


SINCE = (
    Since("networking.ovnKubernetesConfig", Release(4, 18), "installer `pkg/types/installconfig.go`"),
    Since(f"{BARE}.additionalNTPServers", Release(4, 18), "installer `pkg/types/baremetal/platform.go`"),
    Since("arbiter", Release(4, 19), "installer `pkg/types/installconfig.go`"),
    Since("controlPlane.fencing", Release(4, 19), "installer `pkg/types/machinepools.go`"),
    Since("controlPlane.fencing.credentials[].certificateVerification", Release(4, 20), "the same"),
    Since(f"{BARE}.bmcVerifyCA", Release(4, 21), "installer `pkg/types/baremetal/platform.go`"),
    Since(f"{BARE}.dnsRecordsType", Release(4, 21), "the same"),
    Since("imageDigestSources[].sourcePolicy", Release(4, 21), "installer `pkg/types/installconfig.go`"),
    Since(f"{BARE}.provisioningNetworkGateway", Release(4, 22), "installer `pkg/types/baremetal/platform.go`"),
    Since("osImageStream", Release(4, 22), "installer `pkg/types/installconfig.go`"),
    Since("controlPlane.management", Release(4, 22), "installer `pkg/types/machinepools.go`"),
    Since("compute[].management", Release(4, 22), "the same"),
    Since("controlPlane.fencing.credentials[].macAddress", Release(5, 0), "the same"),
    Since("pki", Release(5, 0), "installer `pkg/types/installconfig.go`"),
    Since(f"{BARE}.bgpVIPConfig", Release(5, 1), "installer#10718"),
    Since(f"{BARE}.hosts[].bgpPeers", Release(5, 1), "installer#10718"),
    Since("featureSet: OKD", Release(4, 22), "api `config/v1/types_feature.go`"),
    Since("osImageStream: centos-10", Release(4, 23), "installer `pkg/types/installconfig.go`"),
    Since("capabilities.baselineCapabilitySet: v4.17", Release(4, 17), "api `config/v1/types_cluster_version.go`"),
    Since("capabilities.baselineCapabilitySet: v4.18", Release(4, 18), "the same"),
    Since("capabilities.additionalEnabledCapabilities[]: OperatorLifecycleManagerV1", Release(4, 18), "the same"),
)
_BY_WHAT = {since.what: since for since in SINCE}

PREVIEWS = ("TechPreviewNoUpgrade", "DevPreviewNoUpgrade")
OKD = "OKD"
EVERYWHERE = ("", OKD, *PREVIEWS)
ENABLED_IN: dict[str, tuple[tuple[Release, tuple[str, ...]], ...]] = {
    "HighlyAvailableArbiter": ((Release(4, 20), EVERYWHERE), (Release(4, 19), PREVIEWS)),
    "DualReplica": ((Release(4, 22), EVERYWHERE), (Release(4, 19), PREVIEWS)),
    "OnPremDNSRecords": ((Release(4, 21), PREVIEWS),),
    "OSStreams": ((Release(4, 23), EVERYWHERE), (Release(4, 22), PREVIEWS)),
    "ConfigurablePKI": ((Release(5, 0), PREVIEWS),),
    "BGPBasedVIPManagement": ((Release(5, 1), PREVIEWS[1:]),),
}
"""By feature gate, newest first: the feature sets that enable it from a release on (openshift/api `features`)."""


FENCED = Release(4, 22)
"""The first release in which two servers fence each other without a feature set of previews."""
ARBITER_ON_NONE = Release(4, 22)
"""The first release that takes an arbiter on platform none too, not only on baremetal (installer bb7d56e927)."""


def sets_with(gate: str, release: Release) -> tuple[str, ...]:
    """Return the feature sets that enable a gate in a release."""
    return next((sets for since, sets in ENABLED_IN[gate] if release >= since), ())


def too_new(content: Any, release: Release) -> Iterator[Fault]:
    """Yield each key and value that a release of openshift-install refuses, because they came later."""
    for path, since in _named(content):
        key, colon, _ = since.what.partition(": ")
        is_ignored = release < (_BY_WHAT[key].release if key in _BY_WHAT else release)
        if release < since.release and (release >= REFUSES_UNKNOWN_KEYS or (colon and not is_ignored)):
            what = f"openshift-install {release} does not know it, only {since.release} and newer"
            yield Fault(path, what, f"remove it, or generate the payload with {since.release} or newer")


def notices(content: Any, release: Release | None) -> Iterator[Fault]:
    """Yield for which releases a file is: what reaches openshift-install, and not every release knows.

    Args:
        content: The content of a file.
        release: The release of the payload; None if it is not known.
    """
    if any(values_at("arbiter", content)) and (release is None or release < ARBITER_ON_NONE):
        yield Fault("arbiter", f"on platform none, only openshift-install {ARBITER_ON_NONE} and newer take one")
    if any(values_at("controlPlane.fencing", content)) and (release is None or release < FENCED):
        yield Fault("controlPlane.fencing", f"before {FENCED}, it is a preview of openshift-install")
    for path, since in _named(content):
        if since.what.startswith(BARE) or ": " in since.what:
            continue  # the payload is made without the platform, and `too_new` has the values
        if release is None and since.release >= REFUSES_UNKNOWN_KEYS:
            yield Fault(path, f"only openshift-install {since.release} and newer know it")
        elif release and release < min(since.release, REFUSES_UNKNOWN_KEYS):
            yield Fault(path, f"openshift-install {release} ignores it; only {since.release} and newer know it")


def of_no_release(config: InstallConfig) -> Iterator[Fault]:
    """Yield what only this program, or only some release images, can do; one line for each kind."""
    for index, host in enumerate(config.baremetal.hosts or ()):
        if host.bmc.address.lower().startswith(UEFI_HTTP):
            what = f"no openshift-install knows {UEFI_HTTP}: this program boots the host, `create cluster` would not"
            yield Fault(f"{BARE}.hosts[{index}].bmc.address", what)
            break
    for index, pool in enumerate(config.compute):
        if pool.architecture == "arm64" and config.control_plane.architecture != "arm64":
            what = "arm64 beside amd64 needs a release image of several architectures"
            yield Fault(f"compute[{index}].architecture", what)


def _named(content: Any) -> Iterator[tuple[str, Since]]:
    """Yield the path of each key and value of the table."""
    for since in SINCE:
        pattern, _, wanted = since.what.partition(": ")
        for path, value in values_at(pattern, content):
            if not wanted or value == wanted:
                yield path, since
