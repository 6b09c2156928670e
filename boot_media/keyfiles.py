"""A host's `networkConfig` (nmstate) as NetworkManager's keyfiles, made by `nmstatectl gc`; offline.

Both may hold secrets. An error leaves it to the caller to name the host.
"""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from boot_media.tools import NMSTATECTL_VERSION, find_nmstatectl
from cluster.plan.model import Keyfile
from providers.base.errors import BootMediaError

MAIN_TABLE = "254"
# What stands at `802.1x` itself is a password at the wrong place, most likely.
SECRET = re.compile(r"pass|psk|cak|secret|private-key|preshared-key|^802\.1x$")
UNESCAPED = re.compile(r"[\\\x00-\x1f]")
RULES = re.compile(r"(?:^routing-rule\d+=.*\n)+", re.M)
PLACE = re.compile(r" at line \d+ column \d+")  # of the JSON that the tool reads, which nobody sees


def keyfiles_of(network_config: Mapping[str, Any]) -> tuple[Keyfile, ...]:
    """What NetworkManager reads of it, by name; the same bytes for the same document and version of the tool.

    Args:
        network_config: nmstate's document; of JSON's types.

    Raises:
        BootMediaError: There is no nmstatectl, or it refuses; or it would write what NetworkManager reads otherwise,
            or make a choice by chance.
    """
    nmstatectl = find_nmstatectl()
    for path, value in _scalars(network_config):
        _judge(path, value)
    answer = _asked(nmstatectl, network_config)
    _judge_rules(network_config)  # whose shape the tool has judged
    try:
        found = [(str(name), str(text)) for name, text in yaml.safe_load(answer)["NetworkManager"]]
    except (yaml.YAMLError, TypeError, KeyError, ValueError):
        fix = f"install version {NMSTATECTL_VERSION}"
        raise BootMediaError("its answer cannot be read", where=str(nmstatectl), fix=fix) from None
    texts = dict(found)
    if len(texts) < len(found) or any("/" in name or name.startswith(".") for name in texts):
        what = "a profile-name is used twice, starts with a dot or has a slash"
        raise BootMediaError(what, fix="choose another: it becomes the name of a file")
    secret = _has_secrets(network_config)
    return tuple(
        Keyfile(name=name, text=RULES.sub(_sorted_rules, texts[name]), secret=secret) for name in sorted(texts)
    )


def _scalars(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Each with its path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _scalars(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _scalars(each, f"{path}[{index}]")
    else:
        yield path, value


def _judge(path: str, value: object) -> None:
    """Refuse what the tool takes, and writes as something else."""
    if not isinstance(value, str):
        return
    if UNESCAPED.search(value):
        what = "a backslash or a control character (a line break is one), which nmstatectl does not escape"
        raise BootMediaError(what, where=path, fix="take it out")
    if value.startswith("sriov:"):
        what = "sriov:<card>:<number> is resolved on a running host alone"
        raise BootMediaError(what, where=path, fix="write the name of that virtual function, such as eno1v0")


def _judge_rules(network_config: Mapping[str, Any]) -> None:
    """Refuse a rule that could be kept with several interfaces: nmstatectl takes one of them by chance."""
    interfaces = defaultdict[str, set[str]](set)
    for route in _entries(network_config, "routes"):
        if interface := route.get("next-hop-interface"):
            interfaces[str(route.get("table-id") or MAIN_TABLE)].add(interface)
    for rule in _entries(network_config, "route-rules"):
        table = str(rule.get("route-table") or MAIN_TABLE)
        if len(interfaces[table]) > 1 and not rule.get("iif"):
            several = ", ".join(sorted(interfaces[table]))
            what = f"table {table} has routes through {several}; nmstatectl would keep its rules with any one of them"
            raise BootMediaError(what, where="route-rules", fix="give each interface a table of its own")


def _entries(network_config: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """What is configured of `routes` or `route-rules`."""
    listed = (network_config.get(key) or {}).get("config") or []
    return [each for each in listed if each.get("state") != "absent"]


def _asked(nmstatectl: Path, network_config: Mapping[str, Any]) -> str:
    """The tool's answer."""
    run = _run(nmstatectl, network_config)
    if not run.returncode:
        return run.stdout
    # Asked again, for it cites what it does not like.
    run = _run(nmstatectl, _without_secrets(network_config))
    reason = run.stderr if run.returncode else "a password or another secret in it is not well-formed"
    what = f"nmstatectl refuses it: {' '.join(PLACE.sub('', reason).split())[:400]}"
    raise BootMediaError(what, fix="correct it by nmstate's documentation")


def _run(nmstatectl: Path, document: object) -> subprocess.CompletedProcess[str]:
    command = [str(nmstatectl), "-q", "gc", "/dev/stdin"]
    text = json.dumps(document, ensure_ascii=False)
    try:
        return subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        what = f"cannot be run ({error.strerror})"
        raise BootMediaError(what, where=str(nmstatectl), fix="run tools/nmstatectl") from None


def _has_secrets(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(SECRET.search(str(key)) or _has_secrets(each) for key, each in value.items())
    return isinstance(value, list) and any(map(_has_secrets, value))


def _without_secrets(value: Any, key: str = "") -> Any:
    """The same, each secret replaced by something of its type and length."""
    if isinstance(value, Mapping):
        return {name: _without_secrets(each, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_secrets(each, key) for each in value]
    if not SECRET.search(key):
        return value
    return "*" * len(value) if isinstance(value, str) else type(value)()


def _sorted_rules(rules: re.Match[str]) -> str:
    """Numbered anew: the tool keeps them in a hash table, whose order changes from run to run."""
    values = sorted(line.partition("=")[2] for line in rules[0].splitlines())
    return "".join(f"routing-rule{number}={value}\n" for number, value in enumerate(values))
