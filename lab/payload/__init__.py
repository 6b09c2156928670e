"""A stand-in for the payload of `openshift-install create ignition-configs`, small enough for a VM.

As with openshift-install 4.21 and machine-config-operator 7ff337a4, the bootstrap first boots into a target of its
own, which pulls by name; every machine has the encapsulated config; and a node pivots and reboots once.
etcd's TLS client endpoint stands in for the API server on 6443, haproxy for the config server on 22623, for the
ingress router and for kubelet's port. The program treats them as the real ones. On platform baremetal, for a
control plane of one and with fencing, the API is a real Kubernetes, because the handoff asks it.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretBytes, SecretStr

from assets.contract import UNITS
from assets.ignition import Config, File, Unit, User, pack
from assets.services import pull_secret
from base.files import write_private
from cluster.plan import Intent, Role
from cluster.values.address import netloc
from cluster.values.role import BOOTSTRAP, MachineRole, payload_files
from lab.inventory import Site
from lab.payload import ignition
from lab.payload.baremetal import with_platform_baremetal
from lab.payload.ignition import script, text, unit
from lab.payload.kubernetes import kubernetes
from lab.payload.profile import MachineParts, Profile, stand_in
from lab.shell import LabError
from lab.twin import REGISTRY
from testing.baremetal_payload import install_config_manifest
from testing.certificates import Authority, Pair
from testing.payloads import CONFIG_MANIFEST, cluster_config, pointer

DEFAULT_RETIRE_AFTER_S = 15  # the rehearsal's handoff soaks for 5 s; then the VM takes some seconds to shut down

_PACKED_PATH = "/etc/lab/config/master.ign.gz"
_PLACEHOLDER = "@PACKED@"
_MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"
_ROOT_CA = "/opt/openshift/tls/root-ca.crt"
_ENCAPSULATED = "/etc/ignition-machine-config-encapsulated.json"
_NODE_IMAGE = (
    "release-image.service",
    "node-image-pull.service",
    "node-image-overlay.target",
    "node-image-finish.service",
)
_NODE = (
    "firstboot-osupdate.target",
    "kubelet-dependencies.target",
    "machine-config-daemon-pull.service",
    "machine-config-daemon-firstboot.service",
    "nodeip-configuration.service",
    "nmstate-configuration.service",
)


@dataclass(frozen=True)
class Payload:
    """The files of the payload, and the answers of its config server; those of arbiters are empty without any."""

    bootstrap: str
    master: str
    arbiter: str
    worker: str
    role_master: str
    """Answer to /config/master."""
    role_arbiter: str
    """Answer to /config/arbiter."""
    role_worker: str
    """Answer to /config/worker."""
    kubeconfig: str | None
    """The operator's. None: etcd stands in for the API."""


def write_payload(payload: Payload, out: Path) -> None:
    """Write the files of a payload to `out`, readable by their owner only: those of Ignition, and auth/kubeconfig.

    Raises:
        LabError: `out` is not writable.
    """
    files = {f"{name}.ign": getattr(payload, name) for name in payload_files(has_arbiter=bool(payload.arbiter))}
    if payload.kubeconfig:
        files["auth/kubeconfig"] = payload.kubeconfig
    try:
        for name, content in files.items():
            write_private(out / name, content)
    except OSError as error:
        raise LabError(f"{error.filename or out}: {error.strerror}. Fix: name another folder with --out") from None


def make_payload(site: Site, *, retire_after_s: int = DEFAULT_RETIRE_AFTER_S) -> Payload:
    """Return a payload whose API is a stand-in, with a new CA, whose key is discarded.

    Where the handoff waits for OKD's own report, the API is a real Kubernetes all the same.
    """
    if site.api_is_real:
        return make_kubernetes_payload(site)
    return _build(site, stand_in(retire_after_s, ends_by_itself=site.has_balancer))


def make_kubernetes_payload(site: Site) -> Payload:
    """Return a payload whose API is a real Kubernetes, with new CAs."""
    profile = kubernetes(site)
    return _build(site, with_platform_baremetal(site, profile) if site.is_baremetal else profile)


def _build(site: Site, profile: Profile) -> Payload:
    plan, authority = site.plan, Authority.create("root-ca")
    machines = [plan.bootstrap, *plan.holders_of_etcd, *plan.spares]  # a spare may become one of them
    names = [f"api.{plan.domain}", f"api-int.{plan.domain}", "localhost"]
    addresses = [address for machine in machines for address in machine.addresses]
    # The pointers of platform baremetal name the config server by the API VIP: no DNS has its name for an initramfs.
    server = authority.issue(names, [*addresses, *(plan.api.addresses if site.is_baremetal else ())])
    router = authority.issue([f"*.apps.{plan.domain}"])

    common = [*_tls(authority.pem, server), *_scripts(plan, profile)]
    routing = _router(profile, router)
    worker = _worker(site, profile, routing)
    arbiter = _arbiter(site, profile, common) if plan.arbiters else ""
    frame = ignition.frame(_PACKED_PATH, _PLACEHOLDER)
    if not plan.compute:  # then the control plane has Ingress
        profile = replace(profile, control_plane=profile.control_plane + routing)
    master = _master(site, profile, common, frame, {"arbiter": arbiter, "worker": worker})
    packed = pack(master.encode())
    host = str(plan.api.address) if site.is_baremetal else f"api-int.{plan.domain}"
    url = f"https://{netloc(host, 22623)}/config"
    return Payload(
        bootstrap=_bootstrap(
            site, profile, [*common, ignition.file(_ROOT_CA, authority.pem)], _served_master(frame, packed), arbiter
        ),
        master=pointer(f"{url}/master", authority.pem),
        arbiter=pointer(f"{url}/arbiter", authority.pem) if arbiter else "",
        worker=pointer(f"{url}/worker", authority.pem),
        role_master=frame.replace(_PLACEHOLDER, base64.b64encode(packed).decode()),
        role_arbiter=arbiter,
        role_worker=worker,
        kubeconfig=profile.kubeconfig,
    )


def _bootstrap(site: Site, profile: Profile, common: list[File], master: MachineParts, arbiter: str) -> str:
    of_platform = install_config_manifest if site.is_baremetal else cluster_config
    files = (
        *common,
        *_config_server({"arbiter": arbiter}),
        *master.files,
        ignition.file(_MANIFEST, text("infrastructure.yml.j2", plan=site.plan), 0o644),
        ignition.file(CONFIG_MANIFEST, of_platform(site.config), 0o644),
        _encapsulated("bootstrap-fips"),
        _pull_secret(site, BOOTSTRAP),
        *_node_image(),
        *profile.bootstrap.files,
    )
    units = (_etcd("bootstrap"), unit("lab-config-server.service"), *profile.bootstrap.units)
    return Config(files, units, _users(site)).to_json()


def _served_master(frame: str, packed: bytes) -> MachineParts:
    """Return the files from which a config server makes the control plane's config."""
    return MachineParts(
        (
            ignition.file("/etc/lab/config/master.frame", frame),
            ignition.file(_PACKED_PATH, SecretBytes(packed)),
        )
    )


def _master(site: Site, profile: Profile, common: list[File], frame: str, others: Mapping[str, str]) -> str:
    """Return the control plane's config without its own packed copy, which the config server adds."""
    files = (
        *common,
        *profile.control_plane.files,
        *_config_server(others),
        ignition.file("/etc/lab/config/master.frame", frame),
    )
    names = ("lab-config-server.service", *_NODE)
    units = (_etcd("node"), *map(unit, names), *profile.control_plane.units)
    return Config((*files, *_node_files(site, Role.CONTROL_PLANE)), units, _users(site)).to_json()


def _arbiter(site: Site, profile: Profile, common: list[File]) -> str:
    """Return the config of a machine with etcd and a kubelet, and nothing else of the control plane."""
    listening = MachineParts() if profile.kubeconfig else _haproxy(["kubelet's port"], listens=True)
    parts = listening + profile.arbiter
    units = (_etcd("arbiter"), *map(unit, _NODE), *parts.units)
    return Config((*common, *parts.files, *_node_files(site, Role.ARBITER)), units, _users(site)).to_json()


def _worker(site: Site, profile: Profile, routing: MachineParts) -> str:
    parts = routing + profile.compute
    units = (*map(unit, _NODE), *parts.units)
    return Config((*parts.files, *_node_files(site, Role.COMPUTE)), units, _users(site)).to_json()


def _router(profile: Profile, certificate: Pair) -> MachineParts:
    listens = not profile.kubeconfig
    parts = ["ingress router", *(["what listens in place of kubelet"] if listens else [])]
    pem = ignition.file("/etc/lab/router.pem", _pem(certificate))
    return MachineParts((pem,)) + _haproxy(parts, routes=True, listens=listens)


def _haproxy(parts: list[str], *, routes: bool = False, listens: bool) -> MachineParts:
    conf = text("router.cfg.j2", parts=parts, routes=routes, listens=listens)
    return MachineParts((ignition.file("/etc/lab/router.cfg", conf, 0o644),), (unit("lab-router.service"),))


def _encapsulated(name: str) -> File:
    """Return the file that rhcos-fips reads in the initramfs. On a node, the first boot renames it."""
    spec = {"config": {"ignition": {"version": "3.1.0"}}, "kernelArguments": [], "fips": False}
    return ignition.file(_ENCAPSULATED, json.dumps({"metadata": {"name": name}, "spec": spec}))


def _node_image() -> tuple[File, ...]:
    """Return the files by which a bootstrap reaches multi-user.target since 4.19, without units of the config."""
    generator = "/etc/systemd/system-generators/node-image-generator"
    return (
        _pull(),
        ignition.file(generator, text("node-image-generator.sh"), 0o755),
        *(ignition.file(f"{UNITS}/{name}", text(name), 0o644) for name in _NODE_IMAGE),
    )


def _node_files(site: Site, role: Role) -> tuple[File, ...]:
    """Return the files that the units of `_NODE` read."""
    return _encapsulated(f"rendered-{role.pool}"), _pull(), _pull_secret(site, role)


def _pull() -> File:
    return ignition.file("/usr/local/bin/lab-pull.sh", text("lab-pull.sh.j2", registry=REGISTRY), 0o755)


def _pull_secret(site: Site, role: MachineRole) -> File:
    return ignition.file(pull_secret(role), site.config.pull_secret)


def _users(site: Site) -> tuple[User, ...]:
    """Return CoreOS's own user. Its keys are one text, as openshift-install writes them."""
    return (User("core", (site.config.ssh_key,)),) if site.config.ssh_key else ()


def _tls(authority: str, server: Pair) -> list[File]:
    return [
        ignition.file("/etc/lab/ca.crt", authority, 0o644),
        ignition.file("/etc/lab/server.crt", server.certificate, 0o644),
        ignition.file("/etc/lab/server.key", SecretStr(server.key)),
        ignition.file("/etc/lab/server.pem", _pem(server)),
    ]


def _pem(pair: Pair) -> SecretStr:
    """Join certificate and key in one text, as haproxy requires."""
    return SecretStr(pair.certificate + pair.key)


def _scripts(plan: Intent, profile: Profile) -> list[File]:
    family = plan.api.address.version
    own_networks = [network for network in plan.machine_networks if network.version == family]
    values = {
        "DOMAIN": plan.domain,
        "FAMILY": family,
        "MACHINE_NETWORKS": f'"{" ".join(str(network) for network in own_networks)}"',
        "ETCD_PORT": profile.etcd_port,
        "BOOTSTRAP_NAME": plan.bootstrap.name,
        "BOOTSTRAP_ADDRESS": plan.bootstrap.address,
        "ETCD_MEMBERS": len(plan.holders_of_etcd),
        "API_SERVERS": len(plan.control_plane),
        **profile.environment,
    }
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    return [
        ignition.file("/etc/lab/cluster.env", text, 0o644),
        script("lab-machine.sh", 0o644),
        script("lab-etcd.sh"),
        script("lab-config-server.sh"),
    ]


def _config_server(others: Mapping[str, str]) -> tuple[File, ...]:
    """Return what serves the control plane, and the configs of other pools."""
    served = {pool: config for pool, config in others.items() if config}
    conf = text("config-server.cfg.j2", pools=("master", *served))
    return (
        ignition.file("/etc/lab/config-server.cfg", conf, 0o644),
        *(ignition.file(f"/etc/lab/config/{pool}.ign", SecretStr(config)) for pool, config in served.items()),
    )


def _etcd(role: str) -> Unit:
    return Unit("lab-etcd.service", text("lab-etcd.service.j2", role=role))
