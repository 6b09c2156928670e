"""Where etcd is saved: what the option may be, and what of it is a stack's own."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from base.shapes import shape_faults
from cluster.options import Options
from cluster.values.snapshots import BucketUrl, store_of
from testing import plans

WANTED = (
    "an absolute path, or s3://<bucket>/<prefix>?endpoint=https://<host>&region=<region> without a login, is wanted"
)
SERVER = "https://s3.lab.test:9000"


@pytest.mark.parametrize(
    ("snapshots", "bucket", "prefix", "endpoint", "region"),
    [
        ("s3://saved", "saved", "", "", ""),
        ("s3://saved/okd/etcd", "saved", "okd/etcd", "", ""),
        ("s3://saved?region=eu-central-1", "saved", "", "", "eu-central-1"),
        (f"s3://saved.lab/okd?endpoint={SERVER}", "saved.lab", "okd", SERVER, ""),
        (f"s3://saved/okd?endpoint={SERVER}&region=lab", "saved", "okd", SERVER, "lab"),
        (f"s3://saved/okd?region=lab&endpoint={SERVER}", "saved", "okd", SERVER, "lab"),
        ("s3://saved?endpoint=https://[2001:db8::5]:9000", "saved", "", "https://[2001:db8::5]:9000", ""),
    ],
)
def test_a_bucket_is_read(snapshots: str, bucket: str, prefix: str, endpoint: str, region: str) -> None:
    url = BucketUrl.of(Options.model_validate(plans.options(snapshots=snapshots)).snapshots)
    assert url
    assert (url.bucket, url.prefix, url.endpoint, url.region) == (bucket, prefix, endpoint, region)
    assert str(url) == snapshots


@pytest.mark.parametrize(
    "snapshots",
    [
        "here",
        "s3:/saved",
        "s3://",
        "s3://Saved",
        "s3://saved..okd",
        "s3://saved/",
        "s3://saved//okd",
        "s3://saved/../okd",
        "s3://saved/okd#part",
        "s3://AKIA:c4nary-secret@saved",
        "s3://saved?endpoint=http://s3.lab.test",
        "s3://saved?endpoint=https://s3..lab.test",
        "s3://saved?endpoint=https://-s3.lab.test",
        "s3://saved?endpoint=https://s3.lab.test:",
        "s3://saved?endpoint=s3.lab.test:9000",
        "s3://saved?endpoint=https://key:c4nary-secret@s3.lab.test",
        "s3://saved?endpoint=https://s3.lab.test/path",
        "s3://saved?region=-",
        "s3://saved?region=lab&region=lab",
        "s3://saved?profile=c4nary-secret",
        "gs://saved",
    ],
)
def test_what_is_no_store_is_refused_in_one_line(snapshots: str) -> None:
    with pytest.raises(ValidationError) as error:
        Options.model_validate(plans.options(snapshots=snapshots))
    assert [*map(str, shape_faults(error.value, Options))] == [f"snapshots: {WANTED}. Fix: write it so"]


def test_each_stack_has_its_own_part() -> None:
    assert store_of("prod", "/var/lib/snapshots") == Path("/var/lib/snapshots/prod")
    assert str(store_of("prod", f"s3://saved/okd?endpoint={SERVER}")) == f"s3://saved/okd/prod?endpoint={SERVER}"
    assert str(store_of("prod", "s3://saved") / "a.db") == "s3://saved/prod/a.db"
