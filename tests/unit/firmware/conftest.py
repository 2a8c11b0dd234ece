"""Fixtures of the firmware's tests: the agent's code, built for this computer under sanitizers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_agent import Agent, build, engine_sources


@pytest.fixture(scope="session")
def link_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the harness with the link code alone."""
    return build(tmp_path_factory.mktemp("link"), "link", [])


@pytest.fixture(scope="session")
def agent_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the harness with the whole agent and the training engine."""
    return build(tmp_path_factory.mktemp("agent"), "agent", engine_sources())


@pytest.fixture
def agent(link_program: Path) -> Iterator[Agent]:
    """Return the link code of a fresh agent, as after reset."""
    running = Agent(link_program)
    yield running
    running.close()
