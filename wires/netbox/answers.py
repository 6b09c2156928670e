"""What NetBox answers, as far as it is read.

Source: netbox 4.6.8, dcim/api/serializers_/devices.py and device_components.py, ipam/api/serializers_/ip.py.
"""

from pydantic import ConfigDict

from base.spec import Model
from cluster.inventory.devices import Device, Interface
from cluster.values.mac import parse_mac


class _Answer(Model):
    model_config = ConfigDict(extra="ignore")


class _Slug(_Answer):
    slug: str


class _Named(_Answer):
    name: str


class _DeviceType(_Answer):
    model: str
    manufacturer: _Named


class _Choice(_Answer):
    value: str


class _Id(_Answer):
    id: int


class _BriefAddress(_Answer):
    address: str

    @property
    def host(self) -> str:
        """Without the mask."""
        return self.address.partition("/")[0]


class AddressAnswer(_BriefAddress):
    """An IP address. Of a first-hop group or a virtual machine's interface, the type is another."""

    assigned_object_type: str | None
    assigned_object_id: int | None


class InterfaceAnswer(_Answer):
    """An interface of a device, which may be a bond, a bridge or a VLAN."""

    id: int
    device: _Id
    name: str
    type: _Choice
    enabled: bool
    mgmt_only: bool
    mac_address: str | None
    parent: _Id | None
    bridge: _Id | None
    lag: _Id | None

    def interface(self) -> Interface:
        """Return it as the inventory has it."""
        above = (self.bridge, self.lag)
        return Interface(
            id=self.id,
            name=self.name,
            kind=self.type.value,
            mac=parse_mac(self.mac_address or "") or "",
            in_use=self.enabled and not self.mgmt_only,
            parent=self.parent.id if self.parent else None,
            members_of=tuple(it.id for it in above if it),
        )


class DeviceAnswer(_Answer):
    """A device."""

    id: int
    name: str | None
    """None: NetBox takes devices without one."""
    serial: str
    role: _Slug
    tags: tuple[_Slug, ...]
    device_type: _DeviceType
    primary_ip4: _BriefAddress | None
    primary_ip6: _BriefAddress | None
    oob_ip: _BriefAddress | None

    def device(self, interfaces: list[Interface], carrying: dict[str, int]) -> Device:
        """Return it as the inventory has it.

        Args:
            interfaces: Its own, in NetBox's order.
            carrying: The Id of the interface that has an address, by address with mask.
        """
        primary = [it for it in (self.primary_ip4, self.primary_ip6) if it]
        return Device(
            name=self.name or "",
            serial=self.serial.strip(),
            manufacturer=self.device_type.manufacturer.name,
            model=self.device_type.model,
            words=(self.role.slug, *(tag.slug for tag in self.tags)),
            bmc=self.oob_ip.host if self.oob_ip else "",
            addresses=tuple(it.host for it in primary),
            interfaces=tuple(interfaces),
            primary=tuple(carrying[it.address] for it in primary if it.address in carrying),
        )
