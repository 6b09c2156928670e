"""Host names that openshift-install accepts, and with which a node does not work: a plan and `check` refuse them."""

import pytest

from cluster.plan.refusals.host_names import FIX
from testing import plans
from testing.install_configs import Change, bare, fine, host
from testing.plan_files import Files

WHERE = "platform.baremetal.hosts[0].name"
DOMAIN = "okd.lab.test"
LONG = "rack12-row3-position42-control-plane-server-a.dc-frankfurt-2.site.example.com"


def named(name: str, at: int = 0) -> Change:
    return lambda config: host(config, at).update(name=name)


REFUSED = [
    pytest.param(LONG, "has 77 characters, and the name of a node has at most 63", id="H01-77-characters"),
    pytest.param(f"{'a' * 31}.{'b' * 32}", "has 64 characters, and", id="H02-64-characters"),
    pytest.param("api-int", f"api-int.{DOMAIN} is the name of the API VIP", id="H10-api-int"),
    pytest.param("api", f"api.{DOMAIN} is the name of the API VIP", id="H10-api"),
    pytest.param(f"api.{DOMAIN}", f"api.{DOMAIN} is the name of the API VIP", id="H10-api-with-its-domain"),
    pytest.param("apps", f"DNS answers the Ingress VIP for apps.{DOMAIN}, as for all", id="H10-apps"),
    pytest.param("m0.apps", f"DNS answers the Ingress VIP for m0.apps.{DOMAIN}, as for all", id="H10-below-apps"),
    pytest.param(f"m0.apps.{DOMAIN}", f"DNS answers the Ingress VIP for m0.apps.{DOMAIN}", id="H10-fqdn-below-apps"),
    pytest.param("localhost", "localhost contains localhost, and a node waits", id="H10-localhost"),
    pytest.param("localhost.lab.test", "localhost.lab.test contains localhost", id="H10-localhost-with-a-domain"),
    pytest.param("m0-localhost4", "m0-localhost4 contains localhost", id="H10-localhost-in-a-word"),
    pytest.param("bootstrap", f"bootstrap.{DOMAIN} is the name of the bootstrap VM", id="H10-bootstrap"),
    pytest.param("okd-bootstrap", "okd-bootstrap is the name of the bootstrap VM", id="H10-name-of-the-vm"),
    pytest.param("etcd-bootstrap", "etcd-bootstrap is the bootstrap VM's member of etcd", id="H10-etcd-bootstrap"),
    pytest.param("1", "1 is a number, which every resolver takes for an address", id="H10-1"),
    pytest.param("0x10", "0x10 is a number", id="H10-0x10"),
    pytest.param("192.0.2.30", "192.0.2.30 is a number", id="H10-ipv4"),
]


@pytest.mark.parametrize(("name", "what"), REFUSED)
def test_a_name_that_no_node_can_have_is_refused(files: Files, name: str, what: str) -> None:
    fine(named(name))  # openshift-install accepts it
    (line,) = files.refused_intent(named(name))
    assert line.startswith(f"FILE: {WHERE}: {what}")
    assert line.endswith(f"Fix: {FIX}")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"m0.{DOMAIN}", id="H03-fqdn"),
        pytest.param("a" * 63, id="63-characters"),
        pytest.param("api.example.com", id="api-of-another-domain"),
        pytest.param("apps-0", id="begins-with-apps"),
        pytest.param("etcd-bootstrap.example.com", id="another-member-of-etcd"),
        pytest.param("1a", id="begins-with-a-digit"),
        pytest.param("0xg", id="no-hexadecimal-number"),
        pytest.param("1.example.com", id="number-in-a-domain"),
    ],
)
def test_a_name_that_resembles_a_refused_one_is_planned(files: Files, name: str) -> None:
    assert files.intent(named(name)).hosts[0].name == name


def test_a_name_of_etcd_is_refused_only_for_its_members(files: Files) -> None:
    assert files.intent(named("etcd-bootstrap", at=3)).compute[0].name == "etcd-bootstrap"


def test_a_name_with_and_without_the_domain_is_one_in_dns(files: Files) -> None:
    (line,) = files.refused_intent(named(f"{plans.HOSTS[0]}.{DOMAIN}", at=4))
    assert line.partition(" Fix")[0] == (
        f"FILE: platform.baremetal.hosts[4].name: {plans.HOSTS[0]}.{DOMAIN} is the name of hosts[0]."
    )


def test_the_name_of_a_spare_is_no_nodes(files: Files) -> None:
    def spare(config: dict[str, object]) -> None:
        bare(config)["hosts"].append({**host(config, 4), "name": "localhost", "bootMACAddress": "52:54:00:11:10:99"})
        host(config, 5)["bmc"] = {**host(config, 5)["bmc"], "address": "redfish-virtualmedia://192.0.2.99"}

    assert [spare.name for spare in files.intent(spare).spares] == ["localhost"]
