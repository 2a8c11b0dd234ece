"""All tables and figures that are trained, by name; and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from hil.training.experiments import elasticzo, fqt, pmt, quzo, qzo
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.paper import paper
from hil.training.experiments.table import PaperTable

PLANS = {"elasticzo": elasticzo.table, "pmt": pmt.table, "qzo": qzo.table, "quzo": quzo.table, "fqt": fqt.table}


def _made(name: str, experiment: str, request: ExperimentRequest) -> PaperTable:
    declared = paper(name).experiments[experiment]
    return PLANS[name](declared, request.of(declared))


TABLES: Mapping[str, Callable[[ExperimentRequest], PaperTable]] = {
    experiment: partial(_made, name, experiment) for name in PLANS for experiment in paper(name).experiments
}
