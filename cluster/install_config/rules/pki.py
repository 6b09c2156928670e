"""Rules for the keys of the cluster's own CAs (openshift/installer pkg/types/pki/validation.go)."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.install_config.schema import InstallConfig, SignerKey

KEY = "pki.signerCertificates.key"
RSA, ECDSA = ALGORITHMS = ("RSA", "ECDSA")
CURVES = ("P256", "P384", "P521")
KEY_SIZES = range(2048, 8193, 1024)
"""In bits."""


def _signer_key(config: InstallConfig) -> Iterator[Fault]:
    if config.pki is None:
        return
    key = config.pki.signer_certificates.key
    algorithm = key.algorithm
    if algorithm not in ALGORITHMS:
        what = f"{algorithm} is unknown" if algorithm else "missing"
        yield Fault(f"{KEY}.algorithm", what, f"write {' or '.join(ALGORITHMS)}")
        return
    for name, section in ((RSA, key.rsa), (ECDSA, key.ecdsa)):
        if section is not None and name != algorithm:
            yield Fault(f"{KEY}.{name.lower()}", f"does not fit algorithm {algorithm}", "remove it")
    yield from _rsa(key) if algorithm == RSA else _ecdsa(key)


def _rsa(key: SignerKey) -> Iterator[Fault]:
    least, most = KEY_SIZES[0], KEY_SIZES[-1]
    if key.rsa is None:
        yield Fault(f"{KEY}.rsa", "missing", f"write keySize below it, {least} to {most}")
    elif key.rsa.key_size not in KEY_SIZES:
        what = f"{key.rsa.key_size} is not a valid key size"
        yield Fault(f"{KEY}.rsa.keySize", what, f"write a multiple of 1024 from {least} to {most}")


def _ecdsa(key: SignerKey) -> Iterator[Fault]:
    curves = f"{', '.join(CURVES[:-1])} or {CURVES[-1]}"
    if key.ecdsa is None:
        yield Fault(f"{KEY}.ecdsa", "missing", f"write curve below it, {curves}")
    elif key.ecdsa.curve not in CURVES:
        what = f"{key.ecdsa.curve} is unknown" if key.ecdsa.curve else "missing"
        yield Fault(f"{KEY}.ecdsa.curve", what, f"write {curves}")


RULES = (_signer_key,)
