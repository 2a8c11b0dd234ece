"""Published accuracies of ElasticZO in percent (Sugiura and Matsutani, tables 1 and 2; INT8 columns)."""

from __future__ import annotations

from collections.abc import Mapping

from hil.experiments.table import Cell

ROWS = ("full-zo", "cls2", "cls1", "full-bp")
UNTUNED = "none"  # table 2, "w/o Fine-tuning"
TITLES = {
    UNTUNED: "without fine-tuning",
    "full-zo": "Full ZO",
    "cls2": "ZO-Feat-Cls2",
    "cls1": "ZO-Feat-Cls1",
    "full-bp": "Full BP",
    "int8": "INT8",
    "int8star": "INT8*",
}


def _column(data: str, column: str, rows: tuple[str, ...], values: tuple[float, ...]) -> dict[Cell, float]:
    return {(data, column, row): value for row, value in zip(rows, values, strict=False)}


# Table 1 gives no Full BP for INT8*: nothing is compared there, so both columns are the same.
TABLE1: Mapping[Cell, float] = {
    **_column("mnist", "int8", ROWS, (89.78, 94.34, 97.34, 98.77)),
    **_column("mnist", "int8star", ROWS, (88.92, 93.92, 95.83)),
    **_column("fashion-mnist", "int8", ROWS, (73.98, 80.33, 84.66, 90.40)),
    **_column("fashion-mnist", "int8star", ROWS, (71.02, 77.93, 81.60)),
}
# Full ZO, INT8, p_zero 0.33 throughout (section 5.2)
FIXED_P_ZERO: Mapping[str, float] = {"mnist": 80.26, "fashion-mnist": 67.72}
TABLE2: Mapping[Cell, float] = {
    **_column("rotated-mnist-30", "int8", (UNTUNED, *ROWS), (84.08, 85.94, 93.07, 93.46, 96.68)),
    **_column("rotated-mnist-45", "int8", (UNTUNED, *ROWS), (60.25, 64.36, 87.99, 91.80, 95.21)),
    **_column("rotated-fashion-mnist-30", "int8", (UNTUNED, *ROWS), (28.13, 37.21, 69.43, 76.07, 80.08)),
    **_column("rotated-fashion-mnist-45", "int8", (UNTUNED, *ROWS), (13.77, 22.95, 68.95, 75.68, 80.86)),
}
