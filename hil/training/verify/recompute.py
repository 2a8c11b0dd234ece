"""Compute the compared steps of a recorded trial again, on the reference alone, and compare them with the record.

It shows that digests, losses and accuracies of the record are those of the reference. It does not show that a board
made them too: anybody who has the reference can compute them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hil import boards
from hil.errors import RigError, message_of
from hil.link.replies import most_predictions
from hil.record.checks import DAMAGE, MOST
from hil.record.checks.entries import different
from hil.record.checks.recorded import STEPS, RecordedTrial
from hil.record.clients import NotAtHand, Recomputed
from hil.record.contradiction import Contradiction, differ
from hil.step_digest import step_digest
from hil.training.data import batches
from hil.training.reference.methods import MethodReference, StepFailed, StepOutcome, reference_of
from hil.training.trial.difference import bits_of
from hil.training.trial.field_checks import check_whole
from hil.training.trial.fitting import SELECTED
from hil.training.trial.kept import RAM, KeptSamples
from hil.training.trial.sample_gradients import GradientMaps
from hil.training.trial.spec import LIMITS
from hil.training.verify.start import TrialStart, start_of

REFERENCE = "the reference"
LOSSES = ("loss_plus", "loss_minus")
COSTS = ("analytic.macs_step", "analytic.layer_runs")  # of a step: settings that change them may take for ever


def recomputed(trial: RecordedTrial, networks: Path | None = None) -> Recomputed:
    """Compute the steps of a trial again.

    Args:
        trial: as recorded.
        networks: folder of network files named by their SHA-256; None without one.

    Raises:
        RigError: a table of the trial is damaged.
    """
    count, table = trial.record.steps_compared, trial.steps
    if not count or table is None or not len(table.get("step", ())):
        return Recomputed(trial.name, 0, count, "it compared no step" if not count else f"{STEPS} is missing")
    again: _Again | None = None
    found: list[Contradiction] = []
    with threadpool_limits(1, "blas"):  # the reference's products are small: BLAS threads would wait for each other
        try:
            check_whole(trial.name, vars(trial.record), {name: LIMITS[name] for name in ("batch", "seed", "steps")})
            again = _Again(trial, table, start_of(trial, networks))
            found += islice(again.differences(), MOST)
        except NotAtHand as reason:
            return Recomputed(trial.name, 0, count, str(reason).rstrip("."))
        except RigError as error:
            why = f"the reference cannot compute it: {str(error).rstrip('.')}"
        except (*DAMAGE, AssertionError, MemoryError, OSError) as error:  # valid by its schema, and senseless
            why = f"the reference cannot compute what the record says ({type(error).__name__}: {message_of(error)})"
        else:
            return Recomputed(trial.name, again.done, count, again.why, tuple(found))
    return Recomputed(trial.name, again.done if again is not None else 0, count, why, tuple(found))


class _Again:
    """One trial, computed again."""

    def __init__(self, trial: RecordedTrial, table: dict[str, np.ndarray], start: TrialStart) -> None:
        self._trial, self._record, self._table, self._start = trial, trial.record, table, start
        self._reference: MethodReference = reference_of(start.method)
        self._place = f"{trial.name}/{STEPS}"
        self.done, self.why = 0, ""

    def differences(self) -> Iterator[Contradiction]:
        """Yield what differs, in the order of the training."""
        record, reference, start = self._record, self._reference, self._start
        before = list(self._begin())
        yield from before
        if any(one.field in COSTS for one in before):
            self.why = "its settings make other steps than those that were counted"
            return
        first = int(self._table["step"][0])
        settings = start.settings_at(first)
        reference.configure(settings, first)
        maps = GradientMaps.of(reference)
        order = islice(batches(start.data, record.batch, record.seed), first, None)
        curve = {point["step"]: point for point in record.evaluations}
        yield from self._accuracy(curve.pop(first, None), "before")
        for row in range(min(record.steps_compared, len(self._table["step"]))):
            step = first + row
            if start.settings_at(step) != settings:
                settings = start.settings_at(step)
                reference.follow(settings)
            chosen = next(order)
            images, labels = start.data.train_images[chosen], start.data.train_labels[chosen]
            if maps is not None and row in (0, record.steps - 1):
                maps.take(step, images, labels)
            try:
                outcome = reference.step(images, labels)
            except StepFailed as failed:
                yield differ(self._place, f"the step {step}", "there", REFERENCE, message_of(failed), self._trial.name)
                return
            wrong = list(self._step(row, outcome))
            yield from wrong
            if wrong:
                return  # all later ones follow from it
            self.done += 1
            if row == 0:
                yield from self._work()
            last = row == record.steps_compared - 1
            yield from self._accuracy(curve.get(step + 1), "after" if last else "")
        yield from self._end(maps)

    def _begin(self) -> Iterator[Contradiction]:
        """Compare what is computed without a step: names, formulas, readings of the counter, data card, core, plan."""
        record, method = self._record, self._start.method
        analytic: Any = dict(record.analytic) if record.analytic is not None else None
        profile: Any = record.profile
        pairs: list[tuple[str, Any, Any]] = [
            ("layers", record.layers, [tensor.name for tensor in method.plan.tensors]),
            ("analytic", analytic, method.figures.analytic()),
            ("data_card", _plain(record.data_card), _plain(asdict(self._start.data.card))),
            ("core", record.core, boards.load(record.board).core if boards.is_known(record.board) else record.core),
            ("the layers of profile", profile and list(profile["forward"]), list(method.plan.layers)),
        ]
        if record.memory_plan is not None and record.slots is not None:
            pairs.append(("memory_plan", _plain(record.memory_plan), self._planned(record.memory_plan, record.slots)))
        pairs.append(("kept", _plain(record.kept) or {}, self._kept()))
        pairs += self._bookings()
        for name, here, there in pairs:
            for place, one, other in different(here, there, name) if here is not None else ():
                yield differ(self._trial.source, place, one, REFERENCE, other, self._trial.name)
        yield from self._images()

    def _kept(self) -> dict[str, Any]:
        """Return what the data set gives for the samples that have stayed on the board; empty if none have."""
        if self._record.keep is None:
            return {}
        return KeptSamples.of(self._record.keep, self._start.data).as_recorded()

    def _images(self) -> Iterator[Contradiction]:
        """Compare numbers of images with those that the data set has."""
        held, told = len(self._start.data.test_images), {"accuracy.n": self._record.accuracy["n"]}
        told |= {f"evaluations[{number}].n": point["n"] for number, point in enumerate(self._record.evaluations)}
        for place, n in told.items():
            if n > held:
                yield differ(self._trial.source, place, n, f"the data {self._record.data}", held, self._trial.name)

    def _bookings(self) -> list[tuple[str, Any, Any]]:
        """Return place, value and computed value of the readings of the counter in a step of the latency."""
        latency, counted = self._record.latency, self._start.method.figures.bookings()
        if latency is None or counted is None:
            return []
        phases: Mapping[str, Any] = latency["phases"]
        layers: Mapping[str, Any] = latency["layers"] or {}
        pairs = [(f"latency.phases.{name}.bookings", phases[name]["bookings"], n) for name, n in counted[0].items()]
        least = latency["booking"]["least"]
        pairs += [
            (f"latency.phases.{name}.subtracted", phases[name]["subtracted"], n * least)
            for name, n in counted[0].items()
        ]
        for direction, numbers in zip(("forward", "backward"), counted[1], strict=True):
            of_layers = zip(layers.get(direction, {}).items(), numbers, strict=False)
            for (name, group), n in of_layers:
                pairs.append((f"latency.layers.{direction}.{name}.bookings", group["bookings"], n))
        return pairs

    def _planned(self, recorded: Mapping[str, Any], slots: int) -> dict[str, Any]:
        """Return the plan with the network in RAM or in flash, whichever has the total of the record."""
        method = self._start.method
        check_whole(self._trial.name, {"slots": slots}, {"slots": (1, self._record.batch)})
        places = (False, True) if method.in_flash_too else (method.in_flash,)
        kept = self._record.kept["bytes"] if self._record.kept is not None and self._record.keep == RAM else 0
        plans = [replace(method.plan, in_flash=place).memory(slots).behind(kept) for place in places]
        plan = next((plan for plan in plans if plan.total == recorded["total"]), plans[0])
        if self._record.variant == SELECTED:  # the record has the plan of the first block that fitted
            return {**_plain(recorded), "total": plan.total}
        buffers = [buffer._asdict() | {"first": max(buffer.first, 0)} for buffer in plan.buffers]
        return {"total": plan.total, "slots": list(method.plan.slots()), "buffers": buffers}

    def _step(self, row: int, outcome: StepOutcome) -> Iterator[Contradiction]:
        """Compare one row. The board's own values count only if the record says that they matched."""
        table, step, name = self._table, outcome.step, self._trial.name
        digest = step_digest(outcome.digests)
        matched, board = bool(table["match"][row]), int(table["digest"][row])
        if matched and board != digest:
            yield differ(self._place, f"digest of step {step}", f"{board:08x}", REFERENCE, f"{digest:08x}", name)
        sides = {"reference_loss_plus": outcome.loss_plus, "reference_loss_minus": outcome.loss_minus}
        sides |= {
            "reference_float_plus": outcome.float_loss_plus, "reference_float_minus": outcome.float_loss_minus,
        }  # fmt: skip
        sides |= {term: sides[f"reference_{term}"] for term in LOSSES} if matched else {}
        for column, value in sides.items():
            if column in table and bits_of(float(table[column][row])) != bits_of(float(value)):
                here = float(table[column][row])
                yield differ(self._place, f"{column} of step {step}", here, REFERENCE, float(value), name)
        if matched and "sign" in table and int(table["sign"][row]) != outcome.sign:
            yield differ(self._place, f"sign of step {step}", int(table["sign"][row]), REFERENCE, outcome.sign, name)
        if not matched and board == digest and not self._terms_differ(row):
            yield differ(self._place, f"match of step {step}", False, REFERENCE, f"the same digest {digest:08x}", name)

    def _work(self) -> Iterator[Contradiction]:
        """Compare what the board counted in the first step, where the method says how much that is."""
        counted, told = self._reference.last_work() or self._start.method.figures.work(), self._record.work
        if counted is None or told is None or self._record.wrong_figures:
            return
        for name, there in (("macs", counted.macs), ("layer_runs", counted.layer_runs)):
            here = told[name]  # type: ignore[literal-required]
            if here != there:
                yield differ(self._trial.source, f"work.{name}", here, REFERENCE, there, self._trial.name)

    def _terms_differ(self, row: int) -> bool:
        """Return whether board and reference have other losses or signs in a row."""
        table = self._table
        for term in LOSSES:
            if bits_of(float(table[term][row])) != bits_of(float(table[f"reference_{term}"][row])):
                return True
        plus, minus = (table[f"reference_float_{side}"][row] for side in ("plus", "minus"))
        right = bool(int(table["sign"][row]) == int(plus > minus) - int(plus < minus))
        return bool(table["right_sign"][row]) != right

    def _accuracy(self, point: Any, field: str) -> Iterator[Contradiction]:
        """Compare a point of the accuracy curve, in the groups in which the board evaluated the images."""
        if point is None:
            return
        record, data = self._record, self._start.data
        n, classes = point["n"], self._start.method.network.classes
        if not 0 < n <= len(data.test_images):
            return  # named already
        size = min(record.slots or n, most_predictions(classes))
        right = 0
        for begin in range(0, n, size):
            part = slice(begin, min(begin + size, n))
            _, correct, _ = self._reference.evaluate_chunk(data.test_images[part], data.test_labels[part])
            right += correct
        share, source, name = right / n, self._trial.source, self._trial.name
        values = {"board": point["board"], "reference": point["reference"]}
        for side, value in values.items():
            if value is not None and value != share:
                place = f"accuracy of the {side} after {point['step']} steps"
                yield differ(source, place, value, REFERENCE, share, name)
        value = record.accuracy[field] if field else None  # type: ignore[literal-required]
        if value is not None and value != share and record.first_difference is None:
            yield differ(source, f"accuracy.{field}", value, REFERENCE, share, name)

    def _end(self, maps: GradientMaps | None) -> Iterator[Contradiction]:
        """Compare the digests of all tensors, unless autonomous steps came after them, and the maps of gradients."""
        record, name, source = self._record, self._trial.name, self._trial.source
        digests = [f"{digest:08x}" for digest in self._reference.digests()]
        final = int(self._table["digest"][-1])
        if bool(self._table["match"][-1]) and record.digests and record.final_digest == f"{final:08x}":
            own = step_digest([int(digest, 16) for digest in record.digests])
            if own == final and record.digests != digests:
                yield differ(source, "digests", record.digests, REFERENCE, digests, name)
        if maps is not None and record.sample_gradients is not None and not record.sample_gradients["left_out"]:
            computed = {"steps": maps.steps, "layers": maps.layers}
            listed = {key: _plain(record.sample_gradients[key]) for key in computed}  # type: ignore[literal-required]
            for place, here, there in different(listed, _plain(computed), "sample_gradients"):
                yield differ(source, place, here, REFERENCE, there, name)


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back: lists, dicts and plain numbers."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
