"""Gates: budgets of a trial's figures, and what may be said of a figure beside its budget (docs/gates.md)."""

from hil.gates.gate import FIGURES, Budgets, Earlier, Figure, Gate, as_list, nearest, parse_budgets
from hil.gates.judgement import FAIL, INCONCLUSIVE, NOT_JUDGED, PASS, Judgement, More, judge

__all__ = [
    "FAIL",
    "FIGURES",
    "INCONCLUSIVE",
    "NOT_JUDGED",
    "PASS",
    "Budgets",
    "Earlier",
    "Figure",
    "Gate",
    "Judgement",
    "More",
    "as_list",
    "judge",
    "nearest",
    "parse_budgets",
]
