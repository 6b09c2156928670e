"""The shape of install-config.yaml, as openshift/installer declares it (pkg/types/installconfig.go, machinepools.go).

As in the installer, every field may be missing, and addresses are text. `rules/` decides what is required and what
makes sense, so that one wrong field hides no other.
"""

from typing import Any

from pydantic import Field, StrictBool, StrictInt

from cluster.install_config.platform import BareMetal, Platform
from cluster.install_config.section import EMPTY, OLD, Cidr, Int32, Secret, Section, Text, Time


class Metadata(Section):
    """The cluster's name, and the other metadata that Kubernetes allows."""

    name: Text = ""
    namespace: Text = ""
    labels: dict[str, Text] = Field(default_factory=dict)
    annotations: dict[str, Text] = Field(default_factory=dict)
    creation_timestamp: Time = ""


class MachineNetwork(Section):
    """A network that contains addresses of the machines."""

    cidr: Cidr = ""


class ClusterNetwork(Section):
    """A network of pods."""

    cidr: Cidr = ""
    host_prefix: Int32 = 0
    host_subnet_length: Int32 = Field(0, json_schema_extra=OLD)


class OvnIpv4(Section):
    """OVN-Kubernetes' own IPv4 networks."""

    internal_join_subnet: Cidr = ""


class OvnKubernetesConfig(Section):
    """Settings of OVN-Kubernetes."""

    ipv4: OvnIpv4 | None = None


class Networking(Section):
    """Networks of the cluster."""

    network_type: Text = ""
    machine_network: tuple[MachineNetwork, ...] = ()
    cluster_network: tuple[ClusterNetwork, ...] = ()
    service_network: tuple[Cidr, ...] = ()
    cluster_network_mtu: StrictInt = Field(0, alias="clusterNetworkMTU")
    ovn_kubernetes_config: OvnKubernetesConfig | None = None
    machine_cidr: Cidr = Field("", alias="machineCIDR", json_schema_extra=OLD)
    service_cidr: Cidr = Field("", alias="serviceCIDR", json_schema_extra=OLD)
    cluster_networks: tuple[ClusterNetwork, ...] = Field((), json_schema_extra=OLD)
    type: Text = Field("", json_schema_extra=OLD)


class FencingCredential(Section):
    """Address and login with which one control-plane host fences the other in a cluster of two."""

    host_name: Text = ""
    mac_address: Text = ""
    username: Secret = EMPTY
    password: Secret = EMPTY
    address: Text = ""
    certificate_verification: Text = ""


class Fencing(Section):
    """Fencing of a cluster of two control-plane hosts."""

    credentials: tuple[FencingCredential, ...] = ()


class MachinePool(Section):
    """Machines of one role."""

    name: Text = ""
    replicas: StrictInt | None = None
    architecture: Text = ""
    hyperthreading: Text = ""
    platform: dict[str, Any] = Field(default_factory=dict)
    fencing: Fencing | None = None
    disk_setup: tuple[dict[str, Any], ...] = ()
    management: Text = ""


class Proxy(Section):
    """The proxies for the cluster's connections to the Internet."""

    http_proxy: Text = Field("", repr=False)
    https_proxy: Text = Field("", repr=False)
    """Like `http_proxy`, a URL that may contain a login."""
    no_proxy: Text = ""


class ImageSource(Section):
    """Mirrors of an image repository."""

    source: Text = ""
    mirrors: tuple[Text, ...] = ()
    source_policy: Text = ""


class ImageContentSource(Section):
    """Mirrors of an image repository, in the old form."""

    source: Text = ""
    mirrors: tuple[Text, ...] = ()


class Capabilities(Section):
    """The optional parts of the cluster to install."""

    baseline_capability_set: Text = ""
    additional_enabled_capabilities: tuple[Text, ...] = ()


class BootstrapInPlace(Section):
    """Single-node installation without a bootstrap machine."""

    installation_disk: Text = ""


class OperatorPublishingStrategy(Section):
    """Visibility of ingress and API, for clouds."""

    ingress: Text = ""
    apiserver: Text = ""


class RsaKey(Section):
    """Properties of an RSA key."""

    key_size: Int32 = 0


class EcdsaKey(Section):
    """Properties of an ECDSA key."""

    curve: Text = ""


class SignerKey(Section):
    """Properties of the keys of the cluster's own certificate authorities."""

    algorithm: Text = ""
    rsa: RsaKey | None = None
    ecdsa: EcdsaKey | None = None


class SignerCertificates(Section):
    """The cluster's own certificate authorities."""

    key: SignerKey = SignerKey()


class Pki(Section):
    """Certificates that the installer makes."""

    signer_certificates: SignerCertificates = SignerCertificates()


class InstallConfig(Section):
    """install-config.yaml."""

    api_version: str = ""  # the installer reads no number as text here, unlike everywhere else
    kind: str = ""
    metadata: Metadata = Metadata()
    base_domain: Text = ""
    networking: Networking = Networking()
    control_plane: MachinePool = MachinePool()
    compute: tuple[MachinePool, ...] = ()
    arbiter: MachinePool | None = None
    platform: Platform = Platform()
    pull_secret: Secret = EMPTY
    ssh_key: Text = ""
    proxy: Proxy | None = None
    additional_trust_bundle: Text = ""
    additional_trust_bundle_policy: Text = ""
    image_content_sources: tuple[ImageContentSource, ...] = Field((), json_schema_extra=OLD)
    image_digest_sources: tuple[ImageSource, ...] = ()
    publish: Text = ""
    operator_publishing_strategy: OperatorPublishingStrategy | None = None
    fips: StrictBool = False
    cpu_partitioning_mode: Text = ""
    credentials_mode: Text = ""
    bootstrap_in_place: BootstrapInPlace | None = None
    capabilities: Capabilities | None = None
    feature_set: Text = ""
    feature_gates: tuple[Text, ...] = ()
    os_image_stream: Text = ""
    pki: Pki | None = None

    @property
    def baremetal(self) -> BareMetal:
        """The platform; an empty one if the file has none."""
        return self.platform.baremetal or BareMetal()

    @property
    def pools(self) -> dict[str, MachinePool]:
        """The pools of machines by their path in the file, as `compute[0]`."""
        arbiter = {"arbiter": self.arbiter} if self.arbiter else {}
        compute = {f"compute[{index}]": pool for index, pool in enumerate(self.compute)}
        return {"controlPlane": self.control_plane, **arbiter, **compute}


def with_baremetal(config: InstallConfig, **changes: Any) -> InstallConfig:
    """Return the config with changed fields of platform.baremetal."""
    baremetal = config.baremetal.changed(**changes)
    return config.changed(platform=config.platform.changed(baremetal=baremetal))
