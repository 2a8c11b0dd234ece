"""A gate: the budget of one figure of a trial, absolute or relative to earlier nights, and how users write it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hil.errors import RigError, close_matches, shown
from hil.quantity import COUNTED, DECIMAL, EXAMPLES, Quantity, parse_quantity, with_micro_sign

RELATIVE = re.compile(rf"([+-])\s*({DECIMAL})\s*%")
BOUND = re.compile(r"at (most|least)\s+", re.IGNORECASE)
# Units of sizes, times, energies and counts, and quotients of them: no figure in one of these is negative, except one
# whose name says that it is a difference.
SIZE = rf"(?:1|[kMG]?(?:Hz|B|b|bit|{COUNTED})(?:e?s)?|[KMG]iB|[nuµm]?(?:s|J|Wh)|min|h|d|K|baud|px)"
SIZES = re.compile(rf"(?!1$){SIZE}(?:[*/·]{SIZE})*")
SIGNED = re.compile(
    r"(?<![a-z])(?:change|changes|delta|diff|difference|drift|drop|offset|error|margin|slack|left|saved|saving|savings|"
    r"gain|skew|net|deviation|residual|shift|increase|decrease)(?![a-z])",
    re.IGNORECASE,
)
NUMBER = re.compile(rf"-?{DECIMAL}(?:[eE][+-]?[0-9]+)?")
COUNTS = re.compile(rf"([kMG]?)({COUNTED})(?:e?s)?")
TIMES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
SHARES = re.compile(
    r"(?<![a-z])(?:acc[0-9]*|top[-_]?[0-9]+|precision|recall|f1|auc|iou)(?![a-z0-9])", re.IGNORECASE
)  # more is good

# Units and names of what costs: a budget without `at most` or `at least` is the most of it.
COST = (
    r"(?:[fpnuµmkMGT]?(?:s|J|W|A|C|B|b|Wh|Ah|eV)|[KMG]iB|min|h|d|ulp|"
    r"[kMGT]?(?:cycle|byte|bit|instruction|operation|op|FLOP|MAC|parameter)(?:e?s)?)"
)
TIME = r"(?:[nuµm]?s|min|h|d)"
COSTS = re.compile(rf"{COST}(?:[*·]{COST})*(?:/(?!{TIME}(?:$|[*/·^])).+)?")
SIZE_NAMES = (
    "size|bytes|s?ram|rom|flash|stack|heap|memory|parameters|params|cycles|instructions|latency|duration|failures?|"
    "failed|faults?|missed|dropped|lost|retries|resets|timeouts?|overruns?|warnings?"
)
NAMES_OF_SIZES = re.compile(rf"(?<![a-z])(?:{SIZE_NAMES})(?![a-z])", re.IGNORECASE)
COST_NAMES = re.compile(
    rf"(?<![a-z])(?:{SIZE_NAMES}|loss|losses|errors?|err|mse|mae|rmse|times?|energy|power|current|slowdown|overhead|jitter)"
    r"(?![a-z])",
    re.IGNORECASE,
)

IN_WORDS = {
    "B": "bytes, such as 256 KiB", "s": "seconds, such as 310 ms", "J": "joules, such as 2.5 mJ",
    "1": "per cent, such as 65 %",
}  # fmt: skip


@dataclass(frozen=True)
class BudgetedFigure:
    """A figure that may have a budget.

    Attributes:
        path: in the record (hil/record/trial_quantities.py).
        unit: of the figure.
        upper: whether the budget is the most that the figure may be, or the least.
        words: subject and verb of a sentence about the figure.
        plain: whether a figure without a unit is written as a number, not in per cent.
    """

    path: str
    unit: str
    upper: bool
    words: str
    plain: bool = False


FIGURES = {
    "sram": BudgetedFigure("sram.total", "B", True, "SRAM in use is"),
    "latency": BudgetedFigure("latency.p99_s", "s", True, "99 of 100 steps take up to"),
    "step_time": BudgetedFigure("step_time_s", "s", True, "The mean time of a compared step is"),
    "energy_per_step": BudgetedFigure("energy.per_step", "J", True, "The energy of a step is"),
    "accuracy": BudgetedFigure("accuracy.after", "1", False, "The accuracy after training is"),
}


@dataclass(frozen=True)
class FigureGate:
    """The budget of one figure: either `limit` or `relative` is given.

    Attributes:
        name: one of FIGURES, or that of a figure of the test's own.
        source: where the budget is written, as in "the budget of rp2040" or "the budget in rig.toml".
        limit: absolute budget in the unit of the figure.
        relative: largest change over the median of the last good nights: 0.02 allows 2 % more, -0.02 2 % less.
        own: the figure, if it is not one of FIGURES.
    """

    name: str
    source: str
    limit: float | None = None
    relative: float | None = None
    own: BudgetedFigure | None = None

    @property
    def figure(self) -> BudgetedFigure:
        """The figure that the budget is for."""
        return self.own or FIGURES[self.name]


Budgets = Mapping[str, Sequence[FigureGate]]  # by name of the figure


class EarlierUnknown(RigError):
    """Earlier nights are not known; the message says why, as the end of a sentence without its dot."""


class Earlier(Protocol):
    """Gives the values of a figure in earlier nights."""

    def __call__(self, trial: Mapping[str, Any], path: str) -> Sequence[Quantity]:
        """Return the values in the nights in which the trial passed, one a night, the oldest first.

        Args:
            trial: the fields of the trial's record that say which trial it is.
            path: of the figure in the record.

        Raises:
            EarlierUnknown: they cannot be read.
        """


def parse_budgets(table: Any, source: str) -> dict[str, list[FigureGate]]:
    """Return the gates of a table such as `{sram = "256 KiB", step_time = ["310 ms", "+2 %"]}`.

    Raises:
        RigError: the table is none, names an unknown figure, or has a budget that is no quantity of the figure's unit.
    """
    if not isinstance(table, Mapping):
        raise RigError(f'the budgets {source} are {shown(table)}: write a table, such as {{ sram = "256 KiB" }}.')
    found: dict[str, list[FigureGate]] = {}
    for name, texts in table.items():
        if name not in FIGURES:
            raise RigError(f"a budget {source} is for {name!r}: {close_matches(str(name), FIGURES)}")
        found[name] = [_parsed(name, text, source) for text in as_list(texts)]
    return found


def budgets_of_figure(name: str, unit: str, texts: Any, source: str) -> list[FigureGate]:
    """Return the gates of a figure that a test gives, which may have any name and unit.

    Args:
        name: of the figure.
        unit: of the figure: `B`, `s`, `J`, `1`, or any other, which the budgets then have too.
        texts: one budget or several: `75 ms`, `+2 %`, or beginning with `at most` or `at least`. Without these words a
            budget is the most that the figure may be, if its unit or name says that it costs something, as bytes,
            seconds and `loss` do, and of `accuracy` the least. Any other figure needs them, or a sign before per cent.
        source: where they are written.

    Raises:
        RigError: a budget is no quantity of the figure's unit, or one that no value of the figure misses: at least 0
            of what is never negative; at most 100 % of a share, which is `accuracy` and what is written in per cent.
    """
    known = FIGURES.get(name)
    found = []
    for text in as_list(texts):
        if not isinstance(text, str):
            raise RigError(f"the budget {source} of {name} is {shown(text)}: {_cure(unit, plain=True)}, in quotes.")
        bound, change = BOUND.match(text.strip()), RELATIVE.fullmatch(text.strip())
        decided = bound is not None or known is not None or _costs(name, unit)
        upper = known.upper if known is not None else True
        if bound is not None:
            upper = bound[1].lower() == "most"
        elif not decided and change is not None:
            upper = change[1] == "+"
        figure = BudgetedFigure(f"figures.{name}", unit, upper, f"{name} is", plain="%" not in text)
        found.append(_parsed(name, text.strip()[bound.end() if bound is not None else 0 :], source, figure))
        if not decided and change is None:
            raise RigError(
                f"the budget {source} of {name} is {shown(text)}, which may be the least or the most of it: write "
                f"'at least {text.strip()}' or 'at most {text.strip()}'."
            )
    return found


def never_negative(name: str, unit: str) -> bool:
    """Return whether a figure cannot be below 0, by its unit or its name: sizes, times, energies, counts, accuracy."""
    if name in FIGURES or SIGNED.search(name) is not None:
        return name in FIGURES
    is_named = unit == "1" and (NAMES_OF_SIZES.search(name) is not None or is_accuracy(name))
    return is_named or SIZES.fullmatch(unit) is not None


def is_accuracy(name: str) -> bool:
    """Return whether a figure is an accuracy by its name, and no difference of two."""
    return "accuracy" in name.lower() and COST_NAMES.search(name) is None and SIGNED.search(name) is None


def _costs(name: str, unit: str) -> bool:
    """Return whether a figure of the test's own is one of which less is good, by its unit or its name."""
    if "accuracy" in name.lower() or (unit == "1" and SHARES.search(name) is not None):
        return False
    return COSTS.fullmatch(unit) is not None or COST_NAMES.search(name) is not None


def as_list(texts: Any) -> list[Any]:
    """Return the texts of a budget, which may be one or several."""
    return list(texts) if isinstance(texts, (list, tuple)) else [texts]


def _parsed(name: str, text: Any, source: str, own: BudgetedFigure | None = None) -> FigureGate:
    """Return the gate of a budget, which a value of the figure can miss."""
    gate = _read(name, text, source, own)
    figure = gate.figure
    is_share = figure.unit == "1" and (name == "accuracy" or not figure.plain)
    if figure.upper:
        judges, cure = not is_share or gate.limit is None or gate.limit < 1, "give less"
    else:
        some = 1 + gate.relative if gate.relative is not None else gate.limit or 0.0
        judges, cure = some > 0 or not (is_share or never_negative(name, figure.unit)), "give more"
    if name == "accuracy" and not figure.upper and (gate.limit or 0.0) > 1:
        raise RigError(
            f"the budget {source} of {name} is at least {text}, which no value reaches: give a share of 1, such as 0.9,"
            " or per cent, such as 90 %."
        )
    if not judges:
        bound = "" if gate.relative is not None else f"at {'most' if figure.upper else 'least'} "
        other = ", or a number without % if it is no share" if is_share and name != "accuracy" else ""
        raise RigError(f"the budget {source} of {name} is {bound}{text}, which no value misses: {cure}{other}.")
    return gate


def _read(name: str, text: Any, source: str, own: BudgetedFigure | None) -> FigureGate:
    place, figure = f"the budget {source} of {name}", own or FIGURES[name]
    if not isinstance(text, str):
        raise RigError(f"{place} is {shown(text)}: {EXAMPLES}, or +2 % relative to the last good nights, in quotes.")
    change = RELATIVE.fullmatch(text.strip())
    if change is not None:
        if (change[1] == "+") != figure.upper:
            right, what = ("+", "more") if figure.upper else ("-", "less")
            raise RigError(f"{place} is {text!r}: write {right}{change[2]} %, it limits how much {what} it may be.")
        return FigureGate(name, source, None, math.copysign(float(change[2]) / 100, 1 if figure.upper else -1), own)
    number, _, unit = with_micro_sign(text.strip()).partition(" ")
    if own is not None and (unit.strip() or "1") == figure.unit and NUMBER.fullmatch(number):
        if not math.isfinite(float(number)):
            raise RigError(f"{place} is {text!r}, which is too large for a number: correct it.")
        return FigureGate(name, source, float(number), None, own)
    counted = _counted(number, unit.strip(), figure.unit)
    if counted is not None:
        return FigureGate(name, source, counted, None, own)
    try:
        limit = parse_quantity(text)
    except RigError as error:
        if own is not None:
            grammar = "; write 'at most' or 'at least' before it, and no sign" if text.strip()[:1] in "<>=" else ""
            raise RigError(f"{place} is {text[:60]!r}: {_cure(figure.unit, figure.plain)}{grammar}.") from error
        raise RigError(f"{place}: {error}") from error
    if limit.unit != figure.unit:
        raise RigError(f"{place} is {text!r}: {_cure(figure.unit, figure.plain)}.")
    return FigureGate(name, source, float(limit.value), None, own)


def _counted(number: str, unit: str, wanted: str) -> float | None:
    """Return a number of counts in another unit of the same, as `900 cycle` in `kcycle`; None if it is none."""
    given, own = COUNTS.fullmatch(unit), COUNTS.fullmatch(wanted)
    if given is None or own is None or given[2] != own[2] or not NUMBER.fullmatch(number):
        return None
    found = float(number) * TIMES[given[1]] / TIMES[own[1]]
    return found if math.isfinite(found) else None


def _cure(unit: str, plain: bool) -> str:
    """Return how a budget of a figure in a unit is written; `plain` as of `BudgetedFigure`."""
    if unit == "1" and plain:
        return "give it as a number, such as 20, or in per cent, such as 65 %"
    return f"give it in {IN_WORDS.get(unit, f'{unit}, such as 12 {unit}')}"


def nearest(*tables: Budgets) -> dict[str, list[FigureGate]]:
    """Return the budgets by figure; of several tables the first that has the figure, with all its budgets."""
    found: dict[str, list[FigureGate]] = {}
    for table in tables:
        for name, gates in table.items():
            found.setdefault(name, list(gates))
    return found
