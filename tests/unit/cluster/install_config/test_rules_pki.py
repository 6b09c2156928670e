from typing import Any

import pytest

from testing.install_configs import Change, fine, refused

KEY = "pki.signerCertificates.key"


def pki(**section: Any) -> Change:
    return lambda config: config.update(pki=section, featureSet="TechPreviewNoUpgrade")


def key(**values: Any) -> Change:
    return pki(signerCertificates={"key": values})


def rsa(size: int) -> Change:
    return key(algorithm="RSA", rsa={"keySize": size})


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(rsa(size), id=f"rsa-{size}") for size in (2048, 3072, 8192)),
        *(
            pytest.param(key(algorithm="ECDSA", ecdsa={"curve": curve}), id=f"ecdsa-{curve}")
            for curve in ("P256", "P384", "P521")
        ),
    ],
)
def test_a_valid_setting_is_accepted(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        pytest.param(pki(), (f"{KEY}.algorithm: missing. Fix: write RSA or ECDSA",), id="empty"),
        pytest.param(key(rsa={"keySize": 1}), (f"{KEY}.algorithm: missing",), id="algorithm-missing"),
        pytest.param(key(algorithm="Ed25519"), (f"{KEY}.algorithm: Ed25519 is unknown",), id="algorithm"),
        pytest.param(key(algorithm="RSA"), (f"{KEY}.rsa: missing. Fix: write keySize",), id="rsa-missing"),
        *(
            pytest.param(
                rsa(size),
                (f"{KEY}.rsa.keySize: {size} is not a valid key size. Fix: write a multiple",),
                id=f"{size}",
            )
            for size in (1024, 5000, 9216)
        ),
        pytest.param(
            key(algorithm="RSA", rsa={}), (f"{KEY}.rsa.keySize: 0 is not a valid key size",), id="size-missing"
        ),
        pytest.param(
            key(algorithm="ECDSA"), (f"{KEY}.ecdsa: missing. Fix: write curve below it, P256",), id="ecdsa-missing"
        ),
        pytest.param(
            key(algorithm="ECDSA", ecdsa={"curve": "P224"}),
            (f"{KEY}.ecdsa.curve: P224 is unknown. Fix: write P256, P384 or P521",),
            id="curve",
        ),
        pytest.param(key(algorithm="ECDSA", ecdsa={}), (f"{KEY}.ecdsa.curve: missing",), id="curve-missing"),
        pytest.param(
            key(algorithm="RSA", rsa={"keySize": 4096}, ecdsa={"curve": "P256"}),
            (f"{KEY}.ecdsa: does not fit algorithm RSA. Fix: remove it",),
            id="rsa-with-ecdsa",
        ),
        pytest.param(
            key(algorithm="ECDSA", ecdsa={"curve": "P256"}, rsa={}),
            (f"{KEY}.rsa: does not fit algorithm ECDSA",),
            id="ecdsa-with-rsa",
        ),
    ],
)
def test_an_invalid_setting_is_refused(change: Change, starts: tuple[str, ...]) -> None:
    refused(change, *starts)
