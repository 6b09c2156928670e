"""Checks of what bootstrap.ign was made from: the whole install-config, the pull secret, and the release."""

import re
from collections.abc import Mapping
from pathlib import Path

from base.errors import ConfigError, PayloadError, word
from base.yaml_text import parse_yaml
from cluster.payload_values import PULL_SECRET, payload_values, pull_secret_value
from payload.reading import TAKE, IgnitionFile, again, data_of

CONFIG_MANIFEST = "/opt/openshift/manifests/cluster-config.yaml"
"""The ConfigMap `cluster-config-v1`: the install-config with all defaults, without the pull secret."""
PULL_SECRET_FILE = "/root/.docker/config.json"  # noqa: S105  (a path)
RELEASE_FILE = "/usr/local/bin/release-image-download.sh"
"""It pulls the release image, by its tag or its digest (openshift/installer 02ea3f80, data/data/bootstrap)."""
HIDDEN = frozenset({PULL_SECRET, "proxy.httpProxy", "proxy.httpsProxy"})
"""Values that may hold a login."""
SHOWN_CHARACTERS = 80
STREAM = "osImageStream"
_RELEASE = re.compile(r"^RELEASE_IMAGE=[\"']?([^\s\"']+)", re.MULTILINE)
_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})$")


def check_install_config(where: Path, config: IgnitionFile, wanted: Mapping[str, str]) -> None:
    """Check that the payload was made from this install-config.

    Args:
        where: The file.
        config: Its content.
        wanted: The `payload_values` of the stack. The pull secret is compared if it is one of them. Empty: unknown.

    Raises:
        PayloadError: Values differ, or the payload's install-config cannot be read. No secret is quoted.
    """
    if not wanted:
        return
    actual = _values_in(where, config)
    if STREAM not in wanted:
        actual.pop(STREAM, None)  # the default of the release (openshift/installer since 4.22)
    if PULL_SECRET not in wanted:
        actual.pop(PULL_SECRET, None)
    if differing := [path for path in sorted({*wanted, *actual}) if wanted.get(path) != actual.get(path)]:
        seen = "; ".join(_difference(path, actual.get(path, "none"), wanted.get(path, "none")) for path in differing)
        as_before = "write them in install-config.yaml as they were"
        fix = f"{as_before}; or, if no machine runs with this payload, {again(where)}"
        raise PayloadError(f"made from another install-config: {seen}", where=str(where), fix=fix)


def check_release(where: Path, config: IgnitionFile, wanted: str) -> None:
    """Check that the payload installs the release whose images this program's services run.

    Args:
        where: The file.
        config: Its content.
        wanted: The option `images.release`. Empty: the stack names each image.

    Raises:
        PayloadError: It installs another one. A release by its tag cannot be compared.
    """
    found = release_image(where, config)
    actual, digest = (_DIGEST.search(image) for image in (found, wanted))
    if actual and digest and actual[1] != digest[1]:
        what = f"it installs the release {found}, but images.release is {wanted}"
        fix = (
            f"`pulumi config set --path images.release {word(found)}`; or, if no machine runs with this payload, "
            f"{again(where)} with that release's openshift-install"
        )
        raise PayloadError(what, where=str(where), fix=fix)


def release_image(where: Path, config: IgnitionFile) -> str:
    """Return the name of the release image that a payload installs; empty if it names none.

    Raises:
        PayloadError: The file that names it is broken.
    """
    script = config.contents(RELEASE_FILE).get(RELEASE_FILE)
    found = _RELEASE.search(data_of(where, RELEASE_FILE, script).decode(errors="replace")) if script else None
    return found[1] if found else ""


def _values_in(where: Path, config: IgnitionFile) -> dict[str, str]:
    """Return the values of the install-config and the pull secret in bootstrap.ign.

    A key that this program does not know is the default of a newer openshift-install: a stack cannot have it.
    """
    from cluster.install_config import read  # noqa: PLC0415  (a provider that checks no payload spares its import)

    text = data_of(where, CONFIG_MANIFEST, config.contents(CONFIG_MANIFEST).get(CONFIG_MANIFEST))
    try:
        values = payload_values(read(parse_yaml(text)["data"]["install-config"]).config)
    except (ConfigError, TypeError, KeyError, AttributeError):
        what = f"{CONFIG_MANIFEST} in it has no readable install-config"
        raise PayloadError(what, where=str(where), fix=TAKE) from None
    secret = config.contents(PULL_SECRET_FILE).get(PULL_SECRET_FILE)
    return values | pull_secret_value(data_of(where, PULL_SECRET_FILE, secret).decode(errors="replace"))


def _difference(path: str, actual: str, wanted: str) -> str:
    if path in HIDDEN or max(len(actual), len(wanted)) > SHOWN_CHARACTERS:
        return f"another {path}"
    return f"{path} {actual}, not {wanted}"
