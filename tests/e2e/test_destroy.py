"""A `pulumi destroy` by mistake, with the real engine: of a cluster in production, nothing is deleted."""

from pathlib import Path

import pytest

from testing.previews import Project, settled


def with_a_spare(project: Project) -> None:
    with project.install_config() as config:
        config["compute"][0]["replicas"] = 1


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A stack in production with a spare, and with OkdInstalled, the last resource that may have to go."""
    folder: Path = tmp_path_factory.mktemp("destroy") / "production"
    options = {"phase": "production", "import_production": True, "wait": "install", "destroyable": False}
    project = settled(folder, "hunter2", with_a_spare, **options)
    assert [urn for urn in project.urns() if "Spares$" in urn]
    assert project.urns()[-1].endswith("::okd-destroy-guard")
    return project


def test_a_mistaken_destroy_deletes_nothing_in_production(production: Project) -> None:
    """Issue 40, 3: 8 resources left the state, and 6 were refused. `--yes` makes a preview first, which refuses."""
    before = production.urns()
    for options in (["--yes"], ["--yes", "--skip-preview"], ["--yes", "--skip-preview", "--continue-on-error"]):
        text = production.pulumi("destroy", *options, fails=True)
        assert "::okd-destroy-guard" in text
        assert production.urns() == before, options
    assert "no unprotected resources" in production.pulumi("destroy", "--yes", "--exclude-protected")
    assert production.urns() == before
