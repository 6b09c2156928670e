"""How two servers of a control plane fence each other, as the install-config has it."""

from cluster.install_config import InstallConfig
from cluster.install_config.rules.pools import CREDENTIALS
from cluster.install_config.schema import FencingCredential
from cluster.plan.model import PlannedFence

VERIFIED = "Enabled"


def fences_of(config: InstallConfig) -> dict[str, PlannedFence]:
    """Return by server how its peer fences it, unless that is named by the MAC of another card than it boots from."""
    by_mac = {host.boot_mac_address.lower(): host.name for host in config.baremetal.hosts or ()}
    fences = {}
    for index, entry in enumerate(fencing_credentials(config)):
        name = entry.host_name or by_mac.get(entry.mac_address.lower(), "")
        if name:
            fences[name] = PlannedFence(
                where=f"{CREDENTIALS}[{index}]",
                address=as_bmc(entry.address),
                username=entry.username.get_secret_value(),
                password=entry.password,
                verify_tls=entry.certificate_verification == VERIFIED,
                ca=nodes_bundle(config),
            )
    return fences


def fencing_credentials(config: InstallConfig) -> tuple[FencingCredential, ...]:
    """Return the logins by which the servers fence each other; none if they do not."""
    return config.control_plane.fencing.credentials if config.control_plane.fencing else ()


def as_bmc(address: str) -> str:
    """Return an address in the form of a BMC's. The plain https:// of a fence agent is that of a Redfish service."""
    return f"redfish+{address}" if address.startswith("http") else address


def nodes_bundle(config: InstallConfig) -> str:
    """Return the CAs that reach the nodes. A proxy has the bundle put there, too."""
    reaches_nodes = config.additional_trust_bundle_policy == "Always" or config.proxy is not None
    return config.additional_trust_bundle if reaches_nodes else ""
