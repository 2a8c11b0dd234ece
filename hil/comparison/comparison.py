"""Compare the device with a reference, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hil.bool_bytes import wrong_bool
from hil.comparison.drift import Drift
from hil.comparison.forms import Forms, KnownTensor
from hil.comparison.measure import measure
from hil.comparison.recordings import Recorded
from hil.comparison.result import Difference, FormDifference, Summary, ValueDifference, agreement, value_difference
from hil.comparison.tensors import OF_DEVICE, Reference, StepTensor, in_one_dtype, tensors_of, true_values
from hil.comparison.tolerance import Tolerance, Tolerances, tolerances
from hil.errors import DeviceFault, RigError, close_matches, message_of, shown, verdict_word


def compare(  # noqa: PLR0913 - public: each tolerance is an argument by name
    reference: Reference,
    *,
    exact: bool = False,
    ulp: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    mean_abs: float | None = None,
    max_abs: float | None = None,
    by_tensor: Mapping[str, Tolerance] | None = None,
    name: str = "",
    keep_going: bool = False,
    seen: Callable[[int, Mapping[str, np.ndarray]], None] | None = None,
) -> Comparison:
    """Begin a comparison of the device with a reference.

    One kind of tolerance holds for all tensors that `by_tensor` does not name. Tensors of bool are always compared
    exactly.

    Args:
        reference: an object with `step(index) -> {name: array}`, or what `recorded` or `golden` returns.
        exact: every bit is the same; -0.0 is not 0.0.
        ulp: at most so many units in the last place (float16, float32, float64); -0.0 is 0.0. For integers, at most so
            many units of 1.
        rtol: |device - reference| <= atol + rtol * |reference|, for each element, in float64. Unlike NumPy's, each is 0
            unless it is given.
        atol: as above.
        mean_abs: largest mean of |device - reference| over a tensor.
        max_abs: largest |device - reference| of a tensor.
        by_tensor: tolerances by name or pattern (`*`, `?`, `[...]`): `{"fc1": ulp(2), "loss*": rtol(1e-3)}`. A name
            goes before patterns, an earlier pattern before a later one.
        name: of the comparison, for messages, if a test has several.
        keep_going: record differences and continue, for the whole drift; `check` raises the first one.
        seen: called with the tensors of the device at each step, before their values are compared.

    Raises:
        RigError: there is no tolerance, or more than one kind, or one has a wrong value; the reference has no `step`;
            or the name is no text.
    """
    if not isinstance(name, str):
        raise RigError(f"a comparison has the name {shown(name)}: give text, such as name='left'.")
    if not isinstance(reference, Reference) or not callable(reference.step) or isinstance(reference, type):
        raise RigError(
            f"the reference {shown(reference)} has no method step: give an object with step(index) -> {{name: array}}, "
            "or recorded(PATH)."
        )
    given = {"exact": exact, "ulp": ulp, "rtol": rtol, "atol": atol, "max_abs": max_abs, "mean_abs": mean_abs}
    return Comparison(reference, tolerances(given, by_tensor), name, keep_going, seen)


class Comparison:
    """A comparison, made by `compare`.

    Its first error ends it and decides its verdict, also if the test catches the error.

    Attributes:
        name: of the comparison; empty if it has none.
        steps: steps compared so far.
        drift: errors of every tensor at every step.
        first_difference: None until there is one.
    """

    def __init__(
        self, reference: Reference, limits: Tolerances, name: str, keep_going: bool,
        seen: Callable[[int, Mapping[str, np.ndarray]], None] | None,
    ) -> None:  # fmt: skip
        self.name = name
        self.steps = 0
        self.drift = Drift()
        self.first_difference: ValueDifference | FormDifference | None = None
        self._reference = reference
        self._limits = limits
        self._keep_going = keep_going
        self._seen = seen
        self._forms = Forms(limits)
        self._ended: RigError | None = None
        self._too_late: Callable[[], RigError] | None = None
        self._place = f"comparison {name}: " if name else ""

    @property
    def error(self) -> RigError | None:
        """The error that decides the verdict, also of a comparison that goes on; None as long as it agrees."""
        return Difference(self.first_difference) if self.first_difference is not None else self._ended

    def step(self, index: int, tensors: Mapping[str, Any], *, partial: bool = False) -> None:
        """Compare the tensors of the device after step `index` with those of the reference.

        Args:
            index: 0, 1, 2, ...: every step once, in order.
            tensors: by name: NumPy arrays, Python numbers, or what has `__array__`. A Python number takes the dtype of
                the other side; arrays are never converted.
            partial: compare these tensors only, where the reference has more; each must be compared at some step.
                Without it, both sides have the same names.

        Raises:
            Difference: the device is outside the tolerance; or a tensor of the device changed its dtype or shape, or is
                missing, after earlier steps. With `keep_going`, values are recorded only.
            RigError: the request is wrong: other names, dtypes or shapes on the two sides; a reference that raises, or
                has NaN; a step that comes twice or is left out; nothing to compare.
            Blocked, DeviceFault: raised by the reference, which may be another device.
        """
        self._check_in_time()
        if self._ended is not None:
            raise RigError(
                f"{self._place}step {shown(index)} came after the comparison had ended ({message_of(self._ended)})."
            )
        try:
            self._compare(self._checked(index), tensors, partial)
        except RigError as error:
            if self._too_late is None:
                self._ended = error
                if isinstance(error, Difference):
                    self.first_difference = self.first_difference or error.first
            raise

    def end(self, too_late: Callable[[], RigError]) -> None:
        """End the comparison with its test: a step that comes from now on raises this error, and changes nothing."""
        self._too_late = too_late

    def _check_in_time(self) -> None:
        if self._too_late is not None:
            raise self._too_late()

    def check(self) -> Summary:
        """Return the summary of a comparison that passes. Call it after the last step.

        Raises:
            Difference: the first difference.
            DeviceFault: a recorded reference has more steps than were compared.
            RigError: nothing was compared, or a tensor of the reference at no step; a key of `by_tensor` fits no
                tensor; or the error that ended it.
        """
        if (error := self.why_not()) is not None:
            raise error
        return self.summary()

    def summary(self) -> Summary:
        """Return what was compared so far; the verdict is that of a comparison that ends here. Never raises."""
        error, tensors = self.why_not(), self._forms.compared()
        recorded = self._reference if isinstance(self._reference, Recorded) else None
        kind = type(self._reference)
        return Summary(
            name=self.name,
            reference=recorded.description if recorded else f"{kind.__module__}.{kind.__qualname__}",
            reference_kind=recorded.kind if recorded else "computed",
            tolerance=self._limits.words,
            steps=self.steps,
            tensors=tensors,
            elements=sum(one.elements for one in tensors),
            differing=sum(one.differing for one in tensors),
            first_difference=self.first_difference,
            verdict="pass" if error is None else verdict_word(error),
            sentence=str(error) if error else self._place + agreement(self.steps, tensors, self._limits, self.drift),
        )

    def _checked(self, index: object) -> int:
        """Return the index of the next step. Raises RigError if this is not the next step."""
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise RigError(f"{self._place}the step {shown(index)} is no whole number: count steps from 0.")
        if index == self.steps:
            return int(index)
        if self.steps == 0:
            raise RigError(
                f"{self._place}the first step is {index}, but steps count from 0: subtract the number of the first one."
            )
        again = "again " if 0 <= index < self.steps else ""
        raise RigError(
            f"{self._place}step {index} came {again}after step {self.steps - 1}: compare every step once, in order."
        )

    def _compare(self, index: int, tensors: Mapping[str, Any], partial: bool) -> None:
        at = f"{self._place}step {index}: "
        given = _named(tensors, at, "the test, for the device,")
        # Copies: the reference may write into the arrays of the test, and what came from the device is compared.
        ours = {tensor: StepTensor(one.array.copy(), one.typed) for tensor, one in given.items()}
        asked = self._asked(index)
        if asked is tensors:
            raise RigError(
                f"{at}the reference gave the dictionary of the test itself, so that nothing is compared: let it give "
                "one of its own."
            )
        theirs = _named(asked, at, "the reference")
        self._forms.check_names(self._place, index, set(ours), set(theirs), partial)
        # All forms, and the reference, before any value: a wrong reference is never the fault of the device.
        pairs = {
            tensor: self._checked_pair(index, tensor, one, given[tensor], theirs[tensor])
            for tensor, one in ours.items()
        }
        self._check_in_time()  # the reference may take its time
        self.steps += 1
        if self._seen is not None:
            self._seen(index, {tensor: device for tensor, (device, _, _) in pairs.items()})
        first = None
        for tensor, (device, reference, known) in pairs.items():
            device, reference = true_values(ours[tensor], theirs[tensor], (device, reference))
            errors = measure(device, reference, known.tolerance)
            known.count(errors)
            self.drift.add(index, tensor, errors)
            if first is None and not errors.within:
                first = value_difference(self._place, index, tensor, (device, reference), known.tolerance, errors)
        self.first_difference = self.first_difference or first
        if first is not None and not self._keep_going:
            raise Difference(first)

    def _asked(self, index: int) -> object:
        """Return what the reference gives for a step."""
        try:
            return self._reference.step(index)
        except Difference as error:  # of a comparison of its own
            raise DeviceFault(str(error)) from error
        except OF_DEVICE:
            raise  # the reference may be another device, which failed, or its bench did
        except BaseException as error:
            if not _says_failure(error):
                raise
            if isinstance(error, StopIteration) and isinstance(error.value, RigError):
                raise error.value from error  # of next(dut.lines(...)): how the program ended
            kind = "" if isinstance(error, RigError) else f"{type(error).__name__}: "
            raise RigError(
                f"{self._place}step {index}: the reference failed ({kind}{message_of(error)}): correct the reference."
            ) from error

    def _checked_pair(
        self, index: int, tensor: str, ours: StepTensor, given: StepTensor, theirs: StepTensor
    ) -> tuple[np.ndarray, np.ndarray, KnownTensor]:
        """Return both sides of a tensor, which can be compared; `ours` copies what was `given`. Raises as `step`."""
        device, reference = in_one_dtype(ours, theirs)
        known = self._forms.known(
            self._place, index, tensor, device, reference, numbers=not (ours.typed or theirs.typed)
        )
        here = f"{self._place}step {index}, tensor {tensor}"
        if reference.dtype.kind == "f" and (missing := int(np.isnan(reference).sum())):
            raise RigError(
                f"{here}: the reference has NaN in {missing:,} of {reference.size:,} elements, "
                "with which nothing can be compared: correct the reference."
            )
        if wrong := wrong_bool(reference):
            raise RigError(f"{here}: the reference has {wrong}: correct the reference.")
        if given.is_same(theirs):
            raise RigError(
                f"{here}: device and reference are the same object or memory, so that nothing is compared: "
                "give the reference a value of its own."
            )
        if wrong := wrong_bool(device):
            raise DeviceFault(f"{here}: the device has {wrong}.")
        return device, reference, known

    def why_not(self) -> RigError | None:
        """Return the error that `check` would raise; None if the comparison passes."""
        if self.error is not None:
            return self.error
        if self.steps == 0:
            return RigError(f"{self._place}no step was compared: call step(index, tensors) after each training step.")
        if isinstance(self._reference, Recorded) and self.steps < len(self._reference):
            return DeviceFault(
                f"{self._place}only {self.steps} of {len(self._reference)} recorded steps came from the device."
            )
        if never := self._forms.never_compared():
            return RigError(
                f"{self._place}never compared: {', '.join(never)}: compare each tensor of the reference at one step at "
                "least, or leave it out of the reference."
            )
        if (pattern := self._forms.unused()) is not None:
            return RigError(
                f"{self._place}by_tensor has {pattern}, which is the tolerance of no tensor: "
                f"{close_matches(pattern, self._forms.tensors)}"
            )
        return None


def _says_failure(error: BaseException) -> bool:
    """Return whether an error of a reference says that it failed: not that the test is left out or interrupted.

    `pytest.fail` raises no `Exception`, and is known by its name: the comparison works without pytest.
    """
    return isinstance(error, (Exception, SystemExit)) or type(error).__name__ == "Failed"


def _named(values: object, at: str, whose: str) -> dict[str, StepTensor]:
    """Return the tensors of one side; `at` begins the sentences."""
    try:
        return tensors_of(values, whose)
    except OF_DEVICE:  # of values that are read when they are asked for
        raise
    except RigError as error:
        raise RigError(f"{at}{error}") from error
    except BaseException as error:  # the mapping may be a user's own, which raises anything
        if not _says_failure(error):
            raise
        raise RigError(f"{at}{whose} gave a dictionary that cannot be read ({message_of(error)}).") from error
