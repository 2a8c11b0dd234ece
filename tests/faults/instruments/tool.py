"""`hil measure` against an instrument: the command as people call it, with its own clock; the firmware works once
whenever the meter is armed."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from hil.commands import measure
from hil.errors import Blocked, RigError

from .board import enough
from .scpi import served
from .trace import Script

if TYPE_CHECKING:
    from .scenario import Result, Setup

SLEEP_S, WAIT_S = 0.3, 0.3  # of the board about its work, and from the meter's start on


def run_measure(setup: Setup) -> Result:
    """Run the command once; the truth is the energy between the edges."""
    from .scenario import VOLT, Result

    scenario = setup.scenario
    steps = enough(scenario.work.step_s, scenario.window_s)
    scripts: list[Script] = []

    def firmware() -> None:
        scripts.append(scenario.work.script(steps, SLEEP_S, setup.world.now() + WAIT_S, setup.board.random))
        setup.instrument.script, setup.front.trace = scripts[-1], scripts[-1].trace

    setup.instrument.started = firmware
    found, blocked, text = {}, "", io.StringIO()
    with served(setup.instrument) as address, tempfile.TemporaryDirectory() as folder:
        argv = ["--model", scenario.meter, "--meter", address, "--volt", str(VOLT), "--window", str(scenario.window_s)]
        argv += ["--out", folder, "--json", *scenario.options]
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()) as said:
                measure.main(argv)
            found = json.loads(text.getvalue())
        except (Blocked, RigError) as error:
            blocked = str(error)
    refused = tuple(setup.instrument.refused)
    spoiled = tuple(line for line in said.getvalue().splitlines() if line.startswith("discarded"))
    if not found:
        return Result(np.nan, np.nan, False, len(spoiled), blocked or "no result", (), (), refused, spoiled)
    truth = scripts[-1].gross_j(setup.front.volt, setup.front.ohm(setup.instrument.range)) * steps
    energy, half = found["energy"]["value"], found["coverage_factor"] * found["energy"]["uncertainty"]
    covers = abs(energy - truth) <= half
    return Result(energy / truth, half / truth, covers, len(spoiled), "", tuple(found["flags"]), (), refused, spoiled)
