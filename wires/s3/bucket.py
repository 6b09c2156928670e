"""Writes objects into a bucket with AWS's own client, which finds credentials, CA and proxy as `aws` does."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from base.errors import ConfigError, Fault
from base.shown import short
from cluster.values.snapshots import BucketUrl

PART_BYTES = 16 << 20
"""Of what is sent in parts, S3 takes 10,000 of at least 5 MiB. One is held in memory."""
CONNECT_S, SILENT_S = 10, 60
"""Limits of each attempt to connect, and of each wait for a part of an answer."""
RIGHTS = (
    "have AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, name a key that may `s3:PutObject` and "
    "`s3:AbortMultipartUpload` there"
)
REACH = "have this machine reach that server, or name another store in `snapshots`"
LOG = "see the log of that server, or name another store in `snapshots`"
FIXES = {
    **dict.fromkeys(("AccessDenied", "ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"), RIGHTS),
    **dict.fromkeys(("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"), RIGHTS),
    "InsufficientStorage": "have room in that bucket, or name another one in `snapshots`",
    "NoSuchBucket": "make that bucket, or name another one in `snapshots`",
    "RequestTimeTooSkewed": "set the clock of this machine, or of that server",
    "SSLError": "name the PEM file of its CA in AWS_CA_BUNDLE",
}
"""The fix by S3's code of an error (its API Reference, Error responses), or by the client's own exception."""


@dataclass(frozen=True)
class Bucket:
    """Takes new objects below a URL."""

    url: BucketUrl

    @contextmanager
    def new(self, name: str) -> Iterator[Callable[[bytes], object]]:
        """Return what takes a new object, which is there once the block has ended, and only if it ended well.

        Each part is counted only once the server has answered with its SHA-256.

        Raises:
            ConfigError: It cannot be written, also while its parts are.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (a preview writes no object)

        path = self.url / name
        try:
            with _client(self.url) as client:
                upload = _Upload.begun(client, path)
                try:
                    yield upload.put
                    upload.end()
                except BaseException:
                    # If that fails, too, parts stay that are no object: a rule of the bucket removes them.
                    with suppress(BotoCoreError, ClientError):
                        client.abort_multipart_upload(**upload.of)
                    raise
        except (BotoCoreError, ClientError, _ForeignError) as error:
            what, fix = _reason(error)
            raise ConfigError(Fault("etcd", f"not saved: {path} cannot be written ({what})", fix)) from None


class _ForeignError(Exception):
    """An answer lacks what S3 gives, as its text says."""


@contextmanager
def _client(url: BucketUrl) -> Iterator[Any]:
    from botocore.config import Config  # noqa: PLC0415
    from botocore.session import Session  # noqa: PLC0415

    config = Config(
        connect_timeout=CONNECT_S,
        read_timeout=SILENT_S,
        ignore_configured_endpoint_urls=True,  # the stack names the server, and a write plan has it
        s3={"addressing_style": "path"} if url.endpoint else {},  # else AWS's own file may name another one
    )
    try:
        client = Session().create_client(
            "s3", region_name=url.region or None, endpoint_url=url.endpoint or None, config=config
        )
    except ValueError:
        raise _ForeignError("the endpoint has no address") from None
    try:
        yield client
    finally:
        client.close()


@dataclass
class _Upload:
    """An object that is sent in parts, and there only once it is ended (S3's multipart upload)."""

    client: Any
    of: dict[str, str]
    """What each request about it names."""
    left: bytearray = field(default_factory=bytearray)
    parts: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begun(cls, client: Any, path: BucketUrl) -> "_Upload":
        of = {"Bucket": path.bucket, "Key": path.prefix}
        answer = client.create_multipart_upload(**of, ChecksumAlgorithm="SHA256")
        if "UploadId" not in answer:
            raise _ForeignError("the answer is not one of S3")
        return cls(client, {**of, "UploadId": answer["UploadId"]})

    def put(self, content: bytes) -> None:
        self.left += content
        while len(self.left) >= PART_BYTES:
            self._send(bytes(self.left[:PART_BYTES]))
            del self.left[:PART_BYTES]

    def end(self) -> None:
        self._send(bytes(self.left))
        self.client.complete_multipart_upload(**self.of, MultipartUpload={"Parts": self.parts})

    def _send(self, content: bytes) -> None:
        digest = b64encode(sha256(content).digest()).decode()
        part = {"PartNumber": len(self.parts) + 1, "ChecksumSHA256": digest}
        answer = self.client.upload_part(**self.of, **part, Body=content)
        if answer.get("ChecksumSHA256") != digest:
            raise _ForeignError("the server does not answer with the SHA-256 of what it got")
        self.parts.append({**part, "ETag": answer.get("ETag", "")})


def _reason(error: Exception) -> tuple[str, str]:
    """Return why an object cannot be written, and the fix. What a server says besides its code is not repeated."""
    from botocore import exceptions  # noqa: PLC0415

    if isinstance(error, _ForeignError):
        return str(error), LOG
    if isinstance(error, exceptions.ClientError):
        code = short(str(error.response.get("Error", {}).get("Code")))
        return f"HTTP {error.response['ResponseMetadata']['HTTPStatusCode']} {code}", FIXES.get(code, LOG)
    name, lost = type(error).__name__, (exceptions.ConnectionError, exceptions.HTTPClientError)
    says = f"{name}: {short(str(error.kwargs['error']))}" if isinstance(error, exceptions.SSLError) else name
    return says, FIXES.get(name, REACH if isinstance(error, lost) else LOG)
