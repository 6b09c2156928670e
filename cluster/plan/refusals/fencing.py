"""Fencing that openshift-install takes, and with which two servers of a control plane would not fence each other.

The etcd operator reads the credentials once etcd runs on both servers. So each of these faults would leave etcd in
its static pods for good, or have a server fence itself. Sources: pkg/tnf/pkg of openshift/cluster-etcd-operator,
b4786ae33 (pcs/fencing.go, tools/secrets.go); fence_redfish of fence-agents 4.12.1, which was tried.
"""

import re
from collections.abc import Iterator, Mapping

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.install_config.platform import BARE
from cluster.install_config.rules.pools import CREDENTIALS
from cluster.options import BmcOptions, Options
from cluster.plan.fences import VERIFIED, as_bmc, fencing_credentials, nodes_bundle
from cluster.plan.intent import roles
from cluster.plan.model import Intent
from cluster.values.bmc_url import BmcUrl, BmcUrlError, parse_bmc_url
from cluster.values.go_url import parse_go_url
from cluster.values.role import Role

INTO_BUNDLE = (
    "add it to additionalTrustBundle, with additionalTrustBundlePolicy: Always, or write certificateVerification: "
    "Disabled, by which the nodes accept any certificate"
)
UNTRUSTED = "the nodes do not trust it, and verify by it the BMCs through which they fence each other"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")


def refused_fencing(config: InstallConfig) -> Iterator[Fault]:
    """Yield what keeps two servers from fencing each other, or has one fence itself."""
    credentials = fencing_credentials(config)
    if credentials and config.arbiter is not None:
        what = "there is an arbiter, so etcd has a majority without it"
        yield Fault("controlPlane.fencing", what, "remove it, or the arbiter")
        return
    hosts = zip(config.baremetal.hosts or (), roles(config), strict=True)
    own = {host.name: _url(host.bmc.address) for host, role in hosts if role is Role.CONTROL_PLANE}
    for index, entry in enumerate(credentials):
        where = f"{CREDENTIALS}[{index}]"
        if entry.host_name and entry.host_name not in own:
            what = f"{entry.host_name} is no host of the control plane, whose nodes are {' and '.join(own)}"
            yield Fault(f"{where}.hostName", what, "write the name of one of them")
        peers = {name: url for name, url in own.items() if entry.host_name in own and name != entry.host_name}
        for what, fix in _unusable(entry.address, peers):
            yield Fault(f"{where}.address", what, fix)
        if not entry.certificate_verification:
            what = "missing, and the etcd operator refuses credentials without it"
            yield Fault(f"{where}.certificateVerification", what, f"write {VERIFIED} or Disabled")
    if not _is_trusted(config, config.baremetal.bmc_verify_ca):
        yield Fault(f"{BARE}.bmcVerifyCA", UNTRUSTED, INTO_BUNDLE)


def untrusted_authorities(config: InstallConfig, options: BmcOptions) -> Iterator[Fault]:
    """Yield the options with a CA of the control plane's BMCs that the nodes do not trust."""
    hosts = zip(config.baremetal.hosts or (), roles(config), strict=True)
    servers = [host.name for host, role in hosts if role is Role.CONTROL_PLANE]
    named = {f"bmc_trust.{name}.ca": trust.ca for name, trust in options.bmc_trust.items() if name in servers}
    for option, pem in {"bmc_ca": options.bmc_ca, **named}.items():
        if not _is_trusted(config, pem):
            yield Fault(option, UNTRUSTED, INTO_BUNDLE)


def refused_reinstalls(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield the lines of `reinstall` that name a server whose peer fences it."""
    for server in intent.control_plane if intent.is_fenced else ():
        if server.name in options.reinstall:
            what = "its peer would switch it on again, as it does with each server that it finds off"
            fix = "remove the line; to install the cluster again, destroy it first"
            yield Fault(f"reinstall.{server.name}", what, fix)


def _unusable(address: str, peers: Mapping[str, BmcUrl | None]) -> Iterator[tuple[str, str]]:
    """Yield why the fence agent cannot use an address, and the fix. No text quotes the address."""
    url, bmc = parse_go_url(address), _url(address)
    if url is None:
        return
    if "http" in url.scheme and "https" not in url.scheme:
        yield "the fence agent speaks https only, whatever the scheme says", "write redfish+https://"
    elif not url.port and "https" not in url.scheme:
        yield f"names no port, and the etcd operator knows none for {url.scheme}://", "write redfish+https://"
    if url.path in ("", "/"):
        yield "names no system", "append its path, such as /redfish/v1/Systems/1"
    if peer := next((name for name, other in peers.items() if bmc and other and bmc.server == other.server), ""):
        yield f"is that of {peer}, which would be switched off in its place", "write that of its own BMC"


def _url(address: str) -> BmcUrl | None:
    """Return an address of a BMC."""
    try:
        return parse_bmc_url(as_bmc(address))
    except BmcUrlError:
        return None


def _is_trusted(config: InstallConfig, pem: str) -> bool:
    """Whether the nodes trust a CA, or need not, since they verify no BMC."""
    if all(entry.certificate_verification != VERIFIED for entry in fencing_credentials(config)):
        return True
    return _certificates(pem) <= _certificates(nodes_bundle(config))


def _certificates(pem: str) -> set[str]:
    return {"".join(body.split()) for body in _CERTIFICATE.findall(pem)}
