"""Where the lab keeps what it needs while it is up. Everything but LOG goes away with it."""

from pathlib import Path

NAMESPACE = "okd-lab"
ROOT = Path("/var/lib/okd-lab")
LIBVIRT = ROOT / "libvirt"
POOL = ROOT / "pool"
DISKS = ROOT / "disks"  # outside the pool: what is left in the pool is what the program left there
CONSOLE = ROOT / "console"
BMC = ROOT / "bmc"
DNS = ROOT / "dns"
PID = ROOT / "pid"
LOG = ROOT / "log"
LOCK = Path("/run/okd-lab.lock")
RESOLV_CONF = Path("/etc/netns") / NAMESPACE / "resolv.conf"

FILES = Path(__file__).parent / "files"

LIBVIRT_URI = f"qemu+unix:///system?socket={LIBVIRT}/run/libvirt-sock"
POOL_NAME = "default"
# The BMC's own store: the emulator never deletes the media that it was given (sushy-tools 2.2.0).
BMC_POOL, BMC_POOL_NAME = BMC / "media", "bmc-media"
BASE_VOLUME = "okd-lab-base.qcow2"
