"""Comparisons that the tables of ElasticZO rest on: the scale of the perturbation, the logit error, fraction bits, a fixed sparsity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hil.experiment.choices import r_max
from hil.experiment.exponents import START, ExponentRun
from hil.experiment.paper import FIXED_P_ZERO, ROWS, TABLE1, TITLES
from hil.experiment.run import Given
from hil.experiment.table import Cell, Table
from hil.experiment.tables import COMMON, PAPER_EPOCHS, Asked, fewer_epochs, other_batch, slowest_first

SCALES = (1, 3, 7, 15, 31, 63)  # r_max, ElasticZO, section 5.1.1
FORMS = ("niti", "zero-sum")  # docs/arithmetic.md, section 6
FRACTIONS = (0, 2, 4, 6)  # docs/arithmetic.md, section 5
BY_ZO = ROWS[:-1]  # the rows that perturb


@dataclass(frozen=True)
class Case:
    """One column of a comparison.

    Attributes:
        column: `int8` or `int8star`.
        title: what the column is called.
        tag: in the names of its runs; empty for a run that stands in table 1 too.
        given: settings that differ from the column's.
        scale: r_max; None for the chosen one.
    """

    column: str
    title: str
    tag: str
    given: Given = ()
    scale: int | None = None


def r_max_search(asked: Asked) -> Table:
    """Every scale of the paper's grid, on 10,000 training images that no other run trains on; no test image is looked at."""
    cases = [
        Case(column, f"{TITLES[column]}, r_max {scale}", f"r{scale}", scale=scale)
        for column, scale in product(asked.columns, SCALES)
    ]
    asked_for = "The accuracy is that of the 10,000 training images that the tables do not train on."
    return _table(asked, "elasticzo-r-max", "Choice of r_max", BY_ZO, cases, "@50000-10000", (asked_for,))


def logit_error(asked: Asked) -> Table:
    """Both forms of the logits' error, for the rows that it decides most."""
    cases = [Case("int8", form, form, (("logit_error", form),)) for form in FORMS]
    return _table(asked, "elasticzo-logit-error", "Two forms of the error of the logits", ("cls1", "full-bp"), cases)


def loss_fraction(asked: Asked) -> Table:
    """The integer loss with fraction bits, beside the paper's and beside float losses."""
    cases = [Case("int8", TITLES["int8"], "")]
    cases += [
        Case(
            "int8star",
            f"{TITLES['int8star']}, {bits} fraction bits",
            f"f{bits}" if bits else "",
            (("loss_fraction", bits),) if bits else (),
        )
        for bits in FRACTIONS
    ]
    return _table(asked, "elasticzo-loss-fraction", "Integer losses with fraction bits", BY_ZO, cases)


def fixed_p_zero(asked: Asked) -> Table:
    """Full ZO with the sparsity of the first epochs throughout (ElasticZO, section 5.2)."""
    fixed = Case("int8", "p_zero 0.33 throughout", "fixed", (("p_zero", START["p_zero"]),))
    cases = [Case("int8", "p_zero by the schedule", ""), fixed]
    published = {data: (TABLE1[data, "int8", "full-zo"], FIXED_P_ZERO[data]) for data in asked.data}
    paper = {
        (data, case.title, "full-zo"): value
        for data in asked.data
        for case, value in zip(cases, published[data], strict=True)
    }
    return _table(
        asked,
        "elasticzo-p-zero",
        "Full ZO with a fixed sparsity (ElasticZO, section 5.2)",
        ROWS[:1],
        cases,
        paper=paper,
    )


def _table(
    asked: Asked,
    name: str,
    title: str,
    rows: Sequence[str],
    cases: Sequence[Case],
    part: str = "-50k",
    differences: Sequence[str] = (),
    paper: Mapping[Cell, float] | None = None,
) -> Table:
    cells: dict[Cell, tuple[ExponentRun, ...]] = {}
    for data, case, row in product(asked.data, cases, rows):
        cells[data, case.title, row] = tuple(_runs(asked, data, data + part, case, row))
    runs = dict.fromkeys(run for its in cells.values() for run in its)
    said = (*differences, *fewer_epochs(asked.epochs, PAPER_EPOCHS, "training"), *other_batch(asked), *COMMON)
    return Table(name, title, (slowest_first(runs),), cells, tuple(rows), paper or {}, said, titles=TITLES)


def _runs(asked: Asked, plain: str, data: str, case: Case, row: str) -> Iterator[ExponentRun]:
    scale = case.scale or r_max(plain, case.column, row)
    for seed in range(1, asked.seeds + 1):
        yield ExponentRun(
            data, case.column, row, seed, asked.epochs, PAPER_EPOCHS, asked.batch, scale, given=case.given, tag=case.tag
        )
