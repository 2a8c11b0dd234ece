"""Train a run of few-shot tasks: every task by itself, all of them epoch by epoch; a row is the mean over them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from hil.step_digest import step_digest
from hil.training.data import batches, load
from hil.training.data.dataset import DataSet
from hil.training.experiments.choice import begin
from hil.training.experiments.curve import (
    EpochRow,
    checkpoint_path,
    read_checkpoint,
    read_curve,
    write_checkpoint,
    write_curve,
)
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.run import share_moved
from hil.training.reference.methods import Reference


class TaskTraining:
    """The tasks of a run in its folder; training continues after the last epoch in the folder.

    A checkpoint has the trained tensors of all tasks, stacked. Only the last one is kept.

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
            self._keep(EpochRow(0, 0, None, None, *self._evaluate(), 0.0, 0.0, arithmetic=arithmetic))
            yield self.rows[-1]
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
        epoch, started = self.rows[-1].epoch + 1, time.monotonic()
        losses: list[float] = []
        digests: list[tuple[int, ...]] = []
        for learner, task, order in zip(self.learners, self.tasks, orders, strict=True):
            for chosen in islice(order, per_epoch):
                outcome = learner.step(task.train_images[chosen], task.train_labels[chosen])
                losses.append(self.run.losses(outcome, len(chosen)))
                digests.append(outcome.digests)
        trained, step = time.monotonic(), self.rows[-1].step + per_epoch
        weights = self._weights()
        write_checkpoint(checkpoint_path(self.folder, epoch), weights, step, np.array(digests, np.uint32))
        accuracies = self._evaluate()
        seconds = trained - started, time.monotonic() - trained
        moved = share_moved(weights, self._first)
        arithmetic = self.learners[0].arithmetic
        digest, loss = step_digest(digests[-1]), float(np.mean(losses))
        self._keep(EpochRow(epoch, step, loss, None, *accuracies, *seconds, None, moved, digest, arithmetic))
        checkpoint_path(self.folder, epoch - 1).unlink(missing_ok=True)  # the row says that the next one is there
        return self.rows[-1]

    def _weights(self) -> list[np.ndarray]:
        """Return the trained tensors, each [tasks, ...]."""
        return [np.stack(tensors) for tensors in zip(*(learner.weights for learner in self.learners), strict=True)]

    def _evaluate(self) -> tuple[float, float]:
        """Return the mean accuracy on the support images, and on the queries."""
        pairs: list[tuple[Reference, DataSet]] = list(zip(self.learners, self.tasks, strict=True))
        return (
            float(np.mean([learner.accuracy(task.train_images, task.train_labels) for learner, task in pairs])),
            float(np.mean([learner.accuracy(task.test_images, task.test_labels) for learner, task in pairs])),
        )

    def _keep(self, row: EpochRow) -> None:
        self.rows.append(row)
        write_curve(self.folder, self.rows)
