"""Paths of the lab's files. `down` removes all of them except LOG."""

from pathlib import Path

NAMESPACE = "okd-lab"
FOREIGN = f"{NAMESPACE}-foreign"  # namespace of the machine of `foreign_dhcp`
ROOT = Path("/var/lib/okd-lab")
LIBVIRT = ROOT / "libvirt"
POOL = ROOT / "pool"
DISKS = ROOT / "disks"  # outside the pool, so that all volumes in the pool are the program's
BMC = ROOT / "bmc"
DNS = ROOT / "dns"
BALANCER = ROOT / "balancer"
PID = ROOT / "pid"
PROJECT = ROOT / "operator" / "project"  # the program, and the twin's stack
LOG = ROOT / "log"
CONSOLE = LOG / "console"
MARKS = ROOT / "operator" / "marks"  # of the installations of the twin, as of no server of this machine
STACK_UP = ROOT / "stack"  # names the stack whose twin is up
KEPT = ROOT / "kept"  # exists if somebody wants that twin to stay up
LOCK = Path("/run/okd-lab.lock")  # of one change
RESERVED = Path("/run/okd-lab-reserved.lock")  # of a whole rehearsal
RESOLV_CONF = Path("/etc/netns") / NAMESPACE / "resolv.conf"

FILES = Path(__file__).parent / "site" / "files"

LIBVIRT_URI = f"qemu+unix:///system?socket={LIBVIRT}/run/libvirt-sock"
POOL_NAME = "default"
# A pool of its own: the emulator never deletes inserted media (sushy-tools 2.2.0).
BMC_POOL, BMC_POOL_NAME = BMC / "media", "bmc-media"
BASE_VOLUME = "okd-lab-base.qcow2"
