"""`openshift-install create`: it consumes its input, and writes the files of the real one."""

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from base.yaml_text import parse_yaml
from cluster.install_config import InstallConfig, read
from testing import baremetal_payload, payloads
from testing.certificates import authority
from testing.fakes.openshift_install import (
    CONFIG,
    LOG,
    OTHER,
    RELEASE,
    STATE,
    STATE_OF_CONFIG,
    RefusedError,
    architecture,
)
from testing.kubeconfigs import kubeconfig, write_kubeconfig

FILE_MODE, FOLDER_MODE = 0o640, 0o750  # pkg/asset/asset.go, PersistToFile
READ = {"manifests": ("*",), "openshift": ("*.yaml", "*.yml", "*.json")}
"""The files that `create ignition-configs` reads of each folder (pkg/asset/manifests/operators.go, openshift.go)."""
FIPS = """\
fips: Forbidden: target cluster is in FIPS mode, use the FIPS-capable installer binary for RHEL 9 on a host with FIPS enabled.
To obtain a suitable binary, download the openshift-install-rhel9 archive from the client mirror, or extract the \
openshift-install-fips command from the release payload."""  # noqa: E501
"""One error of two lines (pkg/hostcrypt/dynamic.go)."""


def create(what: str, folder: Path) -> None:
    """Read the install-config, or the output of an earlier `create`, and write the next files."""
    is_new = (folder / CONFIG).is_file()
    text = _config_text(folder, what)
    config = _validated(text)
    release = os.environ.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", "")
    if release:  # pkg/asset/releaseimage/pullspec.go
        _log(
            folder, "warning", f"Found override for release image ({release}). Please be warned, this is not advised"
        )
    state = {"config": parse_yaml(text), "file": {"Filename": CONFIG, "Data": text}}
    _write(folder / STATE, json.dumps({STATE_OF_CONFIG: state}))
    if what == "manifests":
        _write_manifests(folder, config)
    else:
        # With a new install-config, manifests that it finds are out of date (pkg/asset/store/store.go, load).
        _write_ignition(folder, config, release, {} if is_new else _consumed_manifests(folder))
    if is_new:
        _log(folder, "info", "Consuming Install Config from target directory")
        (folder / CONFIG).unlink()
    if what == "ignition-configs":
        _log(folder, "info", f"Ignition-Configs created in: {folder} and {folder}/auth")


def _config_text(folder: Path, what: str) -> str:
    """Return the install-config, or that of an earlier `create`; without either, the real one asks its terminal."""
    if (folder / CONFIG).is_file():
        return (folder / CONFIG).read_text()
    if (folder / STATE).is_file():
        return str(json.loads((folder / STATE).read_text())[STATE_OF_CONFIG]["file"]["Data"])
    raise RefusedError(f'failed to fetch {what}: failed to generate asset "SSH Key": failed UserInput: EOF', OTHER)


def _validated(text: str) -> InstallConfig:
    """Return the config, as the real one reads it (its YAML: go.yaml.in/yaml v2)."""
    prefix = (
        'failed to fetch Ignition Configs: failed to load asset "Install Config": failed to create install config'
    )
    reading = read(text)
    if unknown := [fault.where for fault in reading.faults if fault.what == "unknown key"]:
        raise RefusedError(
            f'{prefix}: failed to parse first occurrence of unknown field: unknown field "{unknown[0]}"'
        )
    for reason in (os.environ.get("FAILS"), *_reasons(reading.config)):
        if reason:
            raise RefusedError(f'{prefix}: invalid "{CONFIG}" file: {reason}')
    return reading.config


def _reasons(config: InstallConfig) -> Iterator[str]:
    """Yield why an install-config is refused (pkg/types/validation/installconfig.go)."""
    if not config.pull_secret.get_secret_value():
        yield "pullSecret: Required value: "
    if config.fips and not os.environ.get("OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION"):
        yield FIPS
    release = architecture()
    for path, pool in (("controlPlane", config.control_plane), ("compute[0]", config.compute[0])):
        if release in ("amd64", "arm64") and pool.architecture != release:
            what = f"cannot create {pool.architecture} {path.removesuffix('[0]')} node"
            yield (
                f'{path}.architecture: Invalid value: "{pool.architecture}": {what} from a single architecture '
                f"{release} release payload"
            )


def _write_manifests(folder: Path, config: InstallConfig) -> None:
    domain = f"{config.metadata.name}.{config.base_domain}"
    of_servers = dict[str, str]()
    installed, infrastructure = payloads.cluster_config(config), payloads.manifest(domain=domain)
    if config.platform.baremetal:
        installed = baremetal_payload.install_config_manifest(config)
        infrastructure = baremetal_payload.infrastructure(config, domain)
        of_servers = baremetal_payload.manifests_of_servers(config)
    _write(folder / "manifests/cluster-config.yaml", installed)
    _write(folder / "manifests/cluster-infrastructure-02-config.yml", infrastructure)
    for name, text in of_servers.items():
        _write(folder / "openshift" / name, text)
    _write(folder / "openshift/99_kubeadmin-password-secret.yaml", "kind: Secret\n")


def _consumed_manifests(folder: Path) -> dict[str, str]:
    """Remove the manifests that `create ignition-configs` reads, and return them; all other files stay."""
    texts = dict[str, str]()
    for name, patterns in READ.items():
        for file in sorted({file for pattern in patterns for file in (folder / name).glob(pattern)}):
            texts[f"/opt/openshift/{name}/{file.name}"] = file.read_text()
            file.unlink()
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
    return texts


def _write_ignition(folder: Path, config: InstallConfig, release: str, manifests: dict[str, str]) -> None:
    made = datetime.now(UTC) - timedelta(minutes=1)
    files = payloads.good(made, config, release=release or RELEASE)
    if config.platform.baremetal:
        of_servers = {} if manifests else baremetal_payload.manifests_of_servers(config)
        baremetal_payload.become_baremetal(files, config, of_servers, made)
    for path, text in manifests.items():
        payloads.put(files, path, text)
    for name, content in files.items():
        _write(folder / f"{name}.ign", json.dumps(content))
    domain = f"{config.metadata.name}.{config.base_domain}"
    write_kubeconfig(folder, kubeconfig(authority("test-ca"), domain)).parent.chmod(FOLDER_MODE)
    _write(folder / "auth" / "kubeadmin-password", "aaaaa-bbbbb-ccccc-ddddd")
    _write(folder / "metadata.json", json.dumps({"clusterName": config.metadata.name}))


def _log(folder: Path, level: str, message: str) -> None:
    print(f"level={level} msg={message}", file=sys.stderr)
    earlier = (folder / LOG).read_text() if (folder / LOG).is_file() else ""
    _write(folder / LOG, f'{earlier}time="{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}" level={level} msg="{message}"\n')


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    path.write_text(text)
    path.chmod(FILE_MODE)
