"""Gates: budgets of a trial's figures, and what may be said of a figure beside its budget (docs/gates.md)."""

from hil.gates.gate import FIGURES, Budgets, Earlier, EarlierUnknown, Figure, Gate, as_list, nearest, parse_budgets
from hil.gates.judgement import FAIL, INCONCLUSIVE, NO_HISTORY, NOT_JUDGED, PASS, Judgement, More, NoMedian, judge

__all__ = [
    "FAIL",
    "FIGURES",
    "INCONCLUSIVE",
    "NOT_JUDGED",
    "NO_HISTORY",
    "PASS",
    "Budgets",
    "Earlier",
    "EarlierUnknown",
    "Figure",
    "Gate",
    "Judgement",
    "More",
    "NoMedian",
    "as_list",
    "judge",
    "nearest",
    "parse_budgets",
]
