"""RPC shell of `ProvisionerPreflight`."""

from dataclasses import fields

from providers.base.dynamic import Props, Provider
from providers.base.progress import row, warnings
from providers.base.verdict import Verdict
from providers.provisioner_preflight.engine import judge
from providers.provisioner_preflight.looks import HostLooks
from providers.provisioner_preflight.model import Spec


class PreflightProvider(Provider):
    """Looks and judges; owns nothing."""

    def _create(self, props: Props) -> tuple[str, Props]:
        return "provisioner", self._update("", {}, props)

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        verdict = _verdict(news)
        verdict.refuse()
        verdict.tell(warnings(news["urn"]), row(news["urn"]))
        return {
            "libvirt_version": verdict.libvirt_version,
            "kvm": verdict.kvm,
            "warnings": verdict.warnings,
            "unseen": verdict.unseen,
        }

    def _read(self, id_: str, props: Props) -> Props:
        warn = warnings(props["urn"])
        for finding in _verdict(props).findings:
            warn(str(finding))
        return {}


def _verdict(props: Props) -> Verdict:
    wanted = {field.name: props[field.name] for field in fields(Spec)}
    numbers = {key: int(props[key]) for key in ("disk_gib", "media_port")}
    return judge(Spec(**(wanted | numbers)), HostLooks(row(props["urn"])))
