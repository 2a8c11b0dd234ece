"""A campaign that is small enough to be cut at every byte: the real reference trains a network of 32 weights, the real step saver saves every step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hil.step_digest import step_digest
from hil.training.campaign.checkpoints import Checkpoints, ResumePoint
from hil.training.campaign.journal import NAME, Journal, read_journal
from hil.training.campaign.step_saver import StepSaver
from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.trial.lockstep_outcome import StepRow

STEPS, BATCH, CAMPAIGN = 5, 2, 0xC0FFEE


def network() -> Graph:
    """Return one fully connected layer, 4 x 2 inputs and 4 classes."""
    weights = np.random.default_rng(3).integers(-100, 100, (4, 8)).astype(np.int8)
    return chain((bfp8_node("fc1", Op.FULLY_CONNECTED, (4, 2, 1), (1, 1, 4), weights=weights, weight_exp=-7),), 4)


def row(step: int, digest: int) -> StepRow:
    """Return the row of a step on which both sides agree."""
    return StepRow(step, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1, True, True, digest, {})


def learner(point: ResumePoint) -> ElasticZoInt8Reference:
    """Return the reference at a point, with the weights of its checkpoint."""
    graph = network()
    if point.checkpoint is not None:
        with np.load(point.checkpoint, allow_pickle=False) as arrays:
            graph = graph.with_weights([arrays["w0"]])
    made = ElasticZoInt8Reference(graph, ElasticZoSettings(partition=1, batch=BATCH, seed=9))
    made.configure(made.settings, point.step)
    return made


def go_on(folder: Path, every: int = 1, until: int = STEPS) -> tuple[list[int], int]:
    """Go on with the campaign in a folder; return the steps that were computed, and the digest at the end."""
    state = read_journal(folder / NAME, 0)
    checkpoints = Checkpoints(folder, CAMPAIGN)
    checkpoints.remove_partial()
    computed = []
    with Journal(folder / NAME, state) as journal:
        point = checkpoints.resume_point(state)
        made = learner(point)
        saver = StepSaver(journal, checkpoints, every, STEPS, lambda: False)
        journal.append("from", step=point.step, again=point.again, cut=bool(state.lines))
        for step in range(point.step, until):
            draw = np.random.default_rng(step)
            outcome = made.step(draw.integers(0, 256, (BATCH, 4, 2)).astype(np.uint8), draw.integers(0, 4, BATCH))
            computed.append(step)
            saver.save(row(step, step_digest(outcome.digests)), made.weights)
    return computed, step_digest(made.digests())


def where(folder: Path) -> ResumePoint:
    """Return where the campaign in a folder would go on."""
    return Checkpoints(folder, CAMPAIGN).resume_point(read_journal(folder / NAME, 0))
