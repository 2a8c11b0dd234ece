"""Gates: budgets of a trial's figures, and what may be said of a figure beside its budget (docs/trials.md)."""

from hil.gates.gate import (
    FIGURES,
    BudgetedFigure,
    Budgets,
    Earlier,
    EarlierUnknown,
    FigureGate,
    as_list,
    budgets_of_figure,
    nearest,
    parse_budgets,
)
from hil.gates.judgement import (
    FAIL,
    INCONCLUSIVE,
    NO_HISTORY,
    NOT_JUDGED,
    PASS,
    Judgement,
    More,
    NoMedian,
    begin_of,
    judge,
)

__all__ = [
    "FAIL",
    "FIGURES",
    "INCONCLUSIVE",
    "NOT_JUDGED",
    "NO_HISTORY",
    "PASS",
    "BudgetedFigure",
    "Budgets",
    "Earlier",
    "EarlierUnknown",
    "FigureGate",
    "Judgement",
    "More",
    "NoMedian",
    "as_list",
    "begin_of",
    "budgets_of_figure",
    "judge",
    "nearest",
    "parse_budgets",
]
