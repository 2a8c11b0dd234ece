"""Train one run on the reference, epoch by epoch; an interrupted run continues with the same bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hil.steady_clock import steady_s
from hil.step_digest import step_digest
from hil.training.data import batches, load
from hil.training.data.dataset import DataSet
from hil.training.experiments.choice import begin
from hil.training.experiments.curve import (
    STATE,
    EpochRow,
    checkpoint_path,
    ended,
    read_checkpoint,
    read_curve,
    read_run,
    read_state,
    write_checkpoint,
    write_curve,
    write_state,
)
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.run import share_moved
from hil.training.experiments.slope import cosines
from hil.training.reference.methods import MethodReference, StepFailed

SEEN = 10_000  # number of training images that are evaluated after each epoch; all test images are


class _InFolder:
    """What has a folder with run.json, and writes its curve there."""

    folder: Path
    rows: list[EpochRow]

    def _keep(self, row: EpochRow) -> EpochRow:
        self.rows.append(row)
        write_curve(self.folder, self.rows)
        return row


class Training(_InFolder):
    """One run in its folder; training continues after the last epoch in the folder.

    Args:
        folder: has run.json, and receives the curve and the checkpoints. Runs to start from are in its parent folder.

    Raises:
        RigError: damaged files, missing data, a missing run that this one depends on, or steps that train nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = begin(folder)
        self.data = load(self.run.data)
        self.per_epoch = self.run.per_epoch(len(self.data.train_images))
        steps = self.per_epoch * self.run.epochs
        self.run.check_steps(steps)
        self.schedule = self.run.schedule(steps)
        self.rows = read_curve(folder)
        start = self._start()
        first = None if start is None else read_checkpoint(start, self.run.learner(None, self.schedule).weights).weights
        self.learner = self.run.learner(first, self.schedule)
        self._first = [tensor.copy() for tensor in self.learner.weights]
        self.step = self.rows[-1].step if self.rows else 0
        if self.rows:
            last = read_checkpoint(checkpoint_path(folder, self.rows[-1].epoch), self._first)
            self.learner = self.run.learner(last.weights, self.schedule)

    def epochs(self) -> Iterator[EpochRow]:
        """Train the remaining epochs; yield the row of each after it was written."""
        if not self.rows:
            none = np.zeros((0, len(self.learner.weights)), np.uint32)
            write_checkpoint(checkpoint_path(self.folder, 0), self.learner.weights, 0, none)
            arithmetic = self.learner.arithmetic
            yield self._keep(_row([(self.learner, self.data)], 0, 0, arithmetic=arithmetic))
        order = islice(batches(self.data, self.run.batch, self.run.seed), self.step, None)
        self.learner.configure(self.run.settings(self.step, self.schedule), self.step)
        if self.run.has_state and self.rows[-1].epoch:
            self.learner.restore(read_state(self.folder, self.rows[-1].epoch))
        while not ended(self.run, self.rows):
            yield self._epoch(order)

    def _start(self) -> Path | None:
        """Return the last checkpoint of the run to start from; None if training starts from initial weights."""
        if self.run.start is None:
            return None
        before = self.folder.parent / self.run.start
        return checkpoint_path(before, read_run(before)[0].epochs)

    def _epoch(self, order: Iterator[np.ndarray]) -> EpochRow:
        marks = {first for first, _ in self.schedule}
        epoch, started = self.rows[-1].epoch + 1, steady_s()
        losses: list[float] = []
        right: list[bool | None] = []
        digests: list[tuple[int, ...]] = []
        alike: list[float] | None = None
        work: list[float | None] = []
        failed = ""
        for chosen in islice(order, self.per_epoch):
            if self.step in marks:
                self.learner.follow(self.run.settings(self.step, self.schedule))
            images, labels = self.data.train_images[chosen], self.data.train_labels[chosen]
            if self.run.compares and len(digests) == self.per_epoch - 1:
                alike = cosines(self.learner, self.step, images, labels)
            try:
                outcome = self.learner.step(images, labels)
            except StepFailed as error:
                failed = str(error)
                break
            losses.append(self.run.losses(outcome, len(chosen)))
            right.append(self.run.right_sign(outcome))
            digests.append(outcome.digests)
            work.append(self.run.backward_macs(self.learner))
            self.step += 1
        trained = steady_s()
        path = checkpoint_path(self.folder, epoch)
        noted = np.array(digests, np.uint32).reshape(len(digests), len(self.learner.weights))
        write_checkpoint(path, self.learner.weights, self.step, noted)
        if self.run.has_state:
            write_state(self.folder, epoch, self.learner.state())
        signs = None if not right or right[0] is None else float(np.mean(np.array(right, bool)))
        loss, digest = (float(np.mean(losses)), step_digest(digests[-1])) if digests else (None, None)
        moved, arithmetic = share_moved(self.learner.weights, self._first), self.learner.arithmetic
        counted = [one for one in work if one is not None]
        macs = float(np.mean(counted)) if counted else None
        row = _row(
            [(self.learner, self.data)], epoch, self.step, loss=loss, right_signs=signs, train_s=trained - started,
            cosines=alike, moved=moved, digest=digest, arithmetic=arithmetic, failed=failed, backward_macs=macs,
        )  # fmt: skip
        self._keep(row)
        (self.folder / STATE.format(epoch - 1)).unlink(missing_ok=True)  # the row says that the next one is there
        return row


class TaskTraining(_InFolder):
    """The few-shot tasks of a run in its folder: every task by itself, all of them epoch by epoch.

    A row is the mean over the tasks. A checkpoint has the trained tensors of all tasks, stacked; the last one is kept.

    Args:
        folder: has run.json, and receives the curve and the checkpoints. Searches are in its parent folder.

    Raises:
        RigError: damaged files, missing data, or a missing run that this one depends on.
    """

    def __init__(self, folder: Path) -> None:
        run = begin(folder)
        assert isinstance(run, QzoRun) and not run.has_state
        self.folder, self.run, self.rows = folder, run, read_curve(folder)
        self.tasks = [load(name) for name in run.task_names()]
        self.learners = [run.learner_on(task) for task in self.tasks]
        self._first = self._weights()
        if self.rows:
            last = read_checkpoint(checkpoint_path(folder, self.rows[-1].epoch), self._first)
            self.learners = [
                run.learner_on(task, [tensor[number] for tensor in last.weights])
                for number, task in enumerate(self.tasks)
            ]

    def epochs(self) -> Iterator[EpochRow]:
        """Train the remaining epochs; yield the row of each after it was written."""
        if not self.rows:
            none = np.zeros((0, len(self._first)), np.uint32)
            write_checkpoint(checkpoint_path(self.folder, 0), self._first, 0, none)
            arithmetic = self.learners[0].arithmetic
            yield self._keep(_row(self._pairs, 0, 0, arithmetic=arithmetic))
        per_epoch = self.run.per_epoch(len(self.tasks[0].train_images))
        step = self.rows[-1].step
        for learner in self.learners:
            learner.configure(self.run.settings(step, ()), step)
        orders: list[Iterator[np.ndarray]] = [
            islice(batches(task, self.run.batch, self.run.seed), step, None) for task in self.tasks
        ]
        while self.rows[-1].epoch < self.run.epochs:
            yield self._epoch(orders, per_epoch)

    def _epoch(self, orders: list[Iterator[np.ndarray]], per_epoch: int) -> EpochRow:
        epoch, started = self.rows[-1].epoch + 1, steady_s()
        losses: list[float] = []
        digests: list[tuple[int, ...]] = []
        for learner, task, order in zip(self.learners, self.tasks, orders, strict=True):
            for chosen in islice(order, per_epoch):
                outcome = learner.step(task.train_images[chosen], task.train_labels[chosen])
                losses.append(self.run.losses(outcome, len(chosen)))
                digests.append(outcome.digests)
        trained, step = steady_s(), self.rows[-1].step + per_epoch
        weights = self._weights()
        write_checkpoint(checkpoint_path(self.folder, epoch), weights, step, np.array(digests, np.uint32))
        moved = share_moved(weights, self._first)
        arithmetic = self.learners[0].arithmetic
        digest, loss = step_digest(digests[-1]), float(np.mean(losses))
        self._keep(
            _row(
                self._pairs, epoch, step, loss=loss, train_s=trained - started, moved=moved, digest=digest,
                arithmetic=arithmetic,
            )
        )  # fmt: skip
        checkpoint_path(self.folder, epoch - 1).unlink(missing_ok=True)  # the row says that the next one is there
        return self.rows[-1]

    def _weights(self) -> list[np.ndarray]:
        """Return the trained tensors, each [tasks, ...]."""
        return [np.stack(tensors) for tensors in zip(*(learner.weights for learner in self.learners), strict=True)]

    @property
    def _pairs(self) -> list[tuple[MethodReference, DataSet]]:
        return list(zip(self.learners, self.tasks, strict=True))


def _row(pairs: Sequence[tuple[MethodReference, DataSet]], epoch: int, step: int, **facts: Any) -> EpochRow:
    """Return a row with the learners evaluated, each on its data, as they are now.

    Accuracies and losses are means over the learners, counts of images are sums. `facts` are other fields of the row.
    """
    started = steady_s()
    seen = [learner.accuracy(data.train_images[:SEEN], data.train_labels[:SEEN]) for learner, data in pairs]
    accuracies, losses, right = [], [], 0
    for learner, data in pairs:
        logits, exponents = learner.logits(data.test_images)
        hits = logits.argmax(axis=1) == data.test_labels
        scale = 1.0 if logits.dtype.kind == "f" else learner.logit_scale()
        accuracies.append(float(hits.mean()))
        losses.append(mean_loss(logits * scale, exponents, data.test_labels))
        right += int(hits.sum())
    facts = {"loss": None, "right_signs": None, "train_s": 0.0} | facts
    return EpochRow(
        epoch, step, train_accuracy=float(np.mean(seen)), test_accuracy=float(np.mean(accuracies)),
        eval_s=steady_s() - started if epoch else 0.0, test_loss=float(np.mean(losses)), right=right,
        of=sum(len(data.test_labels) for _, data in pairs), **facts,
    )  # fmt: skip


def mean_loss(logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cross-entropy in nats of logits [B, classes] times 2^exponents [B], in binary64."""
    values = logits * np.exp2(exponents.astype(np.float64))[:, None]
    values -= values.max(axis=1, keepdims=True)
    own = values[np.arange(len(labels)), np.asarray(labels, np.intp)]
    return float((np.log(np.exp(values).sum(axis=1)) - own).mean())
