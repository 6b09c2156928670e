"""Rules for secrets, keys, certificates, proxies and mirrors. No message quotes a secret."""

import re
from base64 import b64decode
from collections.abc import Iterator

from base.errors import Fault, Stricter
from cluster.install_config.rules.names import dns_fault
from cluster.install_config.rules.networks import join_subnet, lists
from cluster.install_config.schema import ImageContentSource, ImageSource, InstallConfig
from cluster.values.address import in_any, networks, parse_address, parse_cidr
from cluster.values.certificates import installer_accepts, is_certificate
from cluster.values.go_url import PORTS, parse_go_url
from cluster.values.image_reference import is_repository, may_be_a_registry
from cluster.values.pull_secret import FORM, SET, wrong_in

SSH_KEYS = {
    "ssh-rsa": (0, 0),
    "ssh-dss": (0, 0, 0, 0),
    "ecdsa-sha2-nistp256": (8, 65),
    "ecdsa-sha2-nistp384": (8, 97),
    "ecdsa-sha2-nistp521": (8, 133),
    "ssh-ed25519": (32,),
    "sk-ecdsa-sha2-nistp256@openssh.com": (8, 65, 0),
    "sk-ssh-ed25519@openssh.com": (32, 0),
}
"""Sizes in bytes of the parts that follow the type in a key (RFC 4253, 5656, 8709; OpenSSH PROTOCOL.u2f); 0: any."""
SSH_CERTIFICATES = {f"{kind.removesuffix('@openssh.com')}-cert-v01@openssh.com" for kind in SSH_KEYS}
FIPS_KEYS = ("ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
# Options before a key in authorized_keys, without blanks outside of double quotes.
_SSH_OPTIONS = re.compile(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+[ \t]+')

_PEM = re.compile(
    r"^-----BEGIN ([^\n]*)-----[ \t\r]*\n((?:(?!-----(?:BEGIN|END) )[^\n]*\n)*+)-----END \1-----[ \t\r]*$",
    re.MULTILINE,
)
NO_PULL_SECRET = Fault("pullSecret", "missing", f"write {FORM}; or give it to the stack: `{SET}`")
"""The only fault of a pull secret that the stack's option cures."""
BUNDLE_POLICIES = ("Proxyonly", "Always")
PROXY_SCHEMES = {"httpProxy": ("http",), "httpsProxy": ("http", "https")}

_TAG_OR_DIGEST = re.compile(r"/[^/]*[:@][^/]*$")
SOURCE_POLICIES = ("NeverContactSource", "AllowContactingSource")


def _pull_secret(config: InstallConfig) -> Iterator[Fault]:
    text = config.pull_secret.get_secret_value()
    if not text:
        yield NO_PULL_SECRET
        return
    kind = Stricter if not any(wrong_in(text, in_any_case=True)) else Fault
    for what in wrong_in(text):
        yield kind("pullSecret", what, f"write {FORM}")


def _ssh_key(config: InstallConfig) -> Iterator[Fault]:
    if not config.ssh_key:
        return
    lines = config.ssh_key.split("\n")
    kinds = [_ssh_key_type(line) for line in lines]
    bad = [str(number) for number, (line, kind) in enumerate(zip(lines, kinds, strict=True), 1) if line and not kind]
    # With fips, the installer reads only the first key, and skips lines without a key.
    first = next(filter(None, kinds), "")
    if bad and not (config.fips and first):
        what = f"no SSH public key in line {', '.join(bad)}"
        yield Fault("sshKey", what, "write each line as in a .pub file: type, base64, comment")
    elif config.fips and first not in FIPS_KEYS:
        what = f"{first or 'no key'} is not allowed with fips"
        yield Fault("sshKey", what, f"give a key of {', '.join(FIPS_KEYS)}")


def _ssh_key_type(line: str) -> str:
    """Return the type of the key in a line of authorized_keys; empty if the line has no key."""
    line = line.strip()
    if line.startswith("#"):
        return ""
    options = _SSH_OPTIONS.match(line)
    for text in (line, line[options.end() :] if options else ""):
        fields = text.split()
        if len(fields) > 1 and _is_ssh_key(fields[0], fields[1]):
            return fields[0]
    return ""


def _is_ssh_key(kind: str, encoded: str) -> bool:
    try:
        blob = b64decode(encoded, validate=True)
    except ValueError:
        return False
    if kind in SSH_CERTIFICATES:
        return blob.startswith(len(kind).to_bytes(4) + kind.encode())
    parts = []
    while blob:
        size = int.from_bytes(blob[:4])
        if len(blob) < 4 + size:  # 4 bytes hold the size itself
            return False
        parts.append(blob[4 : 4 + size])
        blob = blob[4 + size :]
    wanted = SSH_KEYS.get(kind, ())
    sizes_fit = [size in (0, len(part)) for size, part in zip(wanted, parts[1:], strict=False)]
    return bool(wanted) and parts[:1] == [kind.encode()] and len(parts) == len(wanted) + 1 and all(sizes_fit)


def _bundles(config: InstallConfig) -> Iterator[Fault]:
    for path, bundle in (
        ("additionalTrustBundle", config.additional_trust_bundle),
        ("platform.baremetal.bmcVerifyCA", config.baremetal.bmc_verify_ca),
    ):
        if bundle and (what := _wrong_with_bundle(bundle)):
            is_checked = path == "additionalTrustBundle"  # no installer looks at the other before the servers boot
            kind = Fault if is_checked and not installer_accepts(bundle) else Stricter
            yield kind(
                path, what, "write PEM, each certificate from its BEGIN line to its END line, and nothing after"
            )


def _wrong_with_bundle(bundle: str) -> str:
    """Return what is wrong with a bundle, so that any reader of PEM takes all its certificates; empty if nothing."""
    blocks = list(_PEM.finditer(bundle))
    if not blocks:
        return "has no certificate"
    if bundle[blocks[-1].end() :].strip():
        return "has text that is not a certificate after the last one"
    bad = [str(number) for number, block in enumerate(blocks, 1) if not _is_certificate(block[2])]
    if bad:
        return f"certificate {', '.join(bad)} cannot be read"
    return "" if installer_accepts(bundle) else "has an empty line after the last certificate"


def _is_certificate(encoded: str) -> bool:
    try:
        return is_certificate(b64decode("".join(encoded.split()), validate=True))
    except ValueError:
        return False


def _bundle_policy(config: InstallConfig) -> Iterator[Fault]:
    policy = config.additional_trust_bundle_policy
    if policy not in BUNDLE_POLICIES:
        yield Fault("additionalTrustBundlePolicy", f"{policy} is unknown", f"write {' or '.join(BUNDLE_POLICIES)}")


def _proxy(config: InstallConfig) -> Iterator[Fault]:
    if config.proxy is None:
        return
    proxies = {"httpProxy": config.proxy.http_proxy, "httpsProxy": config.proxy.https_proxy}
    if not any(proxies.values()):
        yield Fault("proxy", "names no proxy", "write httpProxy, httpsProxy or both, or remove it")
    for key, text in proxies.items():
        if text and (fault := _proxy_fault(text, PROXY_SCHEMES[key], config)):
            yield fault.within(f"proxy.{key}")


def _proxy_fault(text: str, schemes: tuple[str, ...], config: InstallConfig) -> Fault | None:
    url = parse_go_url(text, is_request=True)
    fix = "write http://host:port, and %XX for each special character of a password"
    if url is None:
        return Fault("", "is not a URL with a host", fix)
    if url.scheme not in schemes:
        known = f"write {' or '.join(f'{scheme}://' for scheme in schemes)}"
        return Fault("", f"scheme {url.scheme or '(none)'} is not supported", known)
    address = parse_address(url.hostname)
    for name, texts in _inner_networks(config).items():
        if address is not None and in_any(address, networks(texts)):
            what = f"{address} is in the {name} ({', '.join(texts)}), which exists in the cluster only"
            return Fault("", what, "name one outside")
    is_usable = url.hostname and " " not in text and int(url.port or 1) in PORTS and "#" not in url.netloc
    return None if is_usable else Stricter("", "is not a URL with a host", fix)


def _inner_networks(config: InstallConfig) -> dict[str, list[str]]:
    by_list = lists(config.networking)
    return {
        "cluster network": list(by_list["clusterNetwork"]),
        "service network": list(by_list["serviceNetwork"]),
        "join network": [join_subnet(config.networking)],
    }


def _no_proxy(config: InstallConfig) -> Iterator[Fault]:
    text = config.proxy.no_proxy if config.proxy else ""
    if text in ("", "*"):
        return
    if " " in text:
        fix = "separate names, addresses and networks with commas only"
        yield Fault("proxy.noProxy", "has blanks", fix)
    for entry in map(str.strip, text.split(",")):
        fault = dns_fault(entry.removeprefix(".").removesuffix("."))
        if fault and parse_address(entry) is None and parse_cidr(entry) is None:
            what = (
                f"{entry} is not a domain, address or network" if entry else "an element between two commas is empty"
            )
            yield type(fault)(
                "proxy.noProxy", what, "write .example.com for all names below a domain, without wildcards"
            )


def _image_sources(config: InstallConfig) -> Iterator[Fault]:
    if config.image_content_sources and config.image_digest_sources:
        yield Fault(
            "imageContentSources", "imageDigestSources is set, too", "move these entries to imageDigestSources"
        )
    by_key: dict[str, tuple[ImageSource | ImageContentSource, ...]] = {
        "imageContentSources": config.image_content_sources,
        "imageDigestSources": config.image_digest_sources,
    }
    for key, sources in by_key.items():
        for index, source in enumerate(sources):
            at = f"{key}[{index}]"
            mirrors = {f"{at}.mirrors[{number}]": mirror for number, mirror in enumerate(source.mirrors)}
            for path, name in {f"{at}.source": source.source, **mirrors}.items():
                if fault := _repository_fault(name):
                    yield fault.within(path)


def _repository_fault(name: str) -> Fault | None:
    if is_repository(name):
        return None
    if not name:
        return Fault("", "missing", "name a repository")
    host, colon, port = name.rpartition(":") if name.count(":") == 1 else (name, "", "")
    fault = dns_fault(host) if may_be_a_registry(name) and parse_address(host) is None else None
    if may_be_a_registry(name) and not fault and (port.isdecimal() or not colon):
        return None
    if _TAG_OR_DIGEST.search(name):
        what = "must be a repository, not a reference to an image"
        return Fault("", what, "write it without tag and digest")
    kind = Stricter if may_be_a_registry(name) and not (fault and type(fault) is Fault) else Fault
    fix = "write registry[:port]/path, the path in lower case, or only a registry"
    return kind("", f"{name.rpartition('@')[2]} is not a repository", fix)


def _source_policies(config: InstallConfig) -> Iterator[Fault]:
    for index, source in enumerate(config.image_digest_sources):
        path = f"imageDigestSources[{index}].sourcePolicy"
        policy = source.source_policy
        if policy and policy not in SOURCE_POLICIES:
            yield Fault(path, f"{policy} is unknown", f"write {' or '.join(SOURCE_POLICIES)}")
        elif policy and not source.mirrors:
            yield Fault(path, f"{policy} has no effect without mirrors", "name a mirror, or remove it")


RULES = (
    _pull_secret,
    _ssh_key,
    _bundles,
    _bundle_policy,
    _proxy,
    _no_proxy,
    _image_sources,
    _source_policies,
)
