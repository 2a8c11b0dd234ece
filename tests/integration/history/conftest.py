"""A history in SQLite and in PostgreSQL: the same tests run on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.history.address import Address, address_of
from tests.postgresql import Server, started


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = started()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """The address of an empty history."""
    if request.param == "sqlite":
        return address_of(None, tmp_path)
    return address_of(request.getfixturevalue("server").database(), tmp_path)
