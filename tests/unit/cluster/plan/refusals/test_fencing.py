"""Fencing that openshift-install takes, and with which two servers would not fence each other."""

from typing import Any

import pytest

from cluster.plan import load_bmcs
from testing import clusters, plans
from testing.certificates import authority
from testing.install_configs import Change, bare, fine, host
from testing.plan_files import Files, as_it_is

CREDENTIALS = "controlPlane.fencing.credentials"
CA, OTHER = authority("bmc-ca").pem, authority("other-ca").pem
PAIR = clusters.VARIANTS["fenced"].options
SYSTEM = "/redfish/v1/Systems/1"


def entry(index: int = 1, **values: Any) -> Change:
    """Change the login of one server."""

    def change(config: dict[str, Any]) -> None:
        clusters.fenced(config)
        login = config["controlPlane"]["fencing"]["credentials"][index]
        login.update(values)
        for key in [key for key, value in values.items() if value is None]:
            del login[key]

    return change


def verified(*more: Change) -> Change:
    def change(config: dict[str, Any]) -> None:
        entry(certificateVerification="Enabled")(config)
        for each in more:
            each(config)

    return change


def with_bundle(pem: str, **values: Any) -> Change:
    return lambda config: config.update(additionalTrustBundle=pem, **values)


def of_the_peer(index: int) -> Change:
    """Give one server the BMC of the other."""

    def change(config: dict[str, Any]) -> None:
        clusters.fenced(config)
        logins = config["controlPlane"]["fencing"]["credentials"]
        logins[index]["address"] = logins[1 - index]["address"] + "/"

    return change


def by_mac(config: dict[str, Any]) -> None:
    """Name both servers by a MAC, so that nobody knows whose BMC is whose."""
    clusters.fenced(config)
    for index, login in enumerate(config["controlPlane"]["fencing"]["credentials"]):
        del login["hostName"]
        login["macAddress"] = host(config, index)["bootMACAddress"]


def beside_an_arbiter(config: dict[str, Any]) -> None:
    logins = {"credentials": [clusters._fence(host) for host in bare(config)["hosts"][:2]]}
    clusters.arbiter(config)
    config["controlPlane"]["fencing"] = logins


@pytest.mark.parametrize(
    "change",
    [
        clusters.fenced,
        by_mac,
        entry(address=f"https://192.0.2.2{SYSTEM}"),
        entry(address=f"idrac-redfish://192.0.2.2:443{SYSTEM}"),
        verified(with_bundle(CA, additionalTrustBundlePolicy="Always"), lambda c: bare(c).update(bmcVerifyCA=CA)),
        verified(
            with_bundle(OTHER + CA, proxy={"httpProxy": "http://192.0.2.9:3128"}),
            lambda config: bare(config).update(bmcVerifyCA=CA),
        ),
        verified(),
    ],
    ids=["as-written", "by-mac", "https", "port", "trusted", "trusted-beside-a-proxy", "by-the-systems-authorities"],
)
def test_servers_that_can_fence_each_other_are_planned(files: Files, change: Change) -> None:
    fine(change)
    assert files.intent(change).is_fenced


def test_each_fence_is_tried_with_its_own_login(files: Files) -> None:
    """One whose certificate is to be verified sends no login to a BMC that shows another."""
    second = entry(certificateVerification="Enabled", username="fencer", password="its own")
    fences = load_bmcs(files.write(second), {}).fences
    logins = {name: (one.verify_tls, one.username, one.password.get_secret_value()) for name, one in fences.items()}
    assert logins == {
        "okd-master-0": (False, "admin", clusters.FENCING_PASSWORD),
        "okd-master-1": (True, "fencer", "its own"),
    }


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            entry(hostName="master-1"),
            f"{CREDENTIALS}[1].hostName: master-1 is no host of the control plane, whose nodes are okd-master-0 and "
            "okd-master-1. Fix: write the name of one of them",
            id="no-master",
        ),
        pytest.param(
            entry(hostName="okd-worker-0"), f"{CREDENTIALS}[1].hostName: okd-worker-0 is no host of the", id="worker"
        ),
        pytest.param(
            entry(certificateVerification=None),
            f"{CREDENTIALS}[1].certificateVerification: missing, and the etcd operator refuses credentials without",
            id="unsaid",
        ),
        pytest.param(
            entry(address=f"redfish+http://192.0.2.2{SYSTEM}"),
            f"{CREDENTIALS}[1].address: the fence agent speaks https only, whatever the scheme says. "
            "Fix: write redfish+https://",
            id="http",
        ),
        pytest.param(
            entry(address=f"idrac-redfish://192.0.2.2{SYSTEM}"),
            f"{CREDENTIALS}[1].address: names no port, and the etcd operator knows none for idrac-redfish://",
            id="vendor",
        ),
        pytest.param(
            entry(address="redfish+https://192.0.2.2"), f"{CREDENTIALS}[1].address: names no system", id="no-system"
        ),
        *(
            pytest.param(
                of_the_peer(index),
                f"{CREDENTIALS}[{index}].address: is that of okd-master-{1 - index}, which would be switched off",
                id=f"the-peers-{index}",
            )
            for index in (0, 1)
        ),
        pytest.param(
            verified(with_bundle(CA), lambda config: bare(config).update(bmcVerifyCA=CA)),
            "platform.baremetal.bmcVerifyCA: the nodes do not trust it, and verify by it the BMCs through which they",
            id="bundle-for-a-proxy-only",
        ),
        pytest.param(
            verified(
                with_bundle(OTHER, additionalTrustBundlePolicy="Always"),
                lambda config: bare(config).update(bmcVerifyCA=CA),
            ),
            "platform.baremetal.bmcVerifyCA: the nodes do not trust it",
            id="another-bundle",
        ),
        pytest.param(
            beside_an_arbiter,
            "controlPlane.fencing: there is an arbiter, so etcd has a majority without it",
            id="beside-an-arbiter",
        ),
    ],
)
def test_a_pair_that_could_not_fence_itself_is_refused(files: Files, change: Change, line: str) -> None:
    fine(change)
    (fault,) = files.refused_intent(change)
    assert line in str(fault)
    assert clusters.FENCING_PASSWORD not in str(fault)


@pytest.mark.parametrize(
    ("option", "value"),
    [("bmc_ca", CA), ("bmc_trust.okd-master-1.ca", CA)],
    ids=["of-all", "of-one"],
)
def test_an_authority_of_the_stack_has_to_be_trusted_by_nodes_too(files: Files, option: str, value: str) -> None:
    name, _, rest = option.partition(".")
    options = {name: {rest.partition(".")[0]: {"ca": value}} if rest else value}
    (line,) = files.refused_plan(verified(), **PAIR, **options)
    assert f"{option}: the nodes do not trust it" in line
    trusting = verified(with_bundle(CA, additionalTrustBundlePolicy="Always"))
    assert files.plan(trusting, **PAIR, **options).is_fenced


def test_no_server_of_a_fenced_pair_is_installed_again(files: Files) -> None:
    (line,) = files.refused_plan(clusters.fenced, **PAIR, reinstall={"okd-master-1": plans.CONSENT["okd-master-1"]})
    assert "reinstall.okd-master-1: its peer would switch it on again" in line
    worker = {"okd-worker-0": plans.CONSENT["okd-worker-0"]}
    assert files.plan(clusters.fenced, **PAIR, reinstall=worker).is_fenced


def test_two_hosts_with_an_arbiter_do_not_fence_each_other(files: Files) -> None:
    assert not files.intent(clusters.arbiter).is_fenced
    assert not files.intent(as_it_is).is_fenced
