"""A server of S3 with TLS: versitygw over a folder, with its own checks of signatures, policies and SHA-256s."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from botocore.session import Session

from testing.certificates import authority
from testing.scene.machine import until

CA, ADDRESS, BUCKET = "s3-ca", "127.0.0.1", "saved"
OWNER, SECRET = "owner", "S3cret-canary"
USER = "okd-baremetal"


@dataclass(frozen=True)
class S3Server:
    """One that runs, and has a bucket."""

    port: int
    folder: Path
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        """The bucket's, as the option `snapshots` has it."""
        return f"s3://{BUCKET}/okd?endpoint=https://{ADDRESS}:{self.port}"

    def environment(self, key: str = OWNER, secret: str = SECRET) -> dict[str, str]:
        """Return the variables of AWS's tools by which a client is let in; it tries each request once."""
        logs_in = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        return {**logs_in, "AWS_CA_BUNDLE": str(self.folder / "ca.pem"), **NO_OTHERS, "AWS_MAX_ATTEMPTS": "1"}

    def client(self) -> Any:
        """Return another client than that of the program: the owner's."""
        return Session().create_client(
            "s3",
            endpoint_url=f"https://{ADDRESS}:{self.port}",
            region_name="us-east-1",
            verify=str(self.folder / "ca.pem"),
            aws_access_key_id=OWNER,
            aws_secret_access_key=SECRET,
        )

    def objects(self) -> dict[str, bytes]:
        """Return the content of each object, by its name; an upload that was left open fails."""
        with closing(self.client()) as client:
            assert "Uploads" not in client.list_multipart_uploads(Bucket=BUCKET)
            listed = client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
            return {it["Key"]: client.get_object(Bucket=BUCKET, Key=it["Key"])["Body"].read() for it in listed}

    def let(self, actions: Sequence[str]) -> None:
        """Let `USER`, who has the same secret as the owner, do this with objects, and nothing else."""
        allowed = {"Effect": "Allow", "Principal": {"AWS": [USER]}, "Resource": f"arn:aws:s3:::{BUCKET}/*"}
        policy = {"Version": "2012-10-17", "Statement": [{**allowed, "Action": [*actions]}]}
        with closing(self.client()) as client:
            client.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(policy))


NO_OTHERS: Mapping[str, str] = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "AWS_CONFIG_FILE": "/nonexistent",
}
"""Leaves a client no other credentials than those of the environment."""


@contextmanager
def s3_server(program: Path, folder: Path, root: Path | None = None) -> Iterator[S3Server]:
    """Run a server on loopback.

    Args:
        program: versitygw.
        folder: An empty one, for its files.
        root: Where the objects are; None: in that folder.
    """
    pair = authority(CA).issue(["s3.lab.test"], [IPv4Address(ADDRESS)])
    for name, text in {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.pem": authority(CA).pem}.items():
        (folder / name).write_text(text)
    root = root or folder / "root"
    for path in (root, folder / "sidecar", folder / "iam"):
        path.mkdir(exist_ok=True)
    account = {"access": USER, "secret": SECRET, "role": "user", "userID": 0, "groupID": 0, "projectID": 0}
    (folder / "iam" / "users.json").write_text(json.dumps({"accessAccounts": {USER: account}}))
    with closing(socket.create_server((ADDRESS, 0))) as probe:
        port = probe.getsockname()[1]
    tls = [f"--cert={folder / 'tls.crt'}", f"--key={folder / 'tls.key'}"]
    command: list[str | Path] = [
        program,
        f"--port={ADDRESS}:{port}",
        *tls,
        f"--iam-dir={folder / 'iam'}",
        "--quiet",
        "posix",
    ]
    # Not every filesystem keeps the attributes of files in which it would have what it knows of objects.
    command += [f"--sidecar={folder / 'sidecar'}", root]
    logs_in = {"ROOT_ACCESS_KEY": OWNER, "ROOT_SECRET_KEY": SECRET}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **logs_in}, stdout=log, stderr=log)
    server = S3Server(port, folder, process)
    try:
        until("a server of S3", lambda: _listens(port))
        with closing(server.client()) as client:
            client.create_bucket(Bucket=BUCKET)
        yield server
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), closing(socket.create_connection((ADDRESS, port))):
        return True
    return False
