"""Whole steps of QZO-FF in C against the NumPy reference, bit for bit, on drawn graphs in `w16a8`; and their memory."""

from __future__ import annotations

import ctypes
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from network.w16a8_graphs import w16a8_graphs

from engine.host_engine import Engine, EngineRefused
from hil.errors import RigError
from hil.link.messages import description
from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff import QzoFf
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import trained_tensors
from hil.training.reference.methods import reference_of

CODES = {name: number for number, name in description().errors.items()}
FIRST_STEP, STEPS, BATCH = 3, 3, 3
SWITCHES = st.fixed_dictionaries(
    {
        "directions": st.sampled_from([1, 2, 3, 5]),
        "optimizer": st.sampled_from(["plain", "adamw"]),
        "distribution": st.sampled_from(["gaussian", "binomial"]),
        "last_layers": st.sampled_from([1, 2, 3, 64]),
        "train_bias": st.integers(0, 1),
        "guide": st.sampled_from([0, 1, 200, 256]),
        "guide_from": st.integers(0, FIRST_STEP + 2),
        "smoothing": st.sampled_from([1, 26, 255]),
        "sparse": st.sampled_from(["off", "top", "random", "threshold"]),
        "keep": st.sampled_from([1, 26, 100, 255]),
        "threshold": st.sampled_from([0.0, 1e-3, 0.1]),
        "normalise": st.integers(0, 1),
        "warmup": st.sampled_from([0, 4]),
        "steps": st.sampled_from([0, 5, 50]),
        "seed": st.integers(0, 2**32 - 1),
    }
)
SCALES = st.fixed_dictionaries(  # in the smallest step of a tensor's weights
    {
        "epsilon": st.sampled_from([0.4, 1.0, 4.0, 33.0, 2000.0]),
        "rho": st.sampled_from([0.0, 0.0, 0.7, 20.0]),
        "eta": st.sampled_from([0.1, 1.0, 40.0, 4000.0]),
    }
)


@st.composite
def methods(draw: st.DrawFn) -> QzoFf:
    """Draw a graph and settings near the steps of its weights; they may be ones that are refused."""
    graph, switches = draw(w16a8_graphs()), draw(SWITCHES)
    assume(not 0 < switches["steps"] <= switches["warmup"])
    unit = min(float(tensor.unit) for tensor in trained_tensors(graph, QzoFfSettings(**switches)) if not tensor.is_bias)
    rates = {name: float(np.float32(min(scale * unit, 1.0))) for name, scale in draw(SCALES).items()}
    chosen = QzoFfSettings(**switches, **rates, batch=BATCH, eta_min=rates["eta"] / 4)
    return QzoFf(graph, chosen, in_flash=draw(st.booleans()))


def refusal(method: QzoFf) -> str:
    """Return the sentence with which the host refuses a method; nothing where it does not."""
    try:
        QzoFf.on(method.network, "full", **vars(method.settings))
    except RigError as refused:
        return str(refused)
    return ""


def batch_of(graph: Graph, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels."""
    return rng.integers(0, 256, (BATCH, *graph.in_shape), np.uint8), rng.integers(0, graph.classes, BATCH)


def send(engine: Engine, step: int, passes: int, images: np.ndarray, labels: np.ndarray, slots: int) -> None:
    """Send a batch; to a board that holds fewer samples, once for every pass."""
    if slots == BATCH:
        engine.samples(images, labels.tolist())
        return
    for number in range(passes):
        for first in range(0, BATCH, slots):
            part = slice(first, first + slots)
            engine.samples(images[part], labels[part].tolist())
            engine.part(step, number, first, len(labels[part]))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(method=methods(), slots=st.sampled_from([BATCH, BATCH, 2, 1]), seed=st.integers(0, 2**32 - 1))
def test_steps_and_refusals_are_those_of_the_host(library: ctypes.CDLL, method: QzoFf, slots: int, seed: int) -> None:
    rng, sentence = np.random.default_rng(seed), refusal(method)
    with closing(Engine(library, method.plan.file(), flash=method.in_flash)) as engine:
        request = method.request.configuration(method.settings, slots, FIRST_STEP)
        if sentence:
            with pytest.raises(EngineRefused) as refused:
                engine.configure_by(request)
            assert refused.value.code == CODES["bad_setting"], sentence
            return
        assert engine.configure_by(request) == method.plan.memory(slots).total
        reference = reference_of(method)
        reference.configure(method.settings, FIRST_STEP)
        assert engine.digests() == reference.digests()
        for step in range(FIRST_STEP, FIRST_STEP + STEPS):
            images, labels = batch_of(method.network, rng)
            expected = reference.step(images, labels)
            send(engine, step, method.request.passes(), images, labels, slots)
            done = engine.step(step, BATCH)
            losses = (expected.loss_plus, expected.loss_minus)
            assert (done.step, done.loss_plus, done.loss_minus, done.sign) == (step, *losses, expected.sign)
            assert done.digests == expected.digests
        images, labels = (array[:slots] for array in batch_of(method.network, rng))
        predictions, _, digest = reference.evaluate_chunk(images, labels)
        engine.samples(images, labels.tolist())
        assert engine.infer(slots)[1:] == (digest, bytes(predictions.tolist()))
