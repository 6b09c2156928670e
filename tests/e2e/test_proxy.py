"""A proxy in the provisioner's environment, which gRPC between Pulumi's parts must not ask (case PROXY)."""

import pytest

from testing.project import Project

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    "environment",
    [
        {"http_proxy": NOBODY, "https_proxy": NOBODY},
        {"http_proxy": NOBODY, "no_proxy": ".corp.example"},
        {"grpc_proxy": NOBODY, "no_grpc_proxy": ".corp.example"},
    ],
    ids=["lower-case", "with-exemptions", "of-grpc"],
)
def test_a_preview_asks_no_proxy_for_its_own_parts(environment: dict[str, str], project: Project) -> None:
    project.env |= environment
    assert "to create" in project.pulumi("preview")
