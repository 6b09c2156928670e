"""BMC addresses as metal3 reads them: the cases of pkg/hardwareutils/bmc/access_test.go, and further ones."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.values.bmc_url import (
    INSTEAD,
    IPMI,
    KINDS,
    REMOVED,
    SCHEMES,
    BmcUrl,
    BmcUrlError,
    ForeignBmc,
    parse_bmc_url,
)

SYSTEM = "/redfish/v1/Systems/1"


def case(address: str, *wanted: object) -> object:
    return pytest.param(address, wanted, id=address)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        case("redfish://bmc", "redfish", False, True),
        case("ilo5-redfish://bmc", "redfish", False, True),
        case("idrac-redfish://bmc", "idrac", False, True),
        case("redfish-virtualmedia://bmc", "redfish", True, False),
        case("ilo5-virtualmedia://bmc", "redfish", True, False),
        case("idrac-virtualmedia://bmc", "idrac", True, False),
        case("redfish-uefihttp://bmc", "redfish", False, False),
    ],
)
def test_the_kind_decides_how_the_server_boots(address: str, wanted: tuple[object, ...]) -> None:
    kind = address.partition(":")[0]
    for scheme, transport in ((kind, "https"), (f"{kind}+http", "http"), (f"{kind}+https", "https")):
        url = parse_bmc_url(address.replace(kind, scheme))
        assert (url.driver, url.virtual_media, url.needs_provisioning_network) == wanted
        assert (url.kind, url.scheme, url.transport) == (kind, scheme, transport)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        case("redfish://192.168.122.1", "192.168.122.1", 443, None, "https://192.168.122.1"),
        case("redfish+http://192.168.122.1", "192.168.122.1", 80, None, "http://192.168.122.1"),
        case("redfish://192.168.122.1:6233/foo", "192.168.122.1", 6233, "/foo", "https://192.168.122.1:6233"),
        case("redfish+http://bmc:443/foo", "bmc", 443, "/foo", "http://bmc:443"),
        case("redfish://bmc:443/foo", "bmc", 443, "/foo", "https://bmc"),
        case("redfish://bmc:/foo", "bmc", 443, "/foo", "https://bmc"),
        case("redfish://bmc:1/foo", "bmc", 1, "/foo", "https://bmc:1"),
        case("redfish://bmc:65535/foo", "bmc", 65535, "/foo", "https://bmc:65535"),
        case("redfish://[fe80::fc33]", "fe80::fc33", 443, None, "https://[fe80::fc33]"),
        case("redfish://[FE80::1]:6233/foo", "FE80::1", 6233, "/foo", "https://[FE80::1]:6233"),
        case("redfish:192.168.122.1", "192.168.122.1", 443, None, "https://192.168.122.1"),
        case("redfish:bmc:8443/foo", "bmc", 8443, "/foo", "https://bmc:8443"),
        case("redfish://My.Favorite-BMC.com", "My.Favorite-BMC.com", 443, None, "https://My.Favorite-BMC.com"),
        case(f"redfish://{'x' * 63}.lab", f"{'x' * 63}.lab", 443, None, f"https://{'x' * 63}.lab"),
        case("redfish://9.lab", "9.lab", 443, None, "https://9.lab"),
        case("redfish://idrac_r1u2.lab", "idrac_r1u2.lab", 443, None, "https://idrac_r1u2.lab"),  # A00
        case("redfish://_bmc.lab.:8443/1", "_bmc.lab.", 8443, "/1", "https://_bmc.lab.:8443"),  # A01
        case("redfish+https://bmc/", "bmc", 443, None, "https://bmc"),
        case("redfish+https://bmc/redfish/v1", "bmc", 443, None, "https://bmc"),
        case("redfish-virtualmedia://bmc/redfish/v1/", "bmc", 443, None, "https://bmc"),
        case(f"REDFISH-VirtualMedia+HTTPS://bmc{SYSTEM}", "bmc", 443, SYSTEM, "https://bmc"),
        case(f"redfish-virtualmedia://bmc{SYSTEM}/", "bmc", 443, SYSTEM, "https://bmc"),
        case("redfish://bmc/Systems/System.Embedded.1", "bmc", 443, "/Systems/System.Embedded.1", "https://bmc"),
        case("redfish://bmc/a%20b%2Fc", "bmc", 443, "/a b/c", "https://bmc"),
        case("redfish://bmc/a%40b:c", "bmc", 443, "/a@b:c", "https://bmc"),
    ],
)
def test_an_address_is_split_into_its_parts(address: str, wanted: tuple[object, ...]) -> None:
    url = parse_bmc_url(address)
    assert (url.host, url.port, url.system_id, url.base) == wanted
    assert url.url == address
    assert parse_bmc_url(str(url)) == url


@pytest.mark.parametrize(
    ("address", "family"),
    [
        *(pytest.param(f"{family}://bmc", family, id=family) for family in REMOVED),
        *(pytest.param(f"{family}+https://bmc", family, id=f"{family}+https") for family in REMOVED),
        pytest.param("idrac+http://bmc", "idrac", id="idrac+http"),
    ],
)
def test_an_unsupported_kind_is_named_with_its_replacement(address: str, family: str) -> None:
    with pytest.raises(
        ForeignBmc, match=rf"^{family} .*\. Fix: use redfish-virtualmedia, idrac-virtualmedia"
    ) as caught:
        parse_bmc_url(address)
    assert isinstance(caught.value, ValueError)
    assert (caught.value.fault.where, caught.value.fault.fix) == ("", f"use {INSTEAD}")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param("", "missing. Fix: write an address", id="empty"),
        pytest.param("foo://bmc", "BMC type foo is unknown. Fix: use redfish-virtualmedia", id="unknown-type"),
        pytest.param("redfish-virtalmedia://bmc", "is unknown. Fix: use redfish-virtualmedia$", id="misspelled-type"),
        pytest.param("redfish+ftp://bmc", "is unknown. Fix: use redfish[+]http$", id="unknown-transport"),
        pytest.param("ipmi+https://bmc", "type ipmi.https is unknown", id="ipmi-has-no-transport"),
        pytest.param("my.bmc:623", "type my.bmc is unknown", id="name-and-port-reads-as-a-type"),
        pytest.param("//bmc/foo", "names no type", id="no-type"),
        pytest.param("[fe80::1]", "names no type", id="bare-ipv6-without-port"),
        pytest.param("10.0.0.1:623/foo", "names no type", id="bare-port-and-path"),
        pytest.param("redfish://", "names no host", id="no-host"),
        pytest.param("redfish:", "names no host", id="type-only"),
        pytest.param(f"redfish://{SYSTEM}", "names no host", id="path-without-host"),
        pytest.param("redfish://:443/foo", "names no host", id="port-without-host"),
        pytest.param("my-.examplehost.com", "host 'my-.examplehost.com' is neither", id="hyphen-ends-a-label"),
        pytest.param("redfish://-a", "host '-a' is neither", id="hyphen-begins-a-label"),
        pytest.param("redfish://a..b", "host 'a..b' is neither", id="empty-label"),
        pytest.param("redfish://bmc..", "host 'bmc..' is neither", id="two-final-dots"),
        pytest.param("redfish://.", "host '.' is neither", id="only-a-dot"),
        pytest.param("redfish://192.0.2.1.", "host '192.0.2.1.' is neither", id="ipv4-with-a-final-dot"),
        pytest.param(f"redfish://{'x' * 64}", "is neither", id="long-label"),
        pytest.param("redfish://%62mc", "is neither", id="encoded-host"),
        pytest.param("redfish://bücher", "is neither", id="name-outside-ascii"),
        pytest.param("redfish://192.168.111.256", "is neither", id="mistyped-ipv4"),
        pytest.param("redfish://fe80::1/foo", "IPv6 in brackets", id="ipv6-without-brackets"),
        pytest.param("redfish://[fe80::1/foo", "IPv6 in brackets", id="bracket-not-closed"),
        pytest.param("redfish://[bmc]", "IPv6 in brackets", id="name-in-brackets"),
        pytest.param("redfish://[192.0.2.1]", "IPv6 in brackets", id="ipv4-in-brackets"),
        pytest.param("[fe80::fc33:62ff:fe33:8xff]:6223", "host 'fe80::fc33:62ff:fe33:8xff' is", id="bad-ipv6"),
        pytest.param("redfish://[fe80::1%25eth0]", "is neither", id="ipv6-with-a-zone"),
        pytest.param("redfish://bmc:0", "port 0 is out of range", id="port-zero"),
        pytest.param("redfish://bmc:65536", "port 65536 is out of range", id="port-too-large"),
        pytest.param(f"redfish://bmc:{'9' * 5000}", "is out of range", id="port-very-large"),
        pytest.param("redfish://bmc:https", "host>:<port>", id="port-by-name"),
        pytest.param("redfish://bmc:-1", "host>:<port>", id="negative-port"),
        pytest.param(f"redfish://bmc{SYSTEM}?a=b", "remove [?] and all that follows", id="query"),
        pytest.param(f"redfish://bmc{SYSTEM}#Bios", "remove # and all that follows", id="fragment"),
        pytest.param("redfish://bmc/%zz", "percent sign", id="bad-percent"),
        pytest.param("ipmi://bmc/%zz", "percent sign", id="bad-percent-of-another-family"),
        pytest.param("redfish://bmc/%ff", "percent sign", id="no-utf-8"),
        pytest.param("redfish://bmc/%0a", "percent sign", id="encoded-line-break"),
        pytest.param("redfish://bmc/foo\n", "cannot be printed", id="line-break"),
        pytest.param("redfish://b\tmc", "cannot be printed", id="tab"),
    ],
)
def test_an_invalid_address_is_refused(address: str, why: str) -> None:
    with pytest.raises(BmcUrlError, match=why) as caught:
        parse_bmc_url(address)
    assert not isinstance(caught.value, ForeignBmc)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(f"redfish-virtualmedia://admin:hunter2@bmc{SYSTEM}", id="password"),
        pytest.param("redfish-virtualmedia://hunter2@bmc", id="user"),
        pytest.param(f"redfish-virtualmedia://admin:a/hunter2@bmc{SYSTEM}", id="password-with-a-slash"),
        pytest.param("redfish-virtualmedia://admin:a#hunter2@bmc", id="password-with-a-hash"),
        pytest.param("foo://admin:hunter2@bmc", id="unknown-type"),
        pytest.param("ipmi://admin:hunter2@bmc", id="ipmi"),
        pytest.param("//admin:hunter2@bmc", id="no-type"),
    ],
)
def test_credentials_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(BmcUrlError, match="credentials do not belong") as caught:
        parse_bmc_url(address)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("redfish://BMC.lab/1", "redfish+https://bmc.LAB:443/1/", True, id="case-port-slash"),
        pytest.param("redfish://[fd00:0::1]/1", "redfish-virtualmedia://[FD00::1]/1", True, id="ipv6-spellings"),
        pytest.param("redfish://[::ffff:192.0.2.1]/1", "redfish://192.0.2.1/1", True, id="mapped-ipv4"),
        pytest.param("redfish://bmc/a%20b", "redfish://bmc/a b", True, id="percent"),
        pytest.param("redfish://bmc/a", "redfish://bmc/A", False, id="system-in-another-case"),
        pytest.param("redfish://BMC.lab.", "redfish://bmc.lab", True, id="final-dot"),
        pytest.param("redfish://bmc/1", "idrac-virtualmedia://bmc/1", True, id="type"),
        pytest.param("redfish://bmc/1", "redfish+http://bmc/1", True, id="transport"),
        pytest.param("redfish://bmc//redfish/v1//Systems/1", f"redfish://bmc{SYSTEM}", True, id="two-slashes"),
        pytest.param("redfish+http://bmc:443/1", "redfish://bmc:80/1", True, id="port-of-the-other-transport"),
        pytest.param("redfish://bmc:8000/1", "redfish://bmc:8001/1", False, id="port"),
        pytest.param("ipmi://bmc", "redfish://bmc", True, id="ipmi-and-redfish"),
        pytest.param("ipmi://bmc:623", "bmc", True, id="ipmi-without-a-type"),
        pytest.param("ipmi://bmc:6230", "ipmi://bmc:6231", False, id="port-of-ipmi"),
        pytest.param("redfish://bmc", "redfish://bmc/1", False, id="system-not-named"),
    ],
)
def test_the_server_is_the_same_in_any_spelling(one: str, other: str, same: bool) -> None:
    assert (parse_bmc_url(one).server == parse_bmc_url(other).server) is same


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        pytest.param("ipmi://192.168.122.1:6233", "192.168.122.1", 6233, id="typed"),
        pytest.param("IPMI:192.168.122.1", "192.168.122.1", 623, id="without-slashes"),
        pytest.param("libvirt://192.168.122.1:6233/", "192.168.122.1", 6233, id="libvirt"),
        pytest.param("192.168.122.1", "192.168.122.1", 623, id="address"),
        pytest.param("192.168.122.1:8443", "192.168.122.1", 8443, id="address-and-port"),
        pytest.param("192.168.122.1:", "192.168.122.1", 623, id="address-and-empty-port"),
        pytest.param("my.favoritebmc.com", "my.favoritebmc.com", 623, id="name"),
        pytest.param("ipmi", "ipmi", 623, id="a-host-named-ipmi"),
        pytest.param("[FE80::1]:6233", "FE80::1", 6233, id="ipv6-and-port"),
    ],
)
def test_an_address_without_a_type_is_one_of_ipmi(address: str, host: str, port: int) -> None:
    """Issue 45: metal3 reads all of these so; this program read those without a type as Redfish."""
    url = parse_bmc_url(address)
    assert (url.driver, url.transport, url.host, url.port, url.system_id) == ("ipmi", "ipmi", host, port, None)
    assert (url.virtual_media, url.needs_provisioning_network, url.has_one_system) == (False, True, True)
    assert (url.url, url.instead, url.speaks_ipmi) == (address, "redfish-virtualmedia", True)
    assert parse_bmc_url(str(url)) == url


@pytest.mark.parametrize(
    ("query", "privilege"),
    [
        pytest.param("", "", id="none"),
        pytest.param("?privilegelevel=OPERATOR", "OPERATOR", id="operator"),
        pytest.param("?privilegelevel=ADMINISTRATOR", "ADMINISTRATOR", id="administrator"),
        pytest.param("?privilegelevel=", "", id="empty"),
    ],
)
@pytest.mark.parametrize("address", ["ipmi://bmc", "ipmi://bmc/", "192.0.2.1"])
def test_an_ipmi_address_may_name_the_privilege_level(address: str, query: str, privilege: str) -> None:
    url = parse_bmc_url(address + query)
    assert (url.privilege, url.base) == (privilege, parse_bmc_url(address).base)
    assert parse_bmc_url(str(url)) == url


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param(
            "ilo5://bmc", f"ilo5 is no longer supported by metal3. Fix: use {INSTEAD}", id="removed-by-metal3"
        ),
        pytest.param(
            "my-.host", "host 'my-.host' is neither an address nor a DNS name. Fix: write one of them", id="name"
        ),
        pytest.param("bmc?a=b", "bmc?a=b continues after its path. Fix: remove ? and all that follows", id="query"),
        pytest.param(
            f"bmc{SYSTEM}",
            f"bmc{SYSTEM} has a path, and IPMI has none. Fix: remove {SYSTEM}, or use {INSTEAD}",
            id="path",
        ),
        *(
            pytest.param(
                f"ipmi://bmc?privilegelevel={level}",
                f"privilegelevel '{level}' cannot switch power. "
                "Fix: write ADMINISTRATOR or OPERATOR, in capitals, and have the BMC grant it to the user",
                id=level,
            )
            for level in ("USER", "CALLBACK", "operator", "%4fPERATOR")
        ),
        pytest.param("[fe80::1]", f"'[fe80::1]' names no type. Fix: use {INSTEAD}", id="bare-ipv6-without-port"),
    ],
)
def test_a_server_that_this_program_cannot_boot_is_refused_by_name(address: str, why: str) -> None:
    with pytest.raises(BmcUrlError) as caught:
        parse_bmc_url(address)
    assert str(caught.value) == why


LABELS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=63)
NAMES = (
    st.lists(LABELS, min_size=1, max_size=3).map(".".join).filter(lambda name: not name.replace(".", "").isdigit())
)
HOSTS = st.one_of(NAMES, st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(lambda each: f"[{each}]"))
PORTS = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
SEGMENTS = st.text(string.ascii_letters + string.digits + "-._~!$&'()*+,;=: ").map(lambda text: f"/{text}")
PATHS = st.lists(SEGMENTS | st.just("/%2F%25%C3%A4"), max_size=4).map("".join)


@given(st.sampled_from(sorted(SCHEMES)), HOSTS, PORTS, PATHS)
def test_a_printed_address_parses_back_to_an_equal_one(scheme: str, host: str, port: str, path: str) -> None:
    url = parse_bmc_url(f"{scheme}://{host}{port}{'' if SCHEMES[scheme][1] == IPMI else path}")
    again = parse_bmc_url(str(url))
    assert again == url
    assert again.server == url.server
    assert str(again) == str(url)
    assert (url.scheme, url.host) == (scheme, host.strip("[]"))


FRAGMENTS = [
    "redfish",
    "ipmi",
    "+http",
    "://",
    ":",
    "/",
    "[",
    "]",
    "fd00::1",
    "@",
    "%",
    "?",
    "#",
    "bmc",
    "443",
    "\ud800",
]


@given(st.text() | st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=2)).map("".join))
def test_any_text_is_an_address_or_refused_in_one_line(text: str) -> None:
    try:
        url = parse_bmc_url(text)
    except BmcUrlError as error:
        assert str(error).isprintable()  # noqa: PT017
    else:
        assert isinstance(url, BmcUrl)
        assert url.kind in KINDS
