"""Two tests of devices beside each other: their fields, their figures, and the tensors of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.comparison import compare, recorded
from hil.comparison.recordings import Recorded
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
    for compared in record.comparisons:
        place = f"{compared['name']}." if compared["name"] else ""
        found |= {f"tolerance of {place}{each['tensor']}": each["tolerance"] for each in compared["tensors"]}
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


@dataclass(frozen=True)
class _Compared:
    """One tensor at the steps at which both tests have it."""

    row: TensorRow | None
    first: tuple[int, str] | None = None  # step of its first difference, and that in words
    problem: str = ""  # why it cannot be compared


def tensors_of(first: Path | None, second: Path | None) -> Tensors | None:
    """Compare the tensors that two tests have kept, bit by bit; None if one of them has kept none.

    A tensor that only one of them has is named, and so is one that cannot be compared.

    Raises:
        RigError: a file is damaged.
    """
    if first is None or second is None or not all((each / TENSORS).is_file() for each in (first, second)):
        return None
    sides = [[side.step(step) for step in range(len(side))] for side in (recorded(first), recorded(second))]
    one, other = (list(dict.fromkeys(name for step in side for name in step)) for side in sides)
    found = [_compared(name, *sides) for name in one if name in other]
    rows, steps = [each.row for each in found if each.row is not None], min(map(len, sides))
    differences = [each.first for each in found if each.first is not None]
    said = []
    if differences:
        said.append(min(differences, key=lambda each: each[0])[1])
    elif rows:
        said.append(f"all {steps:,} steps are bit for bit equal.")
    said += [each.problem for each in found if each.problem]
    for which, names, others in (("first", one, other), ("second", other, one)):
        if alone := [name for name in names if name not in others]:
            said.append(f"Only the {which} has {', '.join(alone)}.")
    if rows and len(sides[0]) != len(sides[1]):
        counts = f"The first has {len(sides[0]):,} steps, the second {len(sides[1]):,}"
        said.append(f"{counts}: the first {steps:,} are compared.")
    return Tensors(rows, " ".join(said))


def _compared(name: str, one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> _Compared:
    """Compare one tensor of two tests at the steps at which both have it."""
    steps = [step for step, sides in enumerate(zip(one, other, strict=False)) if all(name in side for side in sides)]
    if not steps:
        return _Compared(None, problem=f"no step of both has {name}.")
    found = compare(
        Recorded([{name: other[step][name]} for step in steps], "run", "second"), exact=True, keep_going=True
    )
    try:
        for place, step in enumerate(steps):
            found.step(place, {name: one[step][name]})
    except RigError as error:
        return _Compared(None, problem=f"{name} cannot be compared: {error}")
    row, at = _row(found.drift.of(name), name), found.first_difference
    if at is None:
        return _Compared(row)
    at_index = ", ".join(map(str, at.index)) if isinstance(at, ValueDifference) else ""
    index = f", index {at_index}" if at_index else ""
    return _Compared(row, (steps[at.step], (
        f"the first difference is at step {steps[at.step]}, tensor {name}{index}: the first has {at.device}, the "
        f"second {at.reference}."
    )))  # fmt: skip


def _row(columns: Mapping[str, Any], name: str) -> TensorRow:
    finite = not columns["nonfinite"].any()
    return TensorRow(
        name, len(columns["step"]), int(columns["elements"].sum()), int(columns["differing"].sum()),
        int(columns["max_ulp"].max()) if finite else None,
        float(columns["max_relative"].max()) if finite else None,
        float(columns["max_abs"].max()) if finite else None,
    )  # fmt: skip
