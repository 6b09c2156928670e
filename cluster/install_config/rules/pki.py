"""The keys of the cluster's own certificate authorities (openshift/installer pkg/types/pki/validation.go)."""

from collections.abc import Iterator

from cluster.install_config.schema import InstallConfig, SignerKey
from cluster.problems import Problem

KEY = "pki.signerCertificates.key"
RSA, ECDSA = ALGORITHMS = ("RSA", "ECDSA")
CURVES = ("P256", "P384", "P521")
KEY_SIZES = range(2048, 8193, 1024)
"""Bits."""


def _signer_key(config: InstallConfig) -> Iterator[Problem]:
    if config.pki is None:
        return
    key = config.pki.signer_certificates.key
    algorithm = key.algorithm
    if algorithm not in ALGORITHMS:
        text = f"{algorithm} is unknown" if algorithm else "missing"
        yield Problem(f"{KEY}.algorithm", f"{text}; write {' or '.join(ALGORITHMS)}")
        return
    for name, section in ((RSA, key.rsa), (ECDSA, key.ecdsa)):
        if section is not None and name != algorithm:
            text = f"does not go with algorithm {algorithm}; take it out"
            yield Problem(f"{KEY}.{name.lower()}", text)
    yield from _rsa(key) if algorithm == RSA else _ecdsa(key)


def _rsa(key: SignerKey) -> Iterator[Problem]:
    least, most = KEY_SIZES[0], KEY_SIZES[-1]
    if key.rsa is None:
        yield Problem(f"{KEY}.rsa", f"missing; write keySize below it, {least} to {most}")
    elif key.rsa.key_size not in KEY_SIZES:
        text = f"{key.rsa.key_size} is no size for a key; write a multiple of 1024 from {least} to {most}"
        yield Problem(f"{KEY}.rsa.keySize", text)


def _ecdsa(key: SignerKey) -> Iterator[Problem]:
    curves = f"{', '.join(CURVES[:-1])} or {CURVES[-1]}"
    if key.ecdsa is None:
        yield Problem(f"{KEY}.ecdsa", f"missing; write curve below it, {curves}")
    elif key.ecdsa.curve not in CURVES:
        text = f"{key.ecdsa.curve} is unknown" if key.ecdsa.curve else "missing"
        yield Problem(f"{KEY}.ecdsa.curve", f"{text}; write {curves}")


RULES = (_signer_key,)
