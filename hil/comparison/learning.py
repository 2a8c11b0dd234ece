"""Whether a device learns: its loss falls, its final metric is good enough, its seeds agree with a reference's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hil.errors import DeviceFault, RigError, shown

FALLS_BY = 0.1  # fraction by which the loss falls, unless the test says another
WINDOW = 5  # the first and the last fifth of the losses are compared
NOISE = 3.0  # standard errors of the difference of two means: noise alone exceeds it once in 700 times
CHANCE = 1 / 700  # of the other rule, too
RISES_BY = 0.1  # of what the loss has fallen: the last losses rise so far again that a warning says so
NEAR_ITS_END = 0.9  # fraction by which the loss of a device falls that is at its end after its first steps


class NotLearning(DeviceFault):
    """The device does not learn as expected: the verdict is `fail`."""


@dataclass(frozen=True)
class Learning:
    """What `expect_learning` judged.

    Attributes:
        losses: number of losses; 0 if none were given.
        first_loss: mean of the first fifth of the losses; None without losses.
        last_loss: mean of the last fifth.
        accuracy: final accuracy, a fraction; None if none was given.
        judged: one sentence for each rule that held, at least one.
        warnings: sentences about losses that pass, and do not look as if the training had ended well.
    """

    losses: int
    first_loss: float | None
    last_loss: float | None
    accuracy: float | None
    judged: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the record, all but the warnings, as a dictionary that `json.dumps` takes."""
        found = asdict(self)
        del found["warnings"]
        return found


def expect_learning(  # noqa: PLR0913 - public: what is judged is named one by one
    losses: Iterable[float] | Iterable[tuple[int, float]] | None = None,
    *,
    falls_by: float | None = None,
    at_most: float | None = None,
    accuracy: float | None = None,
    at_least: float | None = None,
    against: float | Sequence[float] | None = None,
    seeds: Sequence[float] | None = None,
    sigmas: float | None = None,
) -> Learning:
    """Check that the device learns. That a value changed is never enough.

    Losses are judged by the means of their first and their last fifth: the second mean is
    lower by `falls_by`, and by 3 standard errors of the difference, so that noise does not pass; fewer than 10 losses
    have no standard error, and never pass. Or the device is at
    its end within its first fifth: its first losses, two or more, are all above every later one, which chance does less
    than once in 700 times, and the mean of the last fifth is lower than theirs by nine tenths, and by `falls_by`.

    A loss that has fallen, and rises again at its end, is a warning (`Learning.warnings`): its last values, two or
    more, are all above every other one of the second half, which chance does less than once in 700 times, and their
    mean is above that of the others by a tenth of what the loss had fallen.

    Args:
        losses: in order: numbers, or pairs of step and loss, whose steps ascend.
        falls_by: fraction of the first mean by which the last one is lower; 0.1 unless given.
        at_most: largest last mean of the losses.
        accuracy: final accuracy on data that was not trained, a fraction from 0 to 1. It needs `at_least`, `against` or
            both.
        at_least: least accuracy, above 0.
        against: accuracy before training, which `accuracy` must exceed. With `seeds`: the reference's final metric for
            each of its seeds, at least 3.
        seeds: final metric of the device for each of its seeds, at least 2. Each is within `sigmas` standard deviations
            (of `against`, n - 1) of the mean of `against`.
        sigmas: as above; 3 unless given.

    Raises:
        NotLearning: a loss is NaN or infinite, all are the same, they do not fall, or steps come again; the accuracy is
            NaN, too low, or no better than before; a seed is too far away.
        RigError: nothing is to be judged, too few losses fall, or an argument is wrong.
    """
    judged: list[str] = []
    warnings: tuple[str, ...] = ()
    count, first, last = 0, None, None
    if losses is not None:
        values = _values(losses)
        count = len(values)
        first, last = _judge_losses(values, FALLS_BY if falls_by is None else falls_by, at_most, judged)
        warnings = _risen_again(values)
    elif falls_by is not None or at_most is not None:
        raise RigError("falls_by and at_most judge losses: give the losses of the device.")
    if accuracy is not None:
        accuracy = _judge_accuracy(accuracy, at_least, None if seeds is not None else against, judged)
    elif at_least is not None or (against is not None and seeds is None):
        raise RigError("at_least and against judge an accuracy: give accuracy= (or seeds=) of the device.")
    if seeds is not None:
        _judge_seeds(seeds, against, sigmas, judged)
    elif sigmas is not None:
        raise RigError("sigmas judges seeds: give seeds=, the final metric of the device for each seed.")
    if not judged:
        raise RigError("nothing is judged: give losses, an accuracy with at_least or against, or seeds with against.")
    return Learning(count, first, last, accuracy, tuple(judged), warnings)


def _values(losses: Iterable[Any]) -> np.ndarray:
    """Return the losses as float64. Raises RigError if they are no numbers or fewer than 2."""
    if isinstance(losses, str | bytes | Mapping):
        raise RigError(f"losses are {shown(losses)}: give a list of numbers, or of pairs of step and loss.")
    given = list(losses)
    try:
        array = np.array([np.asarray(one, np.float64) for one in given])
    except (OverflowError, TypeError, ValueError) as error:
        raise RigError("losses are no numbers: give a list of numbers, or of pairs of step and loss.") from error
    if len(given) < 2:
        raise RigError(f"{len(given)} losses cannot show that the device learns: give at least 2.")
    if array.ndim == 1:
        return array
    if array.ndim != 2 or array.shape[1] != 2:
        raise RigError(f"losses have the shape {array.shape}: give a list of numbers, or of pairs of step and loss.")
    steps = array[:, 0]
    if (back := np.flatnonzero(~(np.diff(steps) > 0))).size:
        before, after = steps[back[0]], steps[back[0] + 1]
        raise NotLearning(
            f"the loss of step {after:g} came after that of step {before:g}: the device started again, or lines are "
            "mixed up."
        )
    return array[:, 1]


def _judge_losses(values: np.ndarray, falls_by: float, at_most: float | None, judged: list[str]) -> tuple[float, float]:
    fraction = _number("falls_by", falls_by)
    if not 0 < fraction <= 1:
        raise RigError(f"falls_by={fraction:g}: give a fraction above 0, at most 1; 0.1 is a tenth of the first loss.")
    if (bad := np.flatnonzero(~np.isfinite(values))).size:
        raise NotLearning(f"loss {bad[0]} of {len(values)} is {values[bad[0]]}: the training diverged.")
    if (values == values[0]).all():
        raise NotLearning(f"all {len(values)} losses are {values[0]:g}: the device does not train.")
    window = max(1, len(values) // WINDOW)
    first, last = float(values[:window].mean()), float(values[-window:].mean())
    if first <= 0:
        raise RigError(f"the first loss is {first:g}: falls_by is a fraction of it, and needs a loss above 0.")
    said = f"loss from {first:.6g} to {last:.6g} (means of {window} of {len(values)} losses)"
    judged.append(_how_they_fall(values, window, (first, last), fraction, said))
    if at_most is not None:
        if last > _number("at_most", at_most):
            raise NotLearning(f"{said}: the last is above at_most={at_most:g}.")
        judged.append(f"last loss {last:.6g}, at most {at_most:g}.")
    return first, last


def _how_they_fall(values: np.ndarray, window: int, means: tuple[float, float], fraction: float, said: str) -> str:
    """Return the sentence of losses that fall; raise if they do not, or if nobody can tell.

    `window` is how many losses the first and the last of the `means` have; `said` begins the sentences.
    """
    begin, end = values[:window], values[-window:]
    first, last = means
    noise = math.sqrt((begin.var(ddof=1) + end.var(ddof=1)) / window) if window > 1 else 0.0
    if last <= first * (1 - fraction) and first - last > NOISE * noise:
        if window < 2:
            raise RigError(
                f"{said}: {len(values)} losses cannot show that the device learns, as the scatter of one loss is not "
                f"known: give at least {2 * WINDOW}."
            )
        return f"{said}: it falls by {(first - last) / first:.3g}, {fraction:.3g} is needed."
    if early := _at_its_end(values, window, last, max(fraction, NEAR_ITS_END)):
        return early
    if last > first * (1 - fraction):
        raise NotLearning(
            f"{said}: it does not fall by {fraction:.3g} of the first, but by {(first - last) / first:.3g}."
        )
    raise NotLearning(
        f"{said}: the fall is below {NOISE:g} standard errors ({NOISE * noise:.3g}), so that it may be noise; "
        "train for more steps, or give losses of larger batches."
    )


def _at_its_end(values: np.ndarray, window: int, last: float, fraction: float) -> str:
    """Return the sentence of a device whose loss is near its end within its first steps; empty of another one.

    If losses only scatter, all orders of them are equally likely, whatever their distribution. That the first m of n
    are the m largest has then the probability 1 / C(n, m); over m from `fewest` on, at most the sum of these.
    """
    count = len(values)
    for head in range(_fewest(count, window), window + 1):
        first = float(values[:head].mean())
        if values[:head].min() > values[head:].max() and last <= first * (1 - fraction):
            return (
                f"loss from {first:.6g} (mean of the first {head} of {count} losses, all above every later one) to "
                f"{last:.6g} (mean of the last {window}): it falls by {(first - last) / first:.3g}, {fraction:.3g} is "
                "needed so early."
            )
    return ""


def _fewest(count: int, most: int) -> int:
    """Return from how many on, of `fewest` to `most`, the first of `count` are the largest in 1 of 700 cases by chance.

    It is `most` + 1 if chance does it more often for all of them.
    """
    chances = [1 / math.comb(count, head) for head in range(1, most + 1)]
    return next((head for head in range(2, most + 1) if sum(chances[head - 1 :]) <= CHANCE), most + 1)


def _risen_again(values: np.ndarray) -> tuple[str, ...]:
    """Return a warning of losses whose last ones lie above all others of the second half, by more than noise does.

    As of `_at_its_end`, losses that only scatter have this order once in 700 times, whatever their distribution, and
    losses that fall less often. How far they rise is held against how far the loss has fallen.
    """
    half = values[len(values) // 2 :]
    for tail in range(most := len(half) // 2, _fewest(len(half), most) - 1, -1):
        before, end = half[:-tail], half[-tail:]
        fallen = float(values[: max(1, len(values) // WINDOW)].mean() - before.mean())
        rise = float(end.mean() - before.mean())
        if end.min() > before.max() and rise > RISES_BY * fallen > 0:
            return (
                f"the last {tail} of {len(values)} losses ({end.mean():.3g} in the mean) are all above the "
                f"{len(before)} before ({before.mean():.3g}), by {rise / fallen:.2g} of what the loss had fallen: the "
                "training may have diverged at its end; give `at_most` what the last loss may be.",
            )
    return ()


def _judge_accuracy(accuracy: Any, at_least: Any, before: Any, judged: list[str]) -> float:
    if isinstance(before, Sequence | np.ndarray):
        raise RigError("against is a list, which is for seeds: give one accuracy, that before training.")
    if at_least is None and before is None:
        raise RigError("accuracy alone judges nothing: give at_least= or against= (the accuracy before training).")
    limits = {name: _fraction(name, value) for name, value in (("at_least", at_least), ("against", before))
              if value is not None}  # fmt: skip
    if limits.get("at_least") == 0:
        raise RigError("at_least=0 lets every accuracy pass: give a fraction above 0, or against= alone.")
    try:
        value = float(accuracy)
    except (OverflowError, TypeError, ValueError) as error:
        raise RigError(f"accuracy={shown(accuracy)}: give a fraction from 0 to 1.") from error
    if math.isnan(value):
        raise NotLearning("the accuracy of the device is nan.")
    value = _fraction("accuracy", value)
    if "at_least" in limits:
        if value < limits["at_least"]:
            raise NotLearning(f"the accuracy is {value:.4g}, below at_least={limits['at_least']:.4g}.")
        judged.append(f"accuracy {value:.4g}, at least {limits['at_least']:.4g}.")
    if "against" in limits:
        if value <= limits["against"]:
            raise NotLearning(f"the accuracy is {value:.4g}, no better than {limits['against']:.4g} before training.")
        judged.append(f"accuracy {value:.4g}, {limits['against']:.4g} before training.")
    return value


def _judge_seeds(seeds: Any, against: Any, sigmas: Any, judged: list[str]) -> None:
    most = 3.0 if sigmas is None else _number("sigmas", sigmas)
    if not most > 0:
        raise RigError(f"sigmas={most:g}: give a number above 0.")
    ours, theirs = _metrics("seeds", seeds, 2), _metrics("against", against, 3)
    if not np.isfinite(theirs).all():
        raise RigError("against has NaN or an infinity: give the reference's final metric for each of its seeds.")
    mean, sigma = float(theirs.mean()), float(theirs.std(ddof=1))
    if sigma <= 1e-12 * abs(mean):  # rounding of the mean
        raise RigError(f"all {len(theirs)} seeds of the reference have {mean:g}, so that sigma is 0: give other seeds.")
    far = np.flatnonzero(~(np.abs(ours - mean) <= most * sigma))
    said = f"{mean:.6g} with a standard deviation of {sigma:.3g} over {len(theirs)} seeds"
    if far.size:
        raise NotLearning(
            f"{far.size} of {len(ours)} seeds are not within {most:g} standard deviations of the reference ({said}): "
            f"the first is seed number {far[0]} with {ours[far[0]]:.6g}."
        )
    judged.append(f"{len(ours)} seeds within {most:g} standard deviations of the reference ({said}).")


def _metrics(name: str, values: Any, least: int) -> np.ndarray:
    """Return one number a seed as float64. Raises RigError if they are no numbers or too few."""
    try:
        array = np.asarray(values, np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise RigError(f"{name}={shown(values)}: give a list of numbers, one for each seed.") from error
    if array.ndim != 1 or array.size < least:
        raise RigError(f"{name}={shown(values)}: give a list of at least {least} numbers, one for each seed.")
    return array


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise RigError(f"{name}={shown(value)}: give a number.") from error
    if not math.isfinite(number):
        raise RigError(f"{name}={shown(value)}: give a finite number.")
    return number


def _fraction(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0 <= number <= 1:
        raise RigError(f"{name}={number:g}: give a fraction from 0 to 1 (percent divided by 100).")
    return number
