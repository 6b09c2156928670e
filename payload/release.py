"""The release that made a payload, as its bootstrap.ign names it."""

import re
from pathlib import Path

from base.errors import PayloadError
from base.files import read_file
from cluster.install_config.releases import Release
from payload.origin_checks import RELEASE_FILE
from payload.reading import stored_file

VERSION_FILE = "/opt/openshift/openshift/openshift-install-manifests.yaml"
"""A ConfigMap with the version of openshift-install (openshift/installer pkg/asset/openshiftinstall)."""
_VERSION = re.compile(rb"^[^\S\n]*+version: *+[\"']?(v?\d+\.\d+[.\w+-]*)", re.MULTILINE)
_TAG = re.compile(rb"release[\w./-]{0,255}+:(\d+\.\d+[.\w-]*)")
_KNOWN = range(4, 10)
"""The major versions of OpenShift; a build without a version has that of its git tag, for example 1.4."""


def payload_release(bootstrap: Path) -> Release | None:
    """Return the release of a payload; None if there is none, or it names no release, for example only a digest."""
    try:
        content = read_file(bootstrap)
        files = [(_VERSION, stored_file(content, VERSION_FILE)), (_TAG, stored_file(content, RELEASE_FILE))]
    except (OSError, PayloadError):
        return None
    versions = [match[1].decode() for pattern, text in files if text for match in pattern.finditer(text)]
    releases = [release for release in map(Release.of, versions) if release and release.major in _KNOWN]
    return next(iter(releases), None)
