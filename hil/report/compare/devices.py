"""Two tests of devices beside each other: their fields, their figures, and the tensors of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.comparison import compare, recorded
from hil.comparison.result import ValueDifference
from hil.errors import RigError
from hil.quantity import Provenance, Quantity
from hil.record.device_test import DeviceTest

TENSORS = "tensors.npz"  # of the first comparison of a test
HEADS = ("tensor", "steps", "elements", "that differ", "largest ulp", "relative", "absolute")
FIELDS = (
    "board", "core", "reality", "clock_hz", "flash", "verified", "command", "exit_code", "baud", "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class TensorRow:
    """A tensor of two tests over all their steps; the largest errors are None where one is not finite."""

    tensor: str
    steps: int
    elements: int
    differing: int
    max_ulp: int | None
    max_relative: float | None
    max_abs: float | None

    @property
    def cells(self) -> list[str]:
        """The cells of a table."""
        errors = ["–" if one is None else f"{one:.3g}" for one in (self.max_relative, self.max_abs)]
        ulp = "–" if self.max_ulp is None else f"{self.max_ulp:,}"
        return [self.tensor, f"{self.steps:,}", f"{self.elements:,}", f"{self.differing:,}", ulp, *errors]


@dataclass(frozen=True)
class Tensors:
    """The tensors of two tests: a row for each, and one sentence."""

    rows: list[TensorRow]
    sentence: str


def name_of(record: DeviceTest) -> str:
    """Return the name of a test without its board, so that the same test has one name on all of them."""
    return record.test.replace(f"[{record.board}]", "").replace(f"[{record.board}-", "[")


def fields_of(record: DeviceTest) -> dict[str, Any]:
    """Return what may differ between two tests."""
    found = {name: getattr(record, name) for name in FIELDS} | {"command": " ".join(record.command) or None}
    if record.image is not None:
        found |= {"image": record.image["file"], "image_sha256": record.image["sha256"]}
        found |= {"compilers": "; ".join(record.image["compilers"]) or None}
    return found


def figures_of(record: DeviceTest) -> dict[str, Quantity]:
    """Return the figures of a test by their paths in the history, and how many steps were compared."""
    counted = Quantity(record.steps_compared, "1", Provenance.COUNTED)
    given = {
        f"figures.{each['name']}": Quantity(
            each["value"], each["unit"], Provenance(each["provenance"]), each["uncertainty"]
        )
        for each in record.figures
    }
    return {"steps_compared": counted} | given


def tensors_of(first: Path | None, second: Path | None) -> Tensors | None:
    """Compare the tensors that two tests have kept, bit by bit; None if one of them has kept none.

    Raises:
        RigError: a file is damaged.
    """
    if first is None or second is None or not all((each / TENSORS).is_file() for each in (first, second)):
        return None
    one, other = recorded(first), recorded(second)
    found = compare(other, exact=True, keep_going=True)
    steps = min(len(one), len(other))
    try:
        for step in range(steps):
            found.step(step, one.step(step))
    except RigError as error:
        return Tensors([], f"the tensors cannot be compared: {error}")
    said = f"all {steps:,} steps are bit for bit equal."
    if found.first_difference is not None:
        at = found.first_difference
        at_index = ", ".join(map(str, at.index)) if isinstance(at, ValueDifference) else ""
        index = f", index {at_index}" if at_index else ""
        said = (
            f"the first difference is at step {at.step}, tensor {at.tensor}{index}: the first has {at.device}, the "
            f"second {at.reference}."
        )
    if len(one) != len(other):
        said += f" The first has {len(one):,} steps, the second {len(other):,}: the first {steps:,} are compared."
    return Tensors([_row(found.drift.of(name), name) for name in found.drift.tensors], said)


def _row(columns: Mapping[str, Any], name: str) -> TensorRow:
    finite = not columns["nonfinite"].any()
    return TensorRow(
        name, len(columns["step"]), int(columns["elements"].sum()), int(columns["differing"].sum()),
        int(columns["max_ulp"].max()) if finite else None,
        float(columns["max_relative"].max()) if finite else None,
        float(columns["max_abs"].max()) if finite else None,
    )  # fmt: skip
