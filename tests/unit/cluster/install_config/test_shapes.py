"""Unknown keys, and values of a wrong type: each is one line, and hides no other."""

from typing import Any

import pytest

from testing.install_configs import Change, bare, host, lines, refused

HOST = "platform.baremetal.hosts[0]"
FIXES = {
    "text is wanted": "write one value in quotes, no list and no mapping",
    "a whole number is wanted, without quotes": "write digits only",
    "true or false is wanted, without quotes": "write one of them",
    "a list is wanted": "put a hyphen before each element",
    "a mapping is wanted": "write `key: value` below it",
}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            lambda c: c.update(baseDomian="lab.test"),
            "baseDomian: unknown key. Fix: write baseDomain, or remove it",
            id="top-level",
        ),
        pytest.param(
            lambda c: c["networking"].update(networktype="OVNKubernetes"),
            "networking.networktype: unknown key. Fix: write networkType, or remove it",
            id="another-letter-case",
        ),
        pytest.param(
            lambda c: bare(c).update(external_bridge="baremetal"),
            "platform.baremetal.external_bridge: unknown key. Fix: write externalBridge, or remove it",
            id="snake-case",
        ),
        pytest.param(
            lambda c: bare(c).update(api_vips=["192.168.111.5"]),
            "platform.baremetal.api_vips: unknown key. Fix: write apiVIPs, or remove it",
            id="the-name-in-the-code",
        ),
        pytest.param(
            lambda c: host(c, 1).update(bootMacAdress="52:54:00:00:00:01"),
            "platform.baremetal.hosts[1].bootMacAdress: unknown key. Fix: write bootMACAddress, or remove it",
            id="in-a-list",
        ),
        pytest.param(
            lambda c: host(c)["bmc"].update(user="admin"),
            f"{HOST}.bmc.user: unknown key. Fix: write username, or remove it",
            id="deep",
        ),
        pytest.param(
            lambda c: c["compute"][0].update(replica=2),
            "compute[0].replica: unknown key. Fix: write replicas, or remove it",
            id="in-a-pool",
        ),
        pytest.param(
            lambda c: c["platform"].update(openstak={}),
            "platform.openstak: unknown key. Fix: write openstack, or remove it",
            id="platform",
        ),
        pytest.param(
            lambda c: c.update(ingressVIPs=["192.168.111.4"]),
            "ingressVIPs: unknown key. Fix: write ingressVIPs in the section that has it, or remove it",
            id="of-a-section-below",
        ),
        pytest.param(
            lambda c: host(c).update(password="x"),
            f"{HOST}.password: unknown key. Fix: write password in the section that has it, or remove it",
            id="of-a-section-below-in-a-list",
        ),
        pytest.param(
            lambda c: bare(c).update(sshkey="ssh-ed25519 AAAA"),
            "platform.baremetal.sshkey: unknown key. Fix: write sshKey in the section that has it, or remove it",
            id="of-a-section-above",
        ),
        pytest.param(lambda c: c.update(zzz=1), "zzz: unknown key. Fix: remove it", id="like-no-other"),
        pytest.param(
            lambda c: c["metadata"].update(generation=1),
            "metadata.generation: a key of Kubernetes that no installer reads. Fix: remove it",
            id="metadata-generation",
        ),
        pytest.param(
            lambda c: bare(c).update(dnsVIP="192.0.2.6"),
            "platform.baremetal.dnsVIP: gone since 4.5: each node has a DNS of its own. Fix: remove it",
            id="Y26-gone",
        ),
        pytest.param(lambda c: c.update({"7": 1}), "7: unknown key. Fix: remove it", id="a-number"),
        pytest.param(
            lambda c: c["metadata"].update(finalizers=[]),
            "metadata.finalizers: a key of Kubernetes that no installer reads. Fix: remove it",
            id="of-kubernetes",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_most_similar_key(change: Change, line: str) -> None:
    assert lines(change) == [line]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(lambda c: c.update(baseDomain=["lab.test"]), "baseDomain: text is wanted", id="text-as-list"),
        pytest.param(lambda c: c.update(baseDomain={"a": "b"}), "baseDomain: text is wanted", id="text-as-mapping"),
        pytest.param(
            lambda c: c.update(pullSecret={"auths": {"a.test": {"auth": "cmVoZWFyc2FsOm9ubHk="}}}),
            "pullSecret: text is wanted",
            id="secret-as-mapping",
        ),
        pytest.param(
            lambda c: host(c)["bmc"].update(password=["rehearsal-only"]),
            f"{HOST}.bmc.password: text is wanted",
            id="secret-as-list",
        ),
        pytest.param(
            lambda c: bare(c).update(apiVIPs="192.168.111.5"),
            "platform.baremetal.apiVIPs: a list is wanted",
            id="list-as-text",
        ),
        pytest.param(
            lambda c: bare(c).update(apiVIPs={"ipv4": "192.168.111.5"}),
            "platform.baremetal.apiVIPs: a list is wanted",
            id="list-as-mapping",
        ),
        pytest.param(
            lambda c: c["networking"].update(serviceNetwork="172.30.0.0/16"),
            "networking.serviceNetwork: a list is wanted",
            id="list-with-a-default-as-text",
        ),
        pytest.param(
            lambda c: bare(c).update(apiVIPs=[["192.168.111.5"]]),
            "platform.baremetal.apiVIPs[0]: text is wanted",
            id="text-in-a-list-as-list",
        ),
        pytest.param(
            lambda c: bare(c).update(additionalNTPServers=["ntp.test", {}]),
            "platform.baremetal.additionalNTPServers[1]: text is wanted",
            id="text-in-a-list-as-mapping",
        ),
        pytest.param(
            lambda c: bare(c)["hosts"].__setitem__(0, "okd-master-0"),
            "platform.baremetal.hosts[0]: a mapping is wanted",
            id="mapping-in-a-list-as-text",
        ),
        pytest.param(
            lambda c: bare(c)["hosts"].__setitem__(0, ["okd-master-0"]),
            "platform.baremetal.hosts[0]: a mapping is wanted",
            id="mapping-in-a-list-as-list",
        ),
        pytest.param(
            lambda c: c["networking"].update(machineNetwork=["192.168.111.0/24"]),
            "networking.machineNetwork[0]: a mapping is wanted",
            id="network-without-its-key",
        ),
        pytest.param(lambda c: c.update(metadata="okd"), "metadata: a mapping is wanted", id="mapping-as-text"),
        pytest.param(lambda c: c.update(metadata=["okd"]), "metadata: a mapping is wanted", id="mapping-as-list"),
        pytest.param(
            lambda c: c["platform"].update(baremetal="yes, please"),
            "platform.baremetal: a mapping is wanted",
            id="the-platform-as-text",
        ),
        pytest.param(
            lambda c: host(c).update(bmc="redfish://192.168.111.1"),
            f"{HOST}.bmc: a mapping is wanted",
            id="deep-mapping-as-text",
        ),
        pytest.param(
            lambda c: host(c).update(networkConfig="interfaces: []"),
            f"{HOST}.networkConfig: a mapping is wanted",
            id="free-mapping-as-text",
        ),
        pytest.param(
            lambda c: c["metadata"].update(labels={"site": ["a"]}),
            "metadata.labels.site: text is wanted",
            id="value-of-a-free-mapping",
        ),
        pytest.param(
            lambda c: c["controlPlane"].update(replicas="3"),
            "controlPlane.replicas: a whole number is wanted, without quotes",
            id="number-as-text",
        ),
        pytest.param(
            lambda c: c["controlPlane"].update(replicas=3.5),
            "controlPlane.replicas: a whole number is wanted, without quotes",
            id="number-with-a-fraction",
        ),
        pytest.param(
            lambda c: host(c)["rootDeviceHints"].update(minSizeGigabytes=True),
            f"{HOST}.rootDeviceHints.minSizeGigabytes: a whole number is wanted, without quotes",
            id="number-as-boolean",
        ),
        pytest.param(
            lambda c: c.update(fips="false"),
            "fips: true or false is wanted, without quotes",
            id="boolean-as-text",
        ),
        pytest.param(
            lambda c: host(c)["rootDeviceHints"].update(rotational=0),
            f"{HOST}.rootDeviceHints.rotational: true or false is wanted, without quotes",
            id="boolean-as-number",
        ),
    ],
)
def test_a_wrong_type_is_one_line_at_its_own_path(change: Change, line: str) -> None:
    refused(change, f"{line}. Fix: {FIXES[line.partition(': ')[2]]}")


def test_all_wrong_shapes_of_a_file_are_found_at_once() -> None:
    def change(c: dict[str, Any]) -> None:
        c["sshKey"] = ["a key"]
        host(c, 1)["bmc"]["usrname"] = "admin"
        host(c, 2)["rootDeviceHints"] = "/dev/vda"
        host(c, 3)["name"] = {}

    refused(
        change,
        "platform.baremetal.hosts[1].bmc.usrname: unknown key. Fix: write username, or remove it",
        "platform.baremetal.hosts[2].rootDeviceHints: a mapping is wanted",
        "platform.baremetal.hosts[3].name: text is wanted",
        "sshKey: text is wanted",
    )


def test_a_wrong_shape_hides_no_other_fault() -> None:
    def change(c: dict[str, Any]) -> None:
        c["metadata"]["name"] = "Upper"
        bare(c)["apiVIPs"] = [["192.168.111.5"]]
        bare(c)["ingressVIPs"] = ["10.0.0.5"]

    refused(
        change,
        "platform.baremetal.apiVIPs[0]: text is wanted",
        "metadata.name: Upper is not a DNS name",
        "platform.baremetal.ingressVIPs[0]: 10.0.0.5 is in no machine network",
    )
