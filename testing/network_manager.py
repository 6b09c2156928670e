"""A real NetworkManager on a machine of `testing.namespaces.run_on_a_machine`."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from assets.file import Reader, RenderedFile
from providers.rendered_asset.readers import lay_out

# With a read-only /sys, NetworkManager expects no udev, which a network namespace does not have.
NO_UDEV = "mount -t sysfs -o ro sysfs /sys; mount -t tmpfs tmpfs /var/lib/NetworkManager"
"""Shell lines that come before its interfaces."""
NETWORK_MANAGER = """
    mkdir /run/dbus; dbus-daemon --system --fork --nopidfile
    echo "[keyfile]
unmanaged-devices=interface-name:$SITE
[main]
no-auto-default=*
rc-manager=unmanaged" >/run/nm.conf
    NetworkManager --config=/run/nm.conf --config-dir=/none --system-config-dir=/none --pid-file=/run/nm.pid
    """
"""Shell lines that start it; interface $SITE is not the machine's, but the site's."""


def lay_out_keyfiles(folder: Path, files: Iterable[RenderedFile]) -> None:
    """Put a machine's keyfiles into its `folder`, with the users of D-Bus and dnsmasq."""
    (folder / "etc").mkdir()
    for users in ("passwd", "group"):
        shutil.copy(f"/etc/{users}", folder / "etc")
    lay_out(folder, (file for file in files if file.reader is Reader.KEYFILE))
