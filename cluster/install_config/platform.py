"""Platform baremetal, as declared in openshift/installer pkg/types/baremetal/platform.go and rootdevice.go."""

from typing import Any

from pydantic import Field, StrictBool, StrictInt

from cluster.install_config.section import EMPTY, OLD, Cidr, Secret, Section, Text, as_text

BARE = "platform.baremetal"
"""The path of the platform in the file."""
MANAGED, UNMANAGED, DISABLED = PROVISIONING_MODES = ("Managed", "Unmanaged", "Disabled")
"""The values of `provisioningNetwork`."""


class Bmc(Section):
    """Address and login of a server's BMC."""

    address: Text = ""
    username: Text = ""
    password: Secret = EMPTY
    disable_certificate_verification: StrictBool = False


class RootDeviceHints(Section):
    """Selection of the disk to install to, which must match all given hints."""

    device_name: Text = ""
    hctl: Text = ""
    model: Text = ""
    vendor: Text = ""
    serial_number: Text = ""
    min_size_gigabytes: StrictInt = 0
    wwn: Text = ""
    wwn_with_extension: Text = ""
    wwn_vendor_extension: Text = ""
    rotational: StrictBool | None = None

    @property
    def given(self) -> dict[str, str]:
        """The hints that are given, as text, by their names in the file."""
        values = self.model_dump(by_alias=True, exclude_defaults=True)
        return {name: str(as_text(value)) for name, value in values.items()}


class Host(Section):
    """One server."""

    name: Text = ""
    role: Text = ""
    bmc: Bmc = Bmc()
    boot_mac_address: Text = Field("", alias="bootMACAddress")
    boot_mode: Text = ""
    hardware_profile: Text = Field("", json_schema_extra=OLD)
    root_device_hints: RootDeviceHints | None = None
    network_config: dict[str, Any] | None = Field(None, repr=False)
    bgp_peers: tuple[dict[str, Any], ...] = Field((), repr=False)
    """May hold passwords, as `bgpVIPConfig`."""


class LoadBalancer(Section):
    """Whether the cluster or the site balances API and Ingress."""

    type: Text = ""


class BareMetal(Section):
    """Platform baremetal."""

    libvirt_uri: Text = Field("", alias="libvirtURI")
    external_bridge: Text = ""
    external_mac_address: Text = Field("", alias="externalMACAddress")
    provisioning_network: Text = ""
    provisioning_bridge: Text = ""
    provisioning_mac_address: Text = Field("", alias="provisioningMACAddress")
    provisioning_network_interface: Text = ""
    provisioning_network_cidr: Cidr = Field("", alias="provisioningNetworkCIDR")
    provisioning_network_gateway: Text = ""
    provisioning_dhcp_range: Text = Field("", alias="provisioningDHCPRange")
    cluster_provisioning_ip: Text = Field("", alias="clusterProvisioningIP")
    bootstrap_provisioning_ip: Text = Field("", alias="bootstrapProvisioningIP")
    bootstrap_external_static_ip: Text = Field("", alias="bootstrapExternalStaticIP")
    bootstrap_external_static_gateway: Text = ""
    bootstrap_external_static_dns: Text = Field("", alias="bootstrapExternalStaticDNS")
    api_vips: tuple[Text, ...] = Field((), alias="apiVIPs")
    ingress_vips: tuple[Text, ...] = Field((), alias="ingressVIPs")
    load_balancer: LoadBalancer | None = None
    dns_records_type: Text = ""
    bgp_vip_config: dict[str, Any] | None = Field(None, alias="bgpVIPConfig", repr=False)
    """May hold passwords of BGP peers."""
    additional_ntp_servers: tuple[Text, ...] = Field((), alias="additionalNTPServers")
    bmc_verify_ca: Text = Field("", alias="bmcVerifyCA")
    default_machine_platform: dict[str, Any] | None = None
    hosts: tuple[Host, ...] | None = None
    api_vip: Text = Field("", alias="apiVIP", json_schema_extra=OLD)
    ingress_vip: Text = Field("", alias="ingressVIP", json_schema_extra=OLD)
    provisioning_host_ip: Text = Field("", alias="provisioningHostIP", json_schema_extra=OLD)
    provisioning_dhcp_external: StrictBool = Field(
        default=False, alias="provisioningDHCPExternal", json_schema_extra=OLD
    )
    bootstrap_os_image: Text = Field("", alias="bootstrapOSImage", json_schema_extra=OLD)
    cluster_os_image: Text = Field("", alias="clusterOSImage", json_schema_extra=OLD)


class Platform(Section):
    """The platform; this program supports baremetal only."""

    baremetal: BareMetal | None = None
    aws: dict[str, Any] | None = None
    azure: dict[str, Any] | None = None
    external: dict[str, Any] | None = None
    gcp: dict[str, Any] | None = None
    ibmcloud: dict[str, Any] | None = None
    none: dict[str, Any] | None = None
    nutanix: dict[str, Any] | None = None
    openstack: dict[str, Any] | None = None
    ovirt: dict[str, Any] | None = None
    powervc: dict[str, Any] | None = None
    powervs: dict[str, Any] | None = None
    vsphere: dict[str, Any] | None = None
