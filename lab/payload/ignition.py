"""Ignition configs, as openshift-install writes them: spec 3.2.0, every content a data URL."""

import base64
import gzip
import json
from collections.abc import Iterable
from typing import Any

SPEC = "3.2.0"
Config = dict[str, Any]


def file(path: str, content: str | bytes, mode: int = 0o600) -> Config:
    """One file of root's."""
    return {
        "path": path,
        "mode": mode,
        "overwrite": True,
        "user": {"name": "root"},
        "contents": {"source": data_url(content)},
    }


def unit(name: str, text: str) -> Config:
    """One enabled unit."""
    return {"name": name, "enabled": True, "contents": text}


def config(files: Iterable[Config], units: Iterable[Config]) -> str:
    """A config of files and units."""
    return _json(
        {"ignition": {"version": SPEC}, "storage": {"files": list(files)}, "systemd": {"units": list(units)}}
    )


def pointer(source: str, authority: str) -> str:
    """The config that sends a machine to its config server, whose CA it carries."""
    tls = {"certificateAuthorities": [{"source": data_url(authority)}]}
    merge = [{"source": source}]
    return _json({"ignition": {"config": {"merge": merge}, "security": {"tls": tls}, "version": SPEC}})


def frame(path: str, place: str) -> str:
    """A config with `place` where base64 of a gzipped config belongs: to be merged, and to be kept as `path`."""
    packed = f"data:;base64,{place}"
    kept = {**file(path, ""), "contents": {"source": packed}}
    merge = [{"source": packed, "compression": "gzip"}]
    return _json({"ignition": {"version": SPEC, "config": {"merge": merge}}, "storage": {"files": [kept]}})


def pack(text: str) -> bytes:
    """The same bytes for the same text."""
    return gzip.compress(text.encode(), mtime=0)


def data_url(content: str | bytes) -> str:
    """`content` as openshift-install embeds it."""
    raw = content.encode() if isinstance(content, str) else content
    return f"data:text/plain;charset=utf-8;base64,{base64.b64encode(raw).decode()}"


def _json(value: Config) -> str:
    return json.dumps(value, separators=(",", ":"))
