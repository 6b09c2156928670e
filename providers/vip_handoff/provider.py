"""Pulumi's calls for `VipHandoff`."""

from collections.abc import Iterator
from functools import partial

from assets.contract import API_PORT
from base.clock import SYSTEM_CLOCK
from base.errors import Fault, OkdBaremetalError, SnapshotError
from base.lock import held
from base.progress import Progress
from base.shown import MOST
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from payload.kubeconfig import api_ca, kubeconfig_text, read_kubeconfig
from payload.reading import read_payload
from providers.etcd.snapshot import EtcdSnapshots
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings
from providers.registered import note_api
from providers.vip_handoff.adapters import LibvirtGuest, LocalClusterProbe, measuring
from providers.vip_handoff.checks import known_vip_holder
from providers.vip_handoff.engine import HandoffEngine, input_faults
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from providers.vip_handoff.okd import Okd
from wires.api.api import Api
from wires.api.https import connect_problem
from wires.api.kubernetes import KubeApi
from wires.segment.neighbours import macs_at, unproven
from wires.shown_certificate import expiry_warning


class VipHandoffProvider(Provider[VipHandoffSpec, VipHandoffOuts]):
    """Create proves the VIPs' holder, update moves the VIPs once in phase `production`, read probes the holder."""

    def _faults(self, old: VipHandoffSpec | None, new: VipHandoffSpec) -> Iterator[Fault]:
        yield from input_faults(old, new)

    def _plan(self, old: VipHandoffSpec, outs: VipHandoffOuts, new: VipHandoffSpec) -> None:
        """Tell `HostProvisioning`, which wipes no server that may be a node. A lost state has lost the kubeconfig."""
        note_api(new.stack, has_one=outs.kubeconfig is not None or new.import_production)

    def _create(self, spec: VipHandoffSpec) -> tuple[str, VipHandoffOuts]:
        note_api(spec.stack, has_one=spec.import_production)
        return ",".join(spec.vips), _reached(spec.phase, VipHandoffOuts(), spec)

    def _update(self, old: VipHandoffSpec, outs: VipHandoffOuts, new: VipHandoffSpec) -> VipHandoffOuts:
        return _reached(old.phase, outs, new)

    def _delete(self, spec: VipHandoffSpec, outs: VipHandoffOuts) -> None:
        """End the VM in phase `bootstrap`: `BootstrapVm` refuses to delete one beside a live control plane."""
        if spec.phase is Phase.BOOTSTRAP:
            with held(spec.where):
                _guest(spec).stop()

    def _read(self, spec: VipHandoffSpec, outs: VipHandoffOuts) -> VipHandoffOuts:
        # A refresh probes only the segment, and so needs no payload. A certificate is shown to everybody.
        warn = warnings(spec.urn)
        if soon := expiry_warning(spec.vips[0], API_PORT, f"api.{spec.domain}"):
            warn(f"{spec.where}: the certificate of the API {soon}; see docs/how-to/what-changed.md")
        if spec.balancer is Balancer.SITE:
            for problem in filter(None, (connect_problem(vip, API_PORT) for vip in spec.vips)):
                warn(f"{spec.where}: does not accept connections on {API_PORT} now ({problem})")
            return outs
        try:
            answering = tuple(macs_at(vip, wait_s=1) for vip in spec.vips)
            holder = known_vip_holder(spec, answering, macs_at)
        except OkdBaremetalError as error:
            warn(f"{spec.where}: could not be probed; the recorded holder stays: {error}")
            return outs
        macs = sorted(frozenset[str]().union(*answering))
        if not macs:
            warn(f"{spec.where}: no machine answers it now; the recorded holder stays")
            return outs
        state = f"held by {holder or 'no one machine'}, {len(macs)} MACs answer"
        row(spec.urn)(Progress("state", f"{spec.where}: {state}"))
        return outs.changed(holder=holder, mac=macs[0] if holder else None, macs=macs[:MOST])


def _reached(old: Phase, outs: VipHandoffOuts, spec: VipHandoffSpec) -> VipHandoffOuts:
    # The site's balancer is probed only over TCP.
    if blind_spot := None if spec.balancer is Balancer.SITE else unproven():
        warnings(spec.urn)(blind_spot)
    with held(spec.where):
        reached = _engine(spec).reach(old, outs)
    # A machine that runs the stack later need not have the payload.
    kubeconfig = kubeconfig_text(spec.stack) or outs.kubeconfig
    return reached.changed(unproven=blind_spot, kubeconfig=kubeconfig)


def _engine(spec: VipHandoffSpec) -> HandoffEngine:
    kubeconfig = read_kubeconfig(spec.stack)
    payload = read_payload(spec.stack, "master", spec.payload_sha256)
    api = Api(spec.domain, api_ca(payload, kubeconfig))
    okd = Okd(KubeApi.by(kubeconfig, f"api.{spec.domain}")) if kubeconfig else None
    signal, handed_over = (okd.missing, okd.not_handed_over if spec.fenced else None) if okd else (None, None)
    save = partial(_not_saved, spec)
    client = partial(measuring, spec.vips, api)
    probe = LocalClusterProbe(spec.vips, api)
    return HandoffEngine(spec, probe, _guest(spec), signal, save, client, SYSTEM_CLOCK, row(spec.urn), handed_over)


def _not_saved(spec: VipHandoffSpec) -> str | None:
    """Save etcd; return why that failed, or None.

    Raises:
        ConfigError: The store cannot be written.
        EngineGoneError: The engine has ended meanwhile.
        PayloadError: The payload has no kubeconfig.
    """
    snapshots = EtcdSnapshots.of(spec.stack, f"api.{spec.domain}", spec.vips[0], spec.snapshots, row(spec.urn))
    try:
        snapshots.take()
    except SnapshotError as error:
        return "; ".join([error.fault.what, *error.fault.details])
    # A snapshot takes minutes, in which the engine may have ended; the next word moves VIPs.
    SYSTEM_CLOCK.sleep(0)
    return None


def _guest(spec: VipHandoffSpec) -> LibvirtGuest:
    return LibvirtGuest(spec.libvirt_uri, spec.bootstrap_name, spec.stack, spec.shutdown_s, row(spec.urn))
