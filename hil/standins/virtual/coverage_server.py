"""Serves what the chip has executed on a loopback port, the endpoint `coverage`.

A client sends a line and gets a line of JSON: `clear` forgets what was executed so far; `read` returns what was
executed since, as `hil.images.executed.Executed.to_json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.runner import ChipRunner


class CoverageRequests:
    """Answers the requests of a client."""

    def __init__(self, runner: ChipRunner) -> None:
        self._runner = runner

    def execute(self, line: str) -> str:
        with self._runner.paused() as machine:
            if line == "clear":
                machine.core.clear_coverage()
                return "{}"
            if line == "read":
                return json.dumps(machine.core.coverage.executed().to_json())
        return json.dumps({"error": f"unknown request {line[:20]!r}: send clear or read"})


def coverage_server(runner: ChipRunner, log: Callable[[str], None]) -> InstrumentServer:
    """Return the server of a chip; `log` receives one line for each refused connection."""
    return InstrumentServer(CoverageRequests(runner), log)
