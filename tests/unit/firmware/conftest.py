"""Fixtures of the firmware's tests: the agent's code, built for this computer under sanitizers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import host_agent
import pytest
from host_agent import Agent, build

from tests.built_once import built_once


@pytest.fixture(scope="session")
def link_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the harness with the link code alone."""
    return built_once(tmp_path_factory, "link-program", lambda folder: build(folder, "link", []))


@pytest.fixture(scope="session")
def agent_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the harness with the whole agent and the training engine."""
    return host_agent.agent_program(tmp_path_factory)


@pytest.fixture
def agent(link_program: Path) -> Iterator[Agent]:
    """Return the link code of a fresh agent, as after reset."""
    running = Agent(link_program)
    yield running
    running.close()
