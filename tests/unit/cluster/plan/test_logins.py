"""Logins of the BMCs, from either input; and no secret of either is printed."""

from typing import Any

import pytest

from base.errors import ConfigError
from boot_media.keyfiles import keyfiles_of
from cluster.plan import check_inputs, load_bmcs
from testing import plans
from testing.install_configs import Change, host
from testing.plan_files import Files, as_it_is
from wires.bmc.access import BmcAccess

SECRET = "hunter2"
LOGIN = {"username": "root", "password": SECRET}


def faults_of(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        plans.plan(**changes)
    return [str(fault) for fault in caught.value.faults]


def without_logins(config: dict[str, Any]) -> None:
    for index in range(len(plans.HOSTS)):
        for key in ("username", "password"):
            del host(config, index)["bmc"][key]


def test_secrets_are_masked_in_what_a_plan_prints(files: Files) -> None:
    login = {"eap-methods": ["md5"], "identity": "okd", "password": SECRET}
    interface = {"name": "eno1", "type": "ethernet", "802.1x": login}
    plan = files.plan(
        lambda c: host(c).update(networkConfig={"interfaces": [interface]}), bmc_credentials={"okd-master-1": LOGIN}
    )
    assert SECRET in plan.servers[0].keyfiles[0].text
    assert "rehearsal-only" not in f"{plan!r} {plan}"
    assert SECRET not in f"{plan!r} {plan}"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c)["bmc"].update(password=[SECRET]), id="password-is-a-list"),
        pytest.param(lambda c: host(c)["bmc"].update(passwrod=SECRET), id="password-misspelt"),
        pytest.param(lambda c: c.update(pullSecret={"auths": SECRET}), id="pull-secret-is-a-mapping"),
        pytest.param(
            lambda c: host(c)["bmc"].update(address=f"redfish-virtualmedia://root:{SECRET}@192.0.2.1"),
            id="password-in-the-url",
        ),
    ],
)
def test_a_secret_is_never_printed(files: Files, change: Change) -> None:
    assert SECRET not in "\n".join(files.refused_plan(change))


def test_a_secret_option_is_never_printed() -> None:
    assert SECRET not in "\n".join(faults_of(bmc_credentials={"okd-master-0": [SECRET]}))
    assert SECRET not in "\n".join(faults_of(bmc_credentials={"okd-master-0": {"passwrod": SECRET}}))


def test_credentials_of_the_options_come_before_those_of_the_file(files: Files) -> None:
    plan = files.plan(as_it_is, bmc_credentials={"okd-master-0": LOGIN})
    assert [server.bmc.username for server in plan.servers] == ["root", "admin", "admin", "admin", "admin"]
    assert plan.servers[0].bmc.password.get_secret_value() == SECRET


@pytest.mark.parametrize(
    ("login", "username", "is_its_own"),
    [
        ({"password": SECRET}, "admin", True),
        ({"username": "root"}, "root", False),
        ({"session": True}, "admin", False),
    ],
)
def test_what_the_login_of_the_options_lacks_is_that_of_the_file(
    files: Files, login: dict[str, Any], username: str, is_its_own: bool
) -> None:
    plan = files.plan(as_it_is, bmc_credentials={"okd-master-0": login})
    bmc = plan.servers[0].bmc
    assert (bmc.username, bmc.password.get_secret_value() == SECRET) == (username, is_its_own)
    where = BmcAccess.of(plan.options, plan.servers[0], ca="").login
    assert ("bmc_credentials" in where) == is_its_own


def test_a_file_without_credentials_is_good_when_the_options_have_them(files: Files) -> None:
    plan = files.plan(without_logins, bmc_credentials=dict.fromkeys(plans.HOSTS, LOGIN))
    assert {server.bmc.password.get_secret_value() for server in plan.servers} == {SECRET}
    missing = files.refused_plan(without_logins, bmc_credentials=dict.fromkeys(plans.HOSTS[1:], LOGIN))
    assert [line.split(": ")[1] for line in missing] == [
        "platform.baremetal.hosts[0].bmc.username",
        "platform.baremetal.hosts[0].bmc.password",
    ]


PULL_SECRET = f'{{"auths": {{"a.test": {{"auth": "{SECRET}"}}}}}}'


def test_a_file_without_a_pull_secret_is_good_when_the_options_have_one(files: Files) -> None:
    plan = files.plan(lambda c: c.pop("pullSecret"), pull_secret=PULL_SECRET)
    assert plan.options.pull_secret.get_secret_value() == PULL_SECRET
    assert SECRET not in f"{plan!r} {plan}"
    assert files.refused_plan(lambda c: c.pop("pullSecret"), pull_secret="") == [
        'FILE: pullSecret: missing. Fix: write {"auths": {"<registry>": {"auth": "<base64 of user:password>"}}}; '
        "or give it to the stack: `pulumi config set --secret pull_secret <FILE`"
    ]


def test_a_pull_secret_of_the_file_is_judged_whatever_the_options_have(files: Files) -> None:
    (line,) = files.refused_plan(lambda c: c.update(pullSecret="[]"), pull_secret=PULL_SECRET)
    assert line.startswith("FILE: pullSecret: names no registry. Fix: ")


def test_a_pull_secret_that_is_none_is_refused_without_its_text() -> None:
    (line,) = faults_of(pull_secret=f'{{"auths": {{"a.test": "{SECRET}", "b.test": {{}}}}}}')
    assert line.startswith(
        "config: pull_secret: a.test has neither auth nor credsStore; b.test has neither auth nor credsStore. Fix: "
    )
    assert SECRET not in line


def test_a_pull_secret_that_only_pulumi_can_read_counts_as_right(files: Files) -> None:
    files.write(lambda c: c.pop("pullSecret"))
    encrypted = plans.options(pull_secret={"secure": "v1:x"})
    assert check_inputs(files.path, encrypted, keyfiles_of, plain=("bmc_credentials",)).faults == []
    assert len(files.intent(lambda c: c.pop("pullSecret"), {}).servers) == 5
    assert len(files.refused_intent(lambda c: c.pop("pullSecret"))) == 1


def test_bmcs_need_no_pull_secret(files: Files) -> None:
    assert len(load_bmcs(files.write(lambda c: c.pop("pullSecret")), {}).servers) == 5


def test_a_stack_file_may_keep_credentials_that_only_pulumi_can_read(files: Files) -> None:
    readable = {"bmc_credentials": {"okd-master-0": {"username": "root"}}}
    assert len(files.intent(without_logins, readable).servers) == 5
    assert len(files.refused_intent(without_logins)) == 10


def test_bmcs_need_no_more_than_logins(files: Files) -> None:
    """`okd-baremetal bmc` runs before payload, images and addresses are there."""
    files.write(without_logins)
    with pytest.raises(ConfigError, match=r"bmc\.username"):
        load_bmcs(files.path, {})
    plan = load_bmcs(files.path, {"bmc_credentials": {name: LOGIN for name in plans.HOSTS}, "phase": "x"})
    assert [server.bmc.username for server in plan.servers] == ["root"] * 5
    assert SECRET not in f"{plan!r} {plan}"


def test_options_of_the_bmcs_are_judged(files: Files) -> None:
    files.write(as_it_is)
    with pytest.raises(ConfigError, match=r"bmc_trust\.h0: neither ca nor sha256\. Fix: write either"):
        load_bmcs(files.path, {"bmc_trust": {"h0": {}}})


OF_REDFISH: dict[str, dict[str, Any]] = {
    "bmc_trust.okd-master-0": {"bmc_trust": {"okd-master-0": {"sha256": "ab" * 32}}},
    "bmc_credentials.okd-master-0.session": {"bmc_credentials": {"okd-master-0": {**LOGIN, "session": True}}},
}


@pytest.mark.parametrize("where", OF_REDFISH)
@pytest.mark.parametrize("host_of", ["192.0.2.1", "192.0.2.1:8443", "ipmi://192.0.2.1", "libvirt://192.0.2.1"])
def test_options_of_redfish_are_refused_behind_ipmi(files: Files, where: str, host_of: str) -> None:
    """An address without a type was one of Redfish before there was IPMI: its fix keeps the option."""

    def faults(address: str) -> list[str]:
        def change(config: dict[str, Any]) -> None:
            config["platform"]["baremetal"]["provisioningNetwork"] = "Managed"
            host(config)["bmc"].update(address=address)

        try:
            files.plan(change, **OF_REDFISH[where])
        except ConfigError as error:
            return [str(fault) for fault in error.faults]
        return []

    (fault,) = faults(host_of)
    assert fault.startswith(f"config: {where}: its BMC speaks IPMI, which has no ")
    assert fault.endswith("Fix: remove it, or write redfish:// in bmc.address, if that BMC speaks Redfish")
    assert faults(f"redfish://{host_of.rpartition('/')[2]}") == []
