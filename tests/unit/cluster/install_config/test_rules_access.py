from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    SSHCertificateBuilder,
    SSHCertificateType,
)

from testing.certificates import authority
from testing.install_configs import Change, bare, fine, lines, refused

SECRET = "proxy-secret"
SIGNER = Ed25519PrivateKey.generate()


def line(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())


def blob(*parts: bytes) -> str:
    """Return a key of these parts in base64."""
    return b64encode(b"".join(len(part).to_bytes(4) + part for part in parts)).decode()


ED25519 = line(SIGNER)
RSA = line(rsa.generate_private_key(65537, 2048))
P256, P384, P521 = (line(ec.generate_private_key(curve())) for curve in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
SK_ED25519 = f"sk-ssh-ed25519@openssh.com {blob(b'sk-ssh-ed25519@openssh.com', bytes(32), b'ssh:')} token"
CERTIFICATE = (
    SSHCertificateBuilder()
    .public_key(SIGNER.public_key())
    .type(SSHCertificateType.USER)
    .valid_principals([b"core"])
    .valid_after(0)
    .valid_before(1)
    .sign(SIGNER)
    .public_bytes()
    .decode()
)
PEM = authority("bmc").pem
GARBLED = PEM.replace("MII", "AII", 1)


def put(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda config: config.update(values)


def ssh(*keys: str, fips: bool = False) -> Change:
    return put(sshKey="\n".join(keys), fips=fips)


def proxy(**values: str) -> Change:
    return put(proxy=values)


def no_proxy(text: str) -> Change:
    return proxy(httpProxy="http://proxy.lab.test:3128", noProxy=text)


def mirrored(source: str, *mirrors: str, **more: str) -> Change:
    return put(imageDigestSources=[{"source": source, "mirrors": list(mirrors), **more}])


def proxy_in_join_network(config: dict[str, Any]) -> None:
    proxy(httpProxy="http://100.65.0.9:3128")(config)
    config["networking"]["ovnKubernetesConfig"] = {"ipv4": {"internalJoinSubnet": "100.65.0.0/16"}}


RELEASE = "registry.lab.test/okd/scos-release"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            put(pullSecret='{"auths": {"r": {"credsStore": "x"}}, "more": 1}'), id="pull-secret-creds-store"
        ),
        pytest.param(put(pullSecret='{"auths": {"r": {"auth": ""}}}'), id="pull-secret-empty-auth"),
        pytest.param(lambda c: c.pop("sshKey"), id="no-ssh-key"),
        *(
            pytest.param(ssh(key), id=f"ssh-{key.split()[0]}")
            for key in (ED25519, RSA, P256, P384, P521, SK_ED25519, CERTIFICATE)
        ),
        pytest.param(ssh(RSA, "", f"{ED25519} admin@lab"), id="ssh-two-keys-and-an-empty-line"),
        pytest.param(ssh(f'no-pty,command="echo \\"hello there\\"" {ED25519}'), id="ssh-options"),
        pytest.param(ssh(f" {ED25519} \r"), id="ssh-blanks-around"),
        *(pytest.param(ssh(key, fips=True), id=f"fips-{key.split()[0]}") for key in (RSA, P256, P521)),
        pytest.param(ssh("# admins", RSA, ED25519, fips=True), id="fips-first-key-counts"),
        pytest.param(put(fips=True, sshKey=""), id="fips-without-key"),
        pytest.param(put(additionalTrustBundle=PEM), id="bundle-of-one"),
        pytest.param(put(additionalTrustBundle=f"lab's CA\n{PEM}and\n{PEM}"), id="bundle-of-two-with-remarks"),
        pytest.param(lambda c: bare(c).update(bmcVerifyCA=PEM), id="bmc-ca"),
        pytest.param(put(additionalTrustBundlePolicy="Always"), id="bundle-policy"),
        pytest.param(proxy(httpProxy=f"http://user:{SECRET}%40@proxy.lab.test:3128"), id="proxy-with-login"),
        pytest.param(proxy(httpsProxy="https://[2001:db8::1]:3128/"), id="proxy-over-tls"),
        pytest.param(proxy(httpProxy="http://192.168.111.9:3128"), id="proxy-on-machine-network"),
        pytest.param(proxy(httpProxy="http://proxy.lab.test/?a=%zz"), id="proxy-query-is-left-alone"),
        pytest.param(proxy(httpProxy="http://proxy.lab.test:3128/#x"), id="proxy-number-sign-in-a-path"),
        pytest.param(no_proxy("*"), id="no-proxy-for-all"),
        pytest.param(no_proxy(".lab.test,lab.test.,10.0.0.1,10.1.2.3/8,fd00::/8,fd00::1"), id="no-proxy-list"),
        pytest.param(
            mirrored(RELEASE, "mirror.lab.test:5000/okd__a/b-c.d", sourcePolicy="NeverContactSource"), id="mirror"
        ),
        pytest.param(
            mirrored("registry.lab.test", "mirror.lab.test:5000", "10.0.0.9:5000", "mirror"), id="registries"
        ),
        pytest.param(mirrored("Registry.lab.test/okd", "localhost/okd"), id="repository-hosts"),
        pytest.param(mirrored(RELEASE), id="source-without-mirrors"),
        pytest.param(put(imageContentSources=[{"source": RELEASE, "mirrors": [RELEASE]}]), id="old-mirror"),
    ],
)
def test_a_valid_setting_is_accepted(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        pytest.param(lambda c: c.pop("pullSecret"), ("pullSecret: missing. Fix: write",), id="pull-secret-missing"),
        pytest.param(put(pullSecret="cmVoZWFyc2FsOm9ubHk="), ("pullSecret: is not JSON",), id="pull-secret-no-json"),
        pytest.param(put(pullSecret="[" * 100_000), ("pullSecret: is not JSON",), id="pull-secret-nested"),
        pytest.param(put(pullSecret="[]"), ("pullSecret: names no registry",), id="pull-secret-list"),
        pytest.param(put(pullSecret='{"auths": {}}'), ("pullSecret: names no registry",), id="pull-secret-empty"),
        pytest.param(
            put(pullSecret='{"auths": {"r.test": {"auth": "x"}, "s.test": {}, "t.test": "cmVoZWFyc2FsOm9ubHk="}}'),
            ("pullSecret: s.test has neither auth nor credsStore", "pullSecret: t.test has neither"),
            id="pull-secret-without-auth",
        ),
        pytest.param(
            ssh("ssh-ed25519 AAAA-your-public-key admin"), ("sshKey: no SSH public key in line 1",), id="ssh-example"
        ),
        pytest.param(ssh(ED25519.split()[1]), ("sshKey: no SSH public key in line 1",), id="ssh-without-type"),
        pytest.param(ssh(ED25519[:-8]), ("sshKey: no SSH public key",), id="ssh-cut-off"),
        pytest.param(
            ssh(ED25519.replace("ssh-ed25519", "ssh-rsa")), ("sshKey: no SSH public key",), id="ssh-other-type"
        ),
        pytest.param(ssh(f"ssh-rsa {blob(b'ssh-rsa', b'e')}"), ("sshKey: no SSH public key",), id="ssh-part-missing"),
        pytest.param(ssh(f"ssh-xmss {blob(b'ssh-xmss')}"), ("sshKey: no SSH public key",), id="ssh-unknown-type"),
        pytest.param(
            ssh("-----BEGIN OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEA", "-----END OPENSSH PRIVATE KEY-----"),
            (
                "sshKey: no SSH public key in line 1, 2, 3. "
                "Fix: write each line as in a .pub file: type, base64, comment",
            ),
            id="ssh-private-key",
        ),
        pytest.param(ssh(RSA, "# mine", f"# {RSA}"), ("sshKey: no SSH public key in line 2, 3",), id="ssh-comments"),
        pytest.param(ssh(f'command="echo {ED25519}'), ("sshKey: no SSH public key",), id="ssh-quote-left-open"),
        pytest.param(ssh(ED25519, fips=True), ("sshKey: ssh-ed25519 is not allowed with fips",), id="fips-ed25519"),
        pytest.param(ssh("none", fips=True), ("sshKey: no SSH public key in line 1",), id="fips-no-key"),
        pytest.param(
            put(additionalTrustBundle="a CA"), ("additionalTrustBundle: has no certificate",), id="bundle-no-pem"
        ),
        pytest.param(
            put(additionalTrustBundle=PEM + GARBLED),
            ("additionalTrustBundle: certificate 2 cannot be read",),
            id="bundle-garbled",
        ),
        pytest.param(
            put(additionalTrustBundle="-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
            ("additionalTrustBundle: certificate 1 cannot be read",),
            id="bundle-empty-block",
        ),
        pytest.param(
            mirrored(RELEASE, "[fd00::50]:5000/okd"),
            ("imageDigestSources[0].mirrors[0]: [fd00::50]:5000/okd is not a repository",),
            id="mirror-by-ipv6",
        ),
        pytest.param(
            put(additionalTrustBundle=f"{PEM}\n"),
            ("additionalTrustBundle: has an empty line after the last certificate. Fix: write PEM",),
            id="trust-bundle-blank-line-after",
        ),
        pytest.param(
            put(additionalTrustBundle=PEM + PEM[:200]),
            ("additionalTrustBundle: has text that is not a certificate after the last one",),
            id="bundle-cut-off",
        ),
        pytest.param(
            lambda c: bare(c).update(bmcVerifyCA="/etc/ca.pem"),
            ("platform.baremetal.bmcVerifyCA: has no certificate. Fix: write PEM",),
            id="bmc-ca-as-path",
        ),
        pytest.param(
            put(additionalTrustBundlePolicy="ProxyOnly"),
            ("additionalTrustBundlePolicy: ProxyOnly is unknown. Fix: write Proxyonly",),
            id="bundle-policy",
        ),
        pytest.param(
            proxy(noProxy=".lab.test"), ("proxy: names no proxy. Fix: write httpProxy",), id="proxy-missing"
        ),
        pytest.param(
            proxy(httpProxy="proxy.lab.test:3128"),
            ("proxy.httpProxy: scheme proxy.lab.test is not supported",),
            id="proxy-without-scheme",
        ),
        pytest.param(
            proxy(httpProxy="http://:3128"), ("proxy.httpProxy: is not a URL with a host",), id="proxy-without-host"
        ),
        pytest.param(
            proxy(httpProxy="http://proxy:port"), ("proxy.httpProxy: is not a URL",), id="proxy-port-in-words"
        ),
        pytest.param(
            proxy(httpProxy="http://bad%20uri"), ("proxy.httpProxy: is not a URL",), id="proxy-host-encoded"
        ),
        pytest.param(
            proxy(httpsProxy="http://bad%20uri"),
            ("proxy.httpsProxy: is not a URL",),
            id="proxy-over-tls-host-encoded",
        ),
        *(
            pytest.param(
                proxy(httpProxy=f"http://pro{odd}xy"), ("proxy.httpProxy: is not a URL",), id=f"proxy-host-{odd}"
            )
            for odd in "|{}^`\\"
        ),
        *(
            pytest.param(proxy(httpProxy=f"http://{text}"), ("proxy.httpProxy: is not a URL",), id=f"proxy-{text}")
            for text in ("proxy#x", "proxy:3128#x", "u:p#x@proxy:3128", "proxy/%zz")
        ),
        pytest.param(
            proxy(httpProxy="https://proxy.lab.test"),
            ("proxy.httpProxy: scheme https is not supported. Fix: write http://",),
            id="http-proxy-over-tls",
        ),
        pytest.param(
            proxy(httpsProxy="socks5://proxy.lab.test"),
            ("proxy.httpsProxy: scheme socks5 is not supported. Fix: write http:// or https://",),
            id="proxy-scheme",
        ),
        pytest.param(
            proxy(httpsProxy="//proxy.lab.test"),
            ("proxy.httpsProxy: scheme (none) is not supported",),
            id="proxy-no-scheme",
        ),
        pytest.param(
            proxy(httpProxy="http://10.128.9.9:3128"),
            ("proxy.httpProxy: 10.128.9.9 is in the cluster network (10.128.0.0/14)",),
            id="proxy-among-pods",
        ),
        pytest.param(
            proxy(httpProxy="http://172.30.0.9:3128"),
            ("proxy.httpProxy: 172.30.0.9 is in the service",),
            id="proxy-service",
        ),
        pytest.param(
            proxy_in_join_network,
            ("proxy.httpProxy: 100.65.0.9 is in the join network (100.65.0.0/16)",),
            id="proxy-in-join-network",
        ),
        pytest.param(no_proxy("a.test, b.test"), ("proxy.noProxy: has blanks",), id="no-proxy-blanks"),
        pytest.param(no_proxy("*.lab.test"), ("proxy.noProxy: *.lab.test is not a domain",), id="no-proxy-wildcard"),
        pytest.param(no_proxy("a.test,10.0.0.0/33"), ("proxy.noProxy: 10.0.0.0/33 is no",), id="no-proxy-network"),
        pytest.param(
            no_proxy("a.test,"),
            ("proxy.noProxy: an element between two commas is empty",),
            id="no-proxy-trailing-comma",
        ),
        pytest.param(
            mirrored(RELEASE, f"{RELEASE}:latest"),
            ("imageDigestSources[0].mirrors[0]: must be a repository, not a reference",),
            id="mirror-with-tag",
        ),
        pytest.param(
            mirrored(f"{RELEASE}@sha256:{'a' * 64}"),
            ("imageDigestSources[0].source: must be a repository, not a reference",),
            id="source-with-digest",
        ),
        pytest.param(
            mirrored("registry.lab.test/OKD"),
            ("imageDigestSources[0].source: registry.lab.test/OKD is no",),
            id="upper-case",
        ),
        pytest.param(
            mirrored("okd/scos-release"), ("imageDigestSources[0].source: okd/scos-release is no",), id="no-registry"
        ),
        pytest.param(
            mirrored("https://registry.lab.test/okd"), ("imageDigestSources[0].source: https://",), id="source-url"
        ),
        pytest.param(
            mirrored(""), ("imageDigestSources[0].source: missing. Fix: name a repository",), id="source-missing"
        ),
        pytest.param(
            mirrored(RELEASE, RELEASE, sourcePolicy="Never"),
            ("imageDigestSources[0].sourcePolicy: Never is unknown. Fix: write NeverContactSource",),
            id="source-policy",
        ),
        pytest.param(
            mirrored(RELEASE, sourcePolicy="AllowContactingSource"),
            ("imageDigestSources[0].sourcePolicy: AllowContactingSource has no effect without mirrors",),
            id="source-policy-alone",
        ),
        pytest.param(
            lambda c: (mirrored(RELEASE)(c), c.update(imageContentSources=[{"source": RELEASE}])),
            ("imageContentSources: imageDigestSources is set, too",),
            id="both-lists",
        ),
    ],
)
def test_an_invalid_setting_is_refused(change: Change, starts: tuple[str, ...]) -> None:
    refused(change, *starts)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param(f"http://user:{SECRET}@10.128.9.9:3128", id="among-pods"),
        pytest.param(f"ftp://user:{SECRET}@proxy.lab.test", id="scheme"),
        pytest.param(f"http://user:{SECRET}%@proxy.lab.test:3128", id="percent-sign"),
        pytest.param(f"http://user:{SECRET}^@proxy.lab.test:3128", id="special-character"),
        pytest.param(f"http://user:{SECRET} @proxy.lab.test:3128", id="blank"),
        pytest.param(f"user:{SECRET}@proxy.lab.test:3128", id="no-scheme"),
    ],
)
def test_messages_do_not_show_the_login_of_a_proxy(url: str) -> None:
    faults = lines(proxy(httpProxy=url))
    assert len(faults) == 1
    assert SECRET not in faults[0]
