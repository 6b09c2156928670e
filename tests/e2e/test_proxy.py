"""A proxy in the provisioner's environment, which gRPC between Pulumi's parts must not ask (case PROXY)."""

from testing.project import Project

NOBODY, OTHERS = "http://127.0.0.1:9", ".corp.example"


def test_a_preview_asks_no_proxy_for_its_own_parts(project: Project) -> None:
    """Whichever variable names the proxy, and whatever it is not to be asked for."""
    project.env |= dict.fromkeys(("grpc_proxy", "http_proxy", "https_proxy"), NOBODY)
    project.env |= dict.fromkeys(("no_grpc_proxy", "no_proxy"), OTHERS)
    assert "to create" in project.pulumi("preview")
