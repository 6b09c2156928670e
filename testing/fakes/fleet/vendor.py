"""What a vendor's BMCs may do unlike others: the fields of a row of `vendors`."""

from dataclasses import dataclass

from testing.fakes.fleet import parts
from testing.fakes.fleet.parts import Clearing, Firmware, Refusal, Slot


@dataclass(frozen=True)
class Vendor:
    """One row.

    Args:
        sku: SKU of the system, with the host's `{index}` in a service tag; empty if it has none.
        service: Vendor and Product of the service root, and the key in its Oem; empty if it has none.
        other_systems: Systems without Boot that the same BMC lists first.
        system_type: SystemType of the system.
        boots: Whether the system has Boot.
        media_on: `Managers` or `Systems`; empty if neither links virtual drives.
        media_by: How the virtual CD is mounted: by `action` or `patch` of the drive.
        patch_takes: What can be written by `patch`.
        media_enabled: Whether the drives are listed before remote media are enabled by the OEM action.
        enable_action: Name of that action.
        enable_on: `Managers` or `Systems`.
        media_config: Whether the collection links the vendor's own method to mount an image.
        own_action: Name of the System's own action that mounts an image; empty if there is none.
        media_refused: Parameters of InsertMedia that are an error.
        media_schemes: Schemes of the URLs that InsertMedia accepts.
        verifies: VerifyCertificate of the drives at first; None: it reads images over TLS from whoever answers.
        image_as: How a drive reports its image: as its `url`, with its file name `twice`, or only by its `name`.
        insert_full: Answer to an insert into a full drive.
        eject_empty: Answer to an eject of an empty drive; None for success.
        eject_needs_body: Whether an eject without a body is answered 415.
        eject_takes: Time for which `Inserted` stays true, with the old URL, after an eject.
        eject_when_full: Whether a drive advertises EjectMedia only if it is full, and InsertMedia only if empty.
        image_stays: Whether an eject leaves Image and ImageName.
        cd_targets: The overrides that boot the virtual CD.
        targets: Allowed values of the override.
        http_boot: Whether Boot has HttpBootUri; without it, `UefiHttp` boots the URL from DHCP.
        attributes: Path below the manager of the attributes that boot the virtual CD; empty if the override does.
        attributes_linked: Paths below the manager that it links as its attributes.
        boot_mode: Initial mode of the override; None for null, empty if there is no such property.
        boot_in_settings: Boot can be written, and its allowed values read, only in @Redfish.Settings.
        boot_pending: A written Boot shows on the System from the next power-on, and in @Redfish.Settings at once.
        boot_falls_back: A change of Boot without a mode stores Legacy, which boots no image made for UEFI.
        boot_whole: A change of Boot must send target, enabled and mode at once.
        clearing: What ends a boot override.
        boot_busy: How long after a power-on a change of Boot is refused.
        firmware: How the boot mode and Secure Boot are set.
        needs_etag: Status that answers a PATCH without If-Match; 0: none.
        on_busy: How long after a power-off `On` is refused.
        already: Answer to a Reset to the present power; None for success.
        unlicensed: Answer to a request that needs a missing licence.
        terse: Whether an error has its MessageId and arguments, and neither Message nor Severity.
        capture: File of the captured tree that is served; empty for a tree made of this row.
    """

    name: str
    manufacturer: str
    model: str
    bmc_model: str
    bmc_version: str
    bios_version: str
    slots: tuple[Slot, ...]
    system: str = "1"
    manager: str = "1"
    sku: str = ""
    service: tuple[str, str, str] = ("", "", "")
    other_systems: tuple[str, ...] = ()
    other_managers: tuple[str, ...] = ()
    system_type: str = "Physical"
    boots: bool = True
    media_on: str = "Managers"
    media_by: str = "action"
    patch_takes: tuple[str, ...] = ("Image", "Inserted", "WriteProtected")
    media_enabled: bool = True
    enable_action: str = "AMIVirtualMedia.EnableRMedia"
    enable_on: str = "Managers"
    media_config: bool = False
    own_action: str = ""
    media_refused: tuple[str, ...] = ()
    media_schemes: tuple[str, ...] = ("http", "https")
    verifies: bool | None = None
    image_as: str = "url"
    insert_full: Refusal = parts.IN_USE
    eject_empty: Refusal | None = None
    eject_needs_body: bool = False
    eject_takes: int = 0
    eject_when_full: bool = False
    image_stays: bool = False
    cd_targets: tuple[str, ...] = ("Cd",)
    targets: tuple[str, ...] = ("None", "Pxe", "Hdd", "Cd", "UefiHttp")
    http_boot: bool = False
    attributes: str = ""
    attributes_linked: tuple[str, ...] = ()
    boot_mode: str | None = "UEFI"
    boot_in_settings: bool = False
    boot_pending: bool = False
    boot_falls_back: bool = False
    boot_whole: bool = False
    clearing: Clearing = parts.TAKES_ALL
    boot_busy: int = 0
    firmware: Firmware = parts.UNKNOWN
    needs_etag: int = 0
    on_busy: int = 0
    already: Refusal | None = None
    unlicensed: Refusal = parts.UNLICENSED
    terse: bool = False
    capture: str = ""

    @property
    def system_path(self) -> str:
        """Path of the server's system."""
        return f"/redfish/v1/Systems/{self.system}"

    @property
    def manager_path(self) -> str:
        """Path of the manager of that system."""
        return f"/redfish/v1/Managers/{self.manager}"

    @property
    def media_path(self) -> str:
        """Path of the collection of virtual drives."""
        return f"{self.system_path if self.media_on == 'Systems' else self.manager_path}/VirtualMedia"

    @property
    def enable_path(self) -> str:
        """Path of the action that enables remote media."""
        owner = self.system_path if self.enable_on == "Systems" else self.manager_path
        return f"{owner}/Actions/Oem/{self.enable_action}"
