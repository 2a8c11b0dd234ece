"""The kinds of runs; this is their only list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hil.training.experiments.exponents import ExponentRun
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.fqt_runs import FqtRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.quzo_runs import QuzoRun
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.trial_runs import TrialRun

Run = ExponentRun | GraphRun | FloatRun | QzoRun | QuzoRun | FqtRun | TrialRun
# with a learning rate, which may be searched
RatedRun = GraphRun | FloatRun | QzoRun | QuzoRun | FqtRun | TrialRun
KINDS: Mapping[str, type[Run]] = {  # by a field of run.json that no kind further down has
    "row_steps": TrialRun,
    "configuration": FqtRun,
    "backbone": QzoRun,
    "adapted": QuzoRun,
    "method": GraphRun,
    "network": FloatRun,
    "r_max": ExponentRun,
}


def kind_of(facts: Mapping[str, Any]) -> type[Run]:
    """Return the kind of run with these fields of run.json; if a damaged file has none of them, the last kind."""
    return next((kind for field, kind in KINDS.items() if field in facts), ExponentRun)
