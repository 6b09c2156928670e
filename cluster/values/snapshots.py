"""Where the option `snapshots` has etcd saved: a folder of this machine, or a bucket of S3."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

from base.shapes import in_words

_LABEL, _HOST_LABEL = (rf"[{letters}]([{letters}-]{{0,61}}[{letters}])?" for letters in ("a-z0-9", "a-zA-Z0-9"))
_ENDPOINT = rf"endpoint=https://({_HOST_LABEL}(\.{_HOST_LABEL})*|\[[0-9a-fA-F:.]+\])(:[0-9]{{1,5}})?"
_REGION = f"region={_LABEL}"
_QUERY = rf"\?({_ENDPOINT}(&{_REGION})?|{_REGION}(&{_ENDPOINT})?)"
_BUCKET = rf"s3://{_LABEL}(\.{_LABEL})*(/[a-zA-Z0-9_][a-zA-Z0-9._-]*)*({_QUERY})?"
SNAPSHOTS = in_words(
    rf"^(/.+|{_BUCKET})?$",
    "an absolute path, or s3://<bucket>/<prefix>?endpoint=https://<host>&region=<region> without a login,",
)
"""The names in the query are those of Pulumi's own state in a bucket. The form needs no escapes, and has no login."""


@dataclass(frozen=True)
class BucketUrl:
    """A bucket, and the start of the names of its objects."""

    bucket: str
    prefix: str
    """Without slashes at its ends; may be empty."""
    query: str

    @classmethod
    def of(cls, snapshots: str) -> Self | None:
        """Read a value of `SNAPSHOTS`; None: it names a folder, or nothing."""
        url = urlsplit(snapshots)
        return cls(url.netloc, url.path.strip("/"), url.query) if url.scheme == "s3" else None

    @property
    def endpoint(self) -> str:
        """The URL of the server; empty: that of AWS."""
        return self._named("endpoint")

    @property
    def region(self) -> str:
        """The region of the bucket; empty: that of AWS's own configuration."""
        return self._named("region")

    def __str__(self) -> str:
        path = "/".join(filter(None, (self.bucket, self.prefix)))
        return f"s3://{path}?{self.query}" if self.query else f"s3://{path}"

    def __truediv__(self, name: str) -> Self:
        """Return the URL of what has this name below it, as a path does."""
        return type(self)(self.bucket, "/".join(filter(None, (self.prefix, name))), self.query)

    def _named(self, key: str) -> str:
        return parse_qs(self.query).get(key, [""])[0]


Store = Path | BucketUrl
"""Where the snapshots of one stack are kept."""


def store_of(stack: str, snapshots: str) -> Store:
    """Return a stack's own part of what its option names: two stacks may name the same."""
    return (BucketUrl.of(snapshots) or Path(snapshots)) / stack
