"""Fixtures of tests/unit/firmware: the agent's code, built for this computer."""

from tests.unit.firmware.conftest import agent_program  # noqa: F401 (a fixture)
