"""The release that a payload names."""

from pathlib import Path

import pytest

from assets.ignition import Config, File, Resource
from cluster.install_config.releases import Release
from payload.origin_checks import RELEASE_FILE
from payload.release import VERSION_FILE, payload_release

VERSION = """\
apiVersion: v1
data:
  invoker: user
  version: {}
kind: ConfigMap
"""
"""As openshift/installer pkg/asset/openshiftinstall/openshiftinstall.go makes it."""
IMAGE = 'RELEASE_IMAGE="{}"\n'


def bootstrap(folder: Path, version: str = "", image: str = "") -> Path:
    texts = {VERSION_FILE: version and VERSION.format(version), RELEASE_FILE: image and IMAGE.format(image)}
    files = tuple(File(path, Resource.inline(text)) for path, text in texts.items() if text)
    path = folder / "bootstrap.ign"
    path.write_text(Config(files=files).to_json())
    return path


@pytest.mark.parametrize(
    ("version", "image", "release"),
    [
        pytest.param("v4.22.1", "", Release(4, 22), id="version"),
        pytest.param("v1.4.21-ec.2", "quay.io/okd/scos-release:5.0.0-okd-scos.1", Release(5, 0), id="tag"),
        pytest.param("unreleased", f"quay.io/okd/scos-release@sha256:{'4' * 64}", None, id="digest"),
        pytest.param("", "", None, id="neither"),
    ],
)
def test_the_release_is_that_of_openshift_install_or_of_its_image(
    tmp_path: Path, version: str, image: str, release: Release | None
) -> None:
    assert payload_release(bootstrap(tmp_path, version, image)) == release


def test_a_payload_that_is_missing_or_broken_names_none(tmp_path: Path) -> None:
    assert payload_release(tmp_path / "bootstrap.ign") is None
    (tmp_path / "bootstrap.ign").write_text("{")
    assert payload_release(tmp_path / "bootstrap.ign") is None
