from pathlib import Path

import pytest
from user_project import GONE, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose board is named and gone: its trials are blocked at once."""
    (tmp_path / "rig.toml").write_text(GONE)
    return Project(tmp_path)
