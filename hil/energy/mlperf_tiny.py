"""Energy in the form that MLPerf Tiny's runner reports, for comparison with its figures.

From mlcommons/tiny, benchmark/runner/main.py (`print_energy_results`), which was read for facts: for each of exactly
five windows, the time between the last two marks, the number of inferences, mean power, energy, and energy per
inference in microjoules; then the median. A window shorter than 10 s is marked. Its meter adds whole readings of 1 ms
between two marks; here a reading across an edge is divided. Lost readings: the older runner of EEMBC refuses more than
0.1 % (eembc/energyrunner, README, `emon-drop-thresh-pct`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.energy.step_budget import GROSS, energies
from hil.energy.step_energy import EnergyResult

WINDOWS, SHORTEST_S = 5, 10.0


def form(result: EnergyResult) -> dict[str, Any]:
    """Return the figures: `windows`, `median_uj`, and under `differs` why it is still no result of the benchmark."""
    steps = result.task.steps
    energy_j, elapsed = energies(result.windows, GROSS), [float(window.duration) for window in result.windows]
    rows = [
        {
            "elapsed_s": elapsed_s, "iterations": steps, "power_mw": 1e3 * energy / elapsed_s, "total_uj": 1e6 * energy,
            "per_iteration_uj": 1e6 * energy / steps, "long_enough": elapsed_s >= SHORTEST_S,
        }
        for energy, elapsed_s in zip(map(float, energy_j), elapsed, strict=True)
    ]  # fmt: skip
    differs = [
        "an iteration is a training step of the batch, not an inference",
        "the model is none of the benchmark's",
        "not measured by its runner",
    ]
    if result.provenance != "measured":
        differs.append("no silicon: the figures are modelled")
    return {
        "windows": rows, "median_uj": 1e6 * float(np.median(energy_j)) / steps, "provenance": result.provenance,
        "windows_asked": WINDOWS, "shortest_s": SHORTEST_S, "idle_subtracted": False, "differs": differs,
    }  # fmt: skip
