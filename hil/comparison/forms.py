"""Names, dtypes and shapes of the tensors of both sides: they are checked before values, and say which side is wrong.

At the first step a difference of form is an error of the request: nobody can tell which side is right. Later, the side
that departs from its own form is the wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.comparison.measure import Errors
from hil.comparison.result import ComparedTensor, Difference, FormDifference
from hil.comparison.tensors import form
from hil.comparison.tolerance import Exact, Tolerance, Tolerances
from hil.errors import RigError, close_matches


@dataclass
class KnownTensor:
    """A tensor that was compared: its form at its first step, its tolerance, and counts over its steps.

    Attributes:
        dtype: in which it is compared.
        shape: of the tensor.
        tolerance: of the tensor.
        steps: steps at which it was compared.
        elements: elements compared.
        differing: of these, elements with other bits.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    tolerance: Tolerance
    steps: int = 0
    elements: int = 0
    differing: int = 0

    @property
    def form(self) -> str:
        """Dtype and shape: `float32 (16, 8)`."""
        return f"{self.dtype} {self.shape}"

    def has(self, array: np.ndarray) -> bool:
        """Return whether an array has this form."""
        return array.dtype == self.dtype and array.shape == self.shape

    def count(self, errors: Errors) -> None:
        """Add the errors of a step."""
        self.steps += 1
        self.elements += errors.elements
        self.differing += errors.differing


class Forms:
    """The tensors of a comparison, by name.

    Args:
        limits: the tolerances.
    """

    def __init__(self, limits: Tolerances) -> None:
        self._limits = limits
        self.tensors: dict[str, KnownTensor] = {}
        self._offered: set[str] = set()  # tensors of the reference, at any step

    def check_names(self, place: str, step: int, ours: set[str], theirs: set[str], partial: bool) -> None:
        """Check that both sides of a step have the same names; `place` begins the sentences.

        Raises:
            Difference: the device lacks a tensor that it had at all steps before.
            RigError: the reference lacks a tensor; or the device does, and `partial` is not given.
        """
        at = f"{place}step {step}"
        self._offered |= theirs
        for tensor in sorted(ours - theirs):
            raise RigError(f"{at}: the reference has no tensor {tensor}: {close_matches(tensor, theirs)}")
        for tensor in [] if partial else sorted(theirs - ours):
            known = self.tensors.get(tensor)
            if known is not None and known.steps == step:
                said = f"{at}: tensor {tensor} is missing on the device, which had it at every step before."
                raise Difference(FormDifference(step, tensor, "missing", known.form, said))
            raise RigError(
                f"{at}: the test gave no tensor {tensor}, which the reference has: give it, leave it out of the "
                "reference, or give partial=True to compare only some tensors at this step."
            )

    def known(
        self, place: str, step: int, tensor: str, device: np.ndarray, reference: np.ndarray, numbers: bool
    ) -> KnownTensor:
        """Return a tensor by name, after a check of dtype and shape of both sides.

        With `numbers`, both sides are Python numbers, which may be whole at one step and not at the next.

        Raises:
            Difference: the device has another form than at its first step, the reference has not.
            RigError: the reference has another form; both differ at their first step; there is no tolerance for this
                tensor, or one that nearly everything passes.
        """
        known = self.tensors.get(tensor)
        if known is not None and known.has(device) and known.has(reference):
            return known  # nearly always; words are for errors
        here, ours, theirs = f"{place}step {step}, tensor {tensor}", form(device), form(reference)
        if known is None:
            if ours != theirs:
                raise RigError(
                    f"{here}: the test gives {ours}, the reference {theirs}: give both the dtype and the shape "
                    "in which the device computes (nothing is converted or broadcast)."
                )
            tolerance = Exact() if device.dtype.kind == "b" else self._limits.of(tensor)
            if why := tolerance.why_not_for(device.dtype):
                raise RigError(f"{here}: {why}: give a smaller tolerance.")
            known = self.tensors[tensor] = KnownTensor(device.dtype, device.shape, tolerance)
        if numbers and device.dtype == reference.dtype:
            known.dtype = np.promote_types(known.dtype, device.dtype)
            ours, theirs = f"{known.dtype} {device.shape}", f"{known.dtype} {reference.shape}"
        if theirs != known.form:
            raise RigError(
                f"{here}: the reference gives {theirs}, but gave {known.form} before: correct the reference."
            )
        if ours != known.form:
            said = f"{here}: the device gives {ours}, but gave {known.form} before."
            raise Difference(FormDifference(step, tensor, ours, theirs, said))
        return known

    def never_compared(self) -> list[str]:
        """Return the tensors that the reference has, and that were compared at no step."""
        return sorted(self._offered - self.tensors.keys())

    def unused(self) -> str | None:
        """Return the first key of `by_tensor` that is the tolerance of no tensor; None if there is none."""
        used = {self._limits.pattern_of(tensor) for tensor in self.tensors}
        return next((pattern for pattern in self._limits.by_tensor if pattern not in used), None)

    def compared(self) -> tuple[ComparedTensor, ...]:
        """Return every tensor for the summary."""
        return tuple(
            ComparedTensor(
                tensor, str(known.dtype), known.shape, known.steps, known.elements, known.differing,
                known.tolerance.words, known.tolerance.fields(),
            )
            for tensor, known in self.tensors.items()
        )  # fmt: skip
