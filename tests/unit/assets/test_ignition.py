"""Typed Ignition configs: refusals, stable bytes, and their composition, payload first and rendered files last."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretBytes, SecretStr

from assets.file import Files, Reader, RenderedFile
from assets.ignition import Config, Content, File, Resource, Unit, User, compose, composed_sha256, own_config
from assets.render import render
from base.errors import AssetError, one_line
from cluster.plan import ClusterPlan
from testing.ignition_validate import validate

PAYLOAD = b'{"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": "core"}]}}'
INSTALL = "[Install]\nWantedBy=multi-user.target\n"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRBcmq1SI4q2crAcGAuo+mlTTmZa/lp497nwnA9C1Vg operator@example.com"


def machines(plan: ClusterPlan) -> dict[str, Files]:
    rendered = render(plan)
    return {"bootstrap": rendered.bootstrap, **{server.name: rendered.of(server) for server in plan.servers}}


MACHINES = ("bootstrap", "okd-master-0", "okd-worker-0")


def content(resource: dict[str, Any]) -> bytes:
    raw = base64.b64decode(resource["source"].removeprefix("data:;base64,"), validate=True)
    return gzip.decompress(raw) if resource.get("compression") == "gzip" else raw


def children(composed: bytes) -> list[bytes]:
    merge = json.loads(composed)["ignition"]["config"]["merge"]
    assert {child["compression"] for child in merge} == {"gzip"}
    return [content(child) for child in merge]


def stored(path: str, text: Content = "", mode: int = 0o600, **others: Any) -> File:
    return File(path, Resource.inline(text), mode, **others)


def rendered(path: str, reader: Reader = Reader.SYSTEMD, *, secret: bool = False) -> RenderedFile:
    return RenderedFile(path, "text", reader, secret)


KINDS = {
    "nothing": Config(),
    "files": Config(
        files=(
            stored("/etc/text", "text", 0o644),
            stored("/etc/bytes", b"\x00\xff", 0o755, user="core", overwrite=False),
            File("/etc/packed", Resource.inline("text", "gzip"), 0),
            File("/etc/declared-plain", Resource.inline("text", "")),
            stored("/etc/key", SecretStr("key")),
            stored("/etc/keys", SecretBytes(b"keys"), 0o700),
            stored("/a dir/é", "", 0o777),
        )
    ),
    "units": Config(
        units=(
            Unit("a.service", INSTALL),
            Unit("b@.timer", INSTALL, enabled=False),
            Unit(r"dev-disk-by\x2dlabel-boot.mount", INSTALL),
            Unit("system-x.slice", INSTALL),
        )
    ),
    "users": Config(
        users=(
            User("core", (KEY,), ("wheel", "systemd-journal")),
            User("lab", password_hash=SecretStr("$y$j9T$x")),
            User("bare"),
        )
    ),
    "pointer": Config(
        merge=(Resource("https://api-int.okd.lab.test:22623/config/master"),),
        certificate_authorities=(Resource.inline("a"), Resource.inline("b", "gzip")),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ignition_accepts_every_kind_of_part_without_a_warning(kind: str) -> None:
    assert validate(KINDS[kind].to_json()) == ""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("composed", [False, True], ids=["ours", "composed"])
def test_ignition_accepts_the_config_of_every_machine(plan: ClusterPlan, machine: str, composed: bool) -> None:
    ours = own_config(machines(plan)[machine])
    assert validate(compose(PAYLOAD, ours).decode() if composed else ours) == ""


def test_each_part_is_at_its_place_in_the_ignition_spec() -> None:
    config = Config(
        files=(stored("/etc/x", b"\x00", 0o644, user="core"),),
        units=(Unit("x.service", INSTALL, enabled=False),),
        users=(User("core", (KEY,), ("wheel",), SecretStr("$y$j9T$x")),),
        merge=(Resource("https://x.test/config"),),
        certificate_authorities=(Resource.inline("pem"),),
    )
    assert json.loads(config.to_json()) == {
        "ignition": {
            "version": "3.2.0",
            "config": {"merge": [{"source": "https://x.test/config"}]},
            "security": {"tls": {"certificateAuthorities": [{"source": "data:;base64,cGVt"}]}},
        },
        "storage": {
            "files": [
                {
                    "path": "/etc/x",
                    "mode": 0o644,
                    "overwrite": True,
                    "user": {"name": "core"},
                    "contents": {"source": "data:;base64,AA=="},
                }
            ]
        },
        "systemd": {"units": [{"name": "x.service", "enabled": False, "contents": INSTALL}]},
        "passwd": {
            "users": [
                {"name": "core", "sshAuthorizedKeys": [KEY], "groups": ["wheel"], "passwordHash": "$y$j9T$x"},
            ]
        },
    }


def test_absent_values_are_left_out_but_false_and_zero_are_kept() -> None:
    assert json.loads(Config().to_json()) == {"ignition": {"version": "3.2.0"}}
    file = File("/etc/x", Resource.inline("", ""), 0, overwrite=False)
    assert json.loads(Config(files=(file,), users=(User("core"),)).to_json()) == {
        "ignition": {"version": "3.2.0"},
        "storage": {
            "files": [
                {
                    "path": "/etc/x",
                    "mode": 0,
                    "overwrite": False,
                    "contents": {"source": "data:;base64,", "compression": ""},
                }
            ]
        },
        "passwd": {"users": [{"name": "core"}]},
    }


def test_the_same_parts_give_the_same_bytes_in_any_order() -> None:
    files, units, users = KINDS["files"].files, KINDS["units"].units, KINDS["users"].users
    config = Config(files, units, users).to_json()
    assert Config(files[::-1], units[::-1], users[::-1]).to_json() == config
    members = json.loads(config)
    for names in (
        [file["path"] for file in members["storage"]["files"]],
        [unit["name"] for unit in members["systemd"]["units"]],
        [user["name"] for user in members["passwd"]["users"]],
    ):
        assert len(names) > 2
        assert names == sorted(names)


def test_children_and_keys_keep_their_order() -> None:
    config = Config(users=(User("core", ("z", "a"), ("y", "b")),), merge=(Resource.inline("b"), Resource.inline("a")))
    members = json.loads(config.to_json())
    assert [content(child) for child in members["ignition"]["config"]["merge"]] == [b"b", b"a"]
    assert members["passwd"]["users"] == [{"name": "core", "sshAuthorizedKeys": ["z", "a"], "groups": ["y", "b"]}]


def test_compressed_content_has_no_timestamp() -> None:
    (file,) = json.loads(Config(files=(File("/x", Resource.inline("text", "gzip")),)).to_json())["storage"]["files"]
    assert content(file["contents"]) == b"text"
    assert base64.b64decode(file["contents"]["source"].partition(",")[2])[4:8] == bytes(4)


NO_PATH = "not an absolute path in shortest form. Fix: start it with /, without `..` and `//`"
OUT_OF_RANGE = "is out of range. Fix: use one of 0 to 0o777"
OTHERS = "/x: is secret, but mode"
NO_UNIT = "not the name of a systemd unit. Fix: end it in .service or another unit type"
AMONG_FILES = "2 times among the files and units of one Ignition config. Fix: keep one of them"
AMONG_KEYS = "2 times among the keys and groups of user core. Fix: keep one of them"


@pytest.mark.parametrize(
    ("make", "line"),
    [
        *(
            pytest.param(
                lambda path=path: stored(path),
                f"{path}: {NO_PATH}",
                id=f"path-{path}",
            )
            for path in ("etc/x", "./x", "//etc/x", "/etc//x", "/etc/x/", "/etc/./x", "/etc/../x")
        ),
        pytest.param(lambda: stored(""), NO_PATH, id="path-empty"),
        pytest.param(lambda: stored("/x", mode=-1), f"/x: mode -0o1 {OUT_OF_RANGE}", id="mode-below"),
        pytest.param(lambda: stored("/x", mode=0o1777), f"/x: mode 0o1777 {OUT_OF_RANGE}", id="mode-sticky"),
        pytest.param(lambda: stored("/x", mode=644), f"/x: mode 0o1204 {OUT_OF_RANGE}", id="mode-not-octal"),
        pytest.param(lambda: stored("/x", mode=0o10000), f"/x: mode 0o10000 {OUT_OF_RANGE}", id="mode-above"),
        *(
            pytest.param(
                lambda mode=mode: stored("/x", SecretStr("key"), mode),
                f"{OTHERS} 0o{mode:o} gives access to others. Fix: use mode 0o600",
                id=f"secret-{mode:o}",
            )
            for mode in (0o640, 0o604, 0o620, 0o601, 0o644)
        ),
        pytest.param(
            lambda: stored("/x", SecretBytes(b"key"), 0o644),
            f"{OTHERS} 0o644 gives access to others. Fix: use mode 0o600",
            id="secret-bytes",
        ),
        *(
            pytest.param(
                lambda name=name: Unit(name, INSTALL),
                f"{one_line(name)}: {NO_UNIT}",
                id=f"unit-{name}",
            )
            for name in ("okd", "okd.conf", "okd.service.d", ".service", "../okd.service", "okd.service\n", "ö.timer")
        ),
        pytest.param(lambda: Unit("", INSTALL), NO_UNIT, id="unit-empty"),
        pytest.param(
            lambda: Config(files=(stored("/x", "a"), stored("/y"), stored("/x", "b"))),
            f"/x: {AMONG_FILES}",
            id="twice-a-file",
        ),
        pytest.param(
            lambda: Config(units=(Unit("x.service", ""), Unit("x.service", INSTALL))),
            f"/etc/systemd/system/x.service: {AMONG_FILES}",
            id="twice-a-unit",
        ),
        pytest.param(
            lambda: Config((stored("/etc/systemd/system/x.service"),), (Unit("x.service", ""),)),
            f"/etc/systemd/system/x.service: {AMONG_FILES}",
            id="file-and-unit",
        ),
        pytest.param(
            lambda: Config(users=(User("core"), User("core", (KEY,)))),
            "core: 2 times among the users of one Ignition config. Fix: keep one of them",
            id="twice-a-user",
        ),
        pytest.param(lambda: User("core", (KEY, KEY)), f"{KEY}: {AMONG_KEYS}", id="twice-a-key"),
        pytest.param(lambda: User("core", (), ("adm", "adm")), f"adm: {AMONG_KEYS}", id="twice-a-group"),
    ],
)
def test_an_invalid_part_is_refused(make: Callable[[], object], line: str) -> None:
    with pytest.raises(AssetError) as refused:
        make()
    assert str(refused.value) == line


def test_a_secret_is_in_neither_an_error_nor_a_repr() -> None:
    with pytest.raises(AssetError) as refused:
        stored("/x", SecretStr("hunter2"), 0o644)
    hidden = (b"hunter2", base64.b64encode(b"hunter2"))
    user = User("core", password_hash=SecretStr("hunter2"))
    for shown in (str(refused.value), repr(Config((stored("/x", SecretStr("hunter2")),), (), (user,)))):
        assert not any(secret.decode() in shown for secret in hidden)


def test_the_rendered_config_overrides_the_payload() -> None:
    assert children(compose(PAYLOAD, "{ours}")) == [PAYLOAD, b"{ours}"]


@pytest.mark.parametrize("machine", MACHINES)
def test_own_config_carries_every_file_unchanged(plan: ClusterPlan, machine: str) -> None:
    files = machines(plan)[machine]
    config = json.loads(own_config(files))
    carried: dict[str, tuple[str, int]] = {
        each["path"]: (content(each["contents"]).decode(), each["mode"]) for each in config["storage"]["files"]
    }
    units = {f"/etc/systemd/system/{unit['name']}": unit for unit in config["systemd"]["units"]}
    carried |= {path: (unit["contents"], 0o644) for path, unit in units.items()}
    assert carried == {file.path: (file.text, file.mode) for file in files}
    assert all(unit["enabled"] for unit in units.values())


def test_own_files_inherit_nothing_from_a_payload_file_of_the_same_path() -> None:
    (file,) = json.loads(own_config([rendered("/etc/x")]))["storage"]["files"]
    assert (file["mode"], file["overwrite"]) == (0o644, True)
    assert file["contents"] == {"source": "data:;base64,dGV4dA==", "compression": ""}


def test_own_units_are_the_files_in_systemds_folder() -> None:
    elsewhere = ("/etc/systemd/system.conf", "/etc/systemd/system/x.service.d/10-x.conf")
    config = json.loads(own_config(map(rendered, (*elsewhere, "/etc/systemd/system/x.service"))))
    assert [unit["name"] for unit in config["systemd"]["units"]] == ["x.service"]
    assert [file["path"] for file in config["storage"]["files"]] == [*elsewhere]


def test_own_secrets_are_refused_where_others_could_read_them() -> None:
    with pytest.raises(AssetError) as refused:
        own_config([rendered("/etc/systemd/system/x.service", secret=True)])
    assert str(refused.value) == (
        "/etc/systemd/system/x.service: is secret, but everyone on the machine can read a unit. "
        "Fix: move the secret to a file of its own"
    )
    with pytest.raises(AssetError, match=r"^/etc/x: is secret, but mode 0o644 gives access to others\. "):
        own_config([rendered("/etc/x", Reader.HAPROXY, secret=True)])
    assert own_config([rendered("/etc/x", Reader.KEYFILE, secret=True)])


def test_the_same_files_give_the_same_bytes_in_any_order(plan: ClusterPlan) -> None:
    files = machines(plan)["okd-master-0"]
    assert own_config(reversed(files)) == own_config(files)
    assert compose(PAYLOAD, own_config(files)) == compose(PAYLOAD, own_config(files))


@pytest.mark.parametrize(
    ("payload", "ours"), [("a" * 64, "other"), ("b" * 64, "{}")], ids=["our-part", "the-payload"]
)
def test_a_digest_of_a_composed_config_covers_both_parts(payload: str, ours: str) -> None:
    assert composed_sha256(payload, ours) != composed_sha256("a" * 64, "{}")
    assert composed_sha256(payload, ours) == composed_sha256(payload, ours)
