"""The profile of a payload whose API is a real Kubernetes, with real kubelets."""

from ipaddress import ip_network

from pydantic import SecretStr

from assets.ignition import File, Unit
from lab.inventory import Site
from lab.payload.ignition import file, script, text, unit
from lab.payload.profile import MachineParts, Profile
from lab.payload.tls import CONTROLLERS, SERVER_CAS, TLS, ClusterTls, loopback_kubeconfig, make_tls
from payload.kubeconfig import INSIDE

SHUTDOWN_S = 20
"""Time for which an API that ends still serves. OKD has 70 s; the VIP leaves in up to 14 s."""
BAREMETAL_SHUTDOWN_S = 45
"""The bootstrap keeps the VIP beside a node for up to 15 s."""
_MANIFESTS = "/opt/openshift/manifests"
_OBJECTS = ("node-bootstrapper.yaml", "etcds-crd.yaml", "etcd.yaml", "bootstrap.yaml")


def kubernetes(site: Site) -> Profile:
    """Return a profile with new CAs."""
    services = ip_network(site.config.networking.service_network[0])
    tls = make_tls(site.plan.domain, services)
    api = (
        *(_pem(f"{TLS}/{name}", content) for name, content in tls.files.items()),
        file("/opt/openshift/auth/kubeconfig-loopback", loopback_kubeconfig()),
        script("lab-kube-apiserver.sh"),
        *((script("lab-in-turn.sh"),) if site.is_baremetal else ()),
    )
    shutdown_s = BAREMETAL_SHUTDOWN_S if site.is_baremetal else SHUTDOWN_S
    values = {"shutdown_s": shutdown_s, "is_baremetal": site.is_baremetal}
    servers = (
        Unit("lab-kube-apiserver.service", text("lab-kube-apiserver.service.j2", **values)),
        unit("lab-kube-controller-manager.service"),
    )
    kubelet = MachineParts(
        (
            file("/etc/kubernetes/kubeconfig", SecretStr(tls.bootstrap_kubeconfig)),
            file("/etc/kubernetes/kubelet-ca.crt", tls.client_cas, 0o644),
        ),
        (unit("lab-kubelet.service"),),
    )
    return Profile(
        etcd_port=2379,
        bootstrap=MachineParts(
            (*api, *_bootkube(tls)),
            (*servers, unit("lab-bootkube.service")),
        ),
        control_plane=MachineParts(
            (*api, *kubelet.files),
            (*servers, *kubelet.units),
        ),
        # Whichever member leads etcd stands in for its operator, which asks the API.
        arbiter=MachineParts(
            tuple(
                _pem(f"{TLS}/{name}", tls.files[name])
                for name in (SERVER_CAS, f"{CONTROLLERS}.crt", f"{CONTROLLERS}.key")
            )
        )
        + kubelet,
        compute=kubelet,
        environment={
            "SERVICE_NETWORK": str(services),
            "SHUTDOWN_S": shutdown_s,
            **({"FENCED": "yes"} if site.plan.is_fenced else {}),
        },
        kubeconfig=tls.kubeconfig,
    )


def _bootkube(tls: ClusterTls) -> tuple[File, ...]:
    return (
        file(INSIDE, SecretStr(tls.internal_kubeconfig)),
        *(file(f"{_MANIFESTS}/{name}", text(name), 0o644) for name in _OBJECTS),
    )


def _pem(path: str, content: str) -> File:
    return file(path, SecretStr(content)) if path.endswith(".key") else file(path, content, 0o644)
