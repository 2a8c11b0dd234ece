"""Published accuracies of ElasticZO in percent (Sugiura and Matsutani, tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping

from hil.training.experiments.table import Cell

ROWS = ("full-zo", "cls2", "cls1", "full-bp")
UNTUNED = "none"  # table 2, "w/o Fine-tuning"
TITLES = {
    UNTUNED: "without fine-tuning",
    "full-zo": "Full ZO",
    "cls2": "ZO-Feat-Cls2",
    "cls1": "ZO-Feat-Cls1",
    "full-bp": "Full BP",
    "fp32": "FP32",
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
# The columns FP32; that of `furniture-clouds` has the values of ModelNet40, for which it stands in.
FP32_TABLE1: Mapping[Cell, float] = {
    **_column("mnist", "fp32", ROWS, (89.80, 94.85, 97.53, 99.10)),
    **_column("fashion-mnist", "fp32", ROWS, (77.09, 82.28, 86.60, 91.37)),
    **_column("furniture-clouds", "fp32", ROWS, (32.05, 70.38, 73.50, 71.60)),
}
FP32_TABLE2: Mapping[Cell, float] = {
    **_column("rotated-mnist-30", "fp32", (UNTUNED, *ROWS), (74.41, 85.94, 90.04, 93.16, 94.82)),
    **_column("rotated-mnist-45", "fp32", (UNTUNED, *ROWS), (46.58, 74.71, 86.23, 91.60, 93.85)),
    **_column("rotated-fashion-mnist-30", "fp32", (UNTUNED, *ROWS), (39.65, 61.33, 77.25, 75.98, 80.37)),
    **_column("rotated-fashion-mnist-45", "fp32", (UNTUNED, *ROWS), (23.34, 59.08, 74.51, 76.86, 79.49)),
}
