"""Drift: the errors of every tensor over the steps, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.comparison.measure import Errors


class Drift:
    """The errors of every tensor at every step, in the order in which they were compared.

    A float engine that slowly leaves its reference shows here before it is outside its tolerance.
    """

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._tensors: list[str] = []
        self._errors: list[Errors] = []

    def add(self, step: int, tensor: str, errors: Errors) -> None:
        """Add a row."""
        self._steps.append(step)
        self._tensors.append(tensor)
        self._errors.append(errors)

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of all tensors, in the order of their first row."""
        return tuple(dict.fromkeys(self._tensors))

    @property
    def worst(self) -> tuple[int, str, Errors]:
        """Step, tensor and errors of the first row with the largest absolute error."""
        row = max(range(len(self)), key=lambda row: self._errors[row].max_abs)
        return self._steps[row], self._tensors[row], self._errors[row]

    def table(self) -> dict[str, np.ndarray]:
        """Return one column a name, each with one element a step and tensor. `pyarrow.table` and pandas take it as is.

        | column | dtype | meaning |
        |---|---|---|
        | `tensor` | str | name |
        | `step` | int64 | index of the step |
        | `elements` | int64 | elements of the tensor |
        | `differing` | int64 | elements with other bits |
        | `nonfinite` | int64 | elements that are NaN or infinite on one side only |
        | `within` | bool | whether the tensor is within its tolerance |
        | `max_abs` | float64 | largest absolute error |
        | `mean_abs` | float64 | mean absolute error |
        | `max_relative` | float64 | largest relative error, over elements whose reference is not 0 |
        | `max_ulp` | uint64 | largest error in units in the last place; integers: in units of 1 |
        | `worst_index` | int64 | flat index (C order) of the largest absolute error; -1 if all values are equal |

        Where `nonfinite` is not 0, the three errors are infinite, and `max_ulp` is 2^64 - 1.
        """
        return {"tensor": np.array(self._tensors, np.str_)} | self._columns(range(len(self)))

    def of(self, tensor: str) -> dict[str, np.ndarray]:
        """Return the columns of one tensor, without its name. They are empty if it was never compared."""
        return self._columns([row for row, name in enumerate(self._tensors) if name == tensor])

    def _columns(self, chosen: Sequence[int]) -> dict[str, np.ndarray]:
        rows = [self._errors[row] for row in chosen]
        return {
            "step": np.array([self._steps[row] for row in chosen], np.int64),
            "elements": np.array([one.elements for one in rows], np.int64),
            "differing": np.array([one.differing for one in rows], np.int64),
            "nonfinite": np.array([one.nonfinite for one in rows], np.int64),
            "within": np.array([one.within for one in rows], np.bool_),
            "max_abs": np.array([one.max_abs for one in rows], np.float64),
            "mean_abs": np.array([one.mean_abs for one in rows], np.float64),
            "max_relative": np.array([one.max_relative for one in rows], np.float64),
            "max_ulp": np.array([one.max_ulp for one in rows], np.uint64),
            "worst_index": np.array([one.worst for one in rows], np.int64),
        }
