"""The pytest plugin: options and fixtures. What a session with --board needs is imported when there is one."""

from __future__ import annotations

import pytest

from hil.clients import PYTEST, registered
from hil.quick_imports import keep_out_of_searches, quick_imports
from hil.session import fixtures, hooks, selection
from hil.session.options import add_options
from hil.session.shadows import explained

MARKERS = (
    "tier(name): run only in this tier: quick (every run) or nightly (--tier=nightly)",
    'budget(sram="256 KiB", step_time=["310 ms", "+2 %"], ...): budgets of the trials of the test (docs/trials.md)',
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the rig's options, the fixtures, and the plugins of the clients of the bench."""
    add_options(parser)
    pluginmanager.add_hookspecs(hooks)
    for module in (fixtures, selection):
        pluginmanager.register(module)
    for client in registered(PYTEST):
        if client.error is None:
            pluginmanager.register(client.value, f"trainrig-{client.name}")


@pytest.hookimpl(tryfirst=True)  # before pytest's JUnit writer reads its path
def pytest_configure(config: pytest.Config) -> None:
    """With --board, check the options and begin the run."""
    for text in MARKERS:
        config.addinivalue_line("markers", text)
    for client in registered(PYTEST):
        if client.error is not None:
            config.issue_config_time_warning(pytest.PytestWarning(client.error), 2)
    if not config.getoption("board"):
        return
    with explained(), quick_imports():
        from hil.session import rig_session
    rig_session.begin(config)
    config.pluginmanager.register(rig_session, "trainrig-session")
    keep_out_of_searches()
