"""Steps of the C engine by every way a batch can reach it, its memory plan beside the host's, and the integer loss by hand."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from network.drawn import networks

from engine.host_engine import EngineRefused, HostEngine, Step
from hil.training.graph.file import encode
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_memory import plan
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.methods.settings import sent
from hil.training.networks import build

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
BAD_SETTING, BAD_SLOT, PARTS_MISSING = 13, 14, 17
FIELDS = tuple(sent(ElasticZoSettings.table))


@contextmanager
def engine_of(library: ctypes.CDLL, network: Graph) -> Iterator[HostEngine]:
    """Give an engine with the network loaded."""
    engine = HostEngine(library, encode(network))
    try:
        yield engine
    finally:
        engine.close()


def images_of(network: Graph, count: int, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    """Draw images uint8 [count, height, width, channels] and their labels."""
    rng = np.random.default_rng(seed)
    shape = (count, *network.in_shape)
    return rng.integers(0, 256, shape).astype(np.uint8), rng.integers(0, network.classes, count).tolist()


def resident(engine: HostEngine, step: int, images: np.ndarray, labels: list[int]) -> Step:
    """Train a step of samples that are all held."""
    engine.samples(images, labels)
    return engine.step(step, len(labels))


def streamed(
    engine: HostEngine, settings: ElasticZoSettings, slots: int, step: int, images: np.ndarray, labels: list[int],
    after_pass: Callable[[], None] = lambda: None,
) -> Step:  # fmt: skip
    """Train a step whose samples come `slots` at a time."""
    for number in range(2 if settings.partition else 1):
        for first in range(0, len(labels), slots):
            part = slice(first, first + slots)
            engine.samples(images[part], labels[part])
            engine.part(step, number, first, len(labels[part]))
        after_pass()
    return engine.step(step, len(labels))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Graph, ElasticZoSettings, int]:
    """Draw a network as a file can hold it, settings for it, and a number of slots."""
    network = replace(draw(networks()), scale=2.0**-7)
    perturb, loss = draw(st.sampled_from(["clamped", "exact"])), draw(st.sampled_from(["float", "integer"]))
    chosen = ElasticZoSettings(
        partition=draw(st.integers(0, len(network.trained))),
        b_zo=draw(st.integers(1, 7)),
        b_bp=draw(st.integers(1, 7)),
        p_zero=draw(st.integers(0, 255)),
        r_max=draw(st.integers(1, 63 if perturb == "exact" else 127)),
        loss=loss,
        scope=draw(st.sampled_from(["sample", "batch"])),
        perturb=perturb,
        logit_error=draw(st.sampled_from(["niti", "zero-sum"])),
        loss_fraction=draw(st.integers(0, 6)) if loss == "integer" else 0,
        batch=draw(st.integers(1, 6)),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    return network, chosen, chosen.batch if chosen.scope == "batch" else draw(st.integers(1, chosen.batch))


@FAST
@given(case=cases())
def test_the_engine_and_the_host_plan_the_same_memory(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int]
) -> None:
    network, chosen, slots = case
    expected = plan(network, chosen, slots)
    with engine_of(library, network) as engine:
        assert engine.configure(chosen, slots) == expected.total
        found = sorted(engine.buffers())
    assert found == sorted((b.size, b.offset, b.first, b.last) for b in expected.buffers)


@FAST
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_a_streamed_batch_and_a_run_train_as_a_resident_batch_does(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int], seed: int
) -> None:
    network, chosen, slots = case
    images, labels = images_of(network, chosen.batch, seed)
    with engine_of(library, network) as a, engine_of(library, network) as b, engine_of(library, network) as c:
        for engine, held in ((a, chosen.batch), (b, slots), (c, chosen.batch)):
            engine.configure(chosen, held, first_step=41)
        for step in (41, 42, 43):
            expected = resident(a, step, images, labels)
            assert streamed(b, chosen, slots, step, images, labels).outcome == expected.outcome
        c.samples(images, labels)
        assert c.run(41, 3, len(labels)).outcome == expected.outcome
        assert a.digests() == b.digests() == c.digests() == expected.digests


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", ["float", "integer"])
def test_lenet5_streams_and_runs_with_the_same_digests(library: ctypes.CDLL, variant: str, loss: str) -> None:
    network = build("lenet5", 1)
    chosen = replace(ElasticZoSettings.of_variant(variant, len(network.trained), batch=5), loss=loss)
    images, labels = images_of(network, 5)
    with (
        engine_of(library, network) as whole,
        engine_of(library, network) as few,
        engine_of(library, network) as running,
    ):
        whole.configure(chosen, 5)
        few.configure(chosen, 2)
        running.configure(chosen, 5)
        for step in range(2):
            expected = resident(whole, step, images, labels)
            assert streamed(few, chosen, 2, step, images, labels).outcome == expected.outcome
        running.samples(images, labels)
        assert running.run(0, 2, 5).outcome == expected.outcome
        assert sum(expected.cycles.values()) == 2 * expected.cycles["total"]
        assert len(running.laps()) == 2 and len(running.profile()) == 2 * len(network.layers)


@FAST
@given(case=cases())
def test_a_group_of_one_is_the_scope_of_a_sample(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int]
) -> None:
    network, chosen, _ = case
    images, labels = images_of(network, 1)
    outcomes = []
    for scope in ("sample", "batch"):
        with engine_of(library, network) as engine:
            engine.configure(replace(chosen, scope=scope, batch=1), 1)
            outcomes.append([resident(engine, step, images, labels).outcome for step in range(3)])
    assert outcomes[0] == outcomes[1]


@FAST
@given(case=cases())
def test_the_exact_form_without_an_update_keeps_the_weights(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int]
) -> None:
    """On black images both passes lose the same, so that the sign is 0 and the update nothing."""
    network, chosen, _ = case
    chosen = replace(
        chosen, perturb="exact", r_max=min(chosen.r_max, 63), partition=len(network.trained), scope="sample"
    )
    black = np.zeros((1, *network.in_shape), np.uint8)
    with engine_of(library, network) as engine:
        engine.configure(replace(chosen, batch=1), 1)
        first = resident(engine, 0, black, [0])
        second = resident(engine, 1, black, [0])
        assert (first.sign, second.sign) == (0, 0)
        assert second.digests == first.digests, "the first step clips to the limit, the second changes nothing"
        for index, layer in enumerate(network.trained):
            limit = 127 - chosen.r_max
            expected = np.clip(layer.weights.reshape(-1), -limit, limit)
            assert np.array_equal(engine.tensor(index, layer.weights.size), expected)


def logits_by(
    library: ctypes.CDLL, network: Graph, weights: list[np.ndarray], image: np.ndarray
) -> tuple[list[int], int]:
    """Return the logits of an image and their exponent under other weights, by an evaluation of their own."""
    changed = network.with_weights(
        [w.reshape(layer.weights.shape) for w, layer in zip(weights, network.trained, strict=True)]
    )
    with engine_of(library, changed) as engine:
        engine.configure(ElasticZoSettings(partition=0, batch=1), 1)
        engine.sample(0, image, 0)
        stage = engine.trace(0, stage=len(network.layers) - 1)
    *values, exponent = struct.unpack(f"<{network.classes}bh", stage)
    return values, exponent


def integer_terms(
    plus: tuple[list[int], int], minus: tuple[list[int], int], label: int, fraction: int
) -> tuple[int, int]:
    """A and B of docs/arithmetic.md, section 5, with fractions where the text shifts."""
    unit = 2**fraction

    def powers(logits: tuple[list[int], int]) -> list[int]:
        values, exponent = logits
        scale = Fraction(2) ** (min(max(exponent, -16), 15 - fraction) - 15)
        return [floor(47274 * (value - values[label]) * scale * unit) for value in values]

    def term(t: int) -> int:
        return round(2 ** (12 + t % unit / unit)) << t // unit if fraction else 1 << t

    a, b = powers(plus), powers(minus)
    p = max(a + b) - 10 * unit
    return sum(term(max(power - p, 0)) for power in a), sum(term(max(power - p, 0)) for power in b)


def truncated_log2(x: int, fraction: int) -> int:
    """Section 5's lb(x), the squares in whole numbers."""
    result = x.bit_length() - 1
    m = x << 31 - result
    for _ in range(fraction):
        m = m * m >> 31
        result, m = (2 * result + 1, m >> 1) if m >= 1 << 32 else (2 * result, m)
    return result


@pytest.mark.parametrize("fraction", [0, 1, 4, 6])
@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1"])
@pytest.mark.parametrize("perturb", ["clamped", "exact"])
def test_the_integer_loss_from_logits_worked_out_apart(
    library: ctypes.CDLL, variant: str, batch: int, perturb: str, fraction: int
) -> None:
    network = build("lenet5", 3)
    chosen = replace(
        ElasticZoSettings.of_variant(variant, 5, batch=batch),
        loss="integer",
        perturb=perturb,
        r_max=31,
        loss_fraction=fraction,
    )
    images, labels = images_of(network, batch, seed=batch)
    passes: list[list[np.ndarray]] = []
    with engine_of(library, network) as engine:
        engine.configure(chosen, batch)

        def keep_weights() -> None:
            passes.append([engine.tensor(i, layer.weights.size) for i, layer in enumerate(network.trained)])

        found = streamed(engine, chosen, batch, 0, images, labels, keep_weights)
    plus, minus = ([logits_by(library, network, weights, image) for image in images] for weights in passes)
    terms = [integer_terms(p, m, label, fraction) for p, m, label in zip(plus, minus, labels, strict=True)]
    if batch > 1:
        terms = [(truncated_log2(a, fraction), truncated_log2(b, fraction)) for a, b in terms]
    expected = tuple(map(sum, zip(*terms, strict=True)))
    assert (found.loss_plus, found.loss_minus) == tuple(map(np.float32, expected))
    assert found.sign == (expected[0] > expected[1]) - (expected[0] < expected[1])


@pytest.mark.parametrize(
    ("changes", "slots", "field"),
    [
        ({"partition": 6}, 4, "partition"), ({}, 0, "slots"), ({}, 5, "slots"), ({"scope": "batch"}, 3, "slots"),
    ],
)  # fmt: skip
def test_settings_that_the_engine_refuses(
    library: ctypes.CDLL, changes: dict[str, object], slots: int, field: str
) -> None:
    network = build("lenet5", 1)
    with engine_of(library, network) as engine, pytest.raises(EngineRefused) as refused:
        engine.configure(replace(ElasticZoSettings.of_variant("cls1", 5, batch=4), **changes), slots)
    assert (refused.value.code, FIELDS[refused.value.a]) == (BAD_SETTING, field)


def test_a_step_half_done_is_ended_or_given_up(library: ctypes.CDLL) -> None:
    network = build("lenet5", 1)
    chosen = ElasticZoSettings.of_variant("cls1", 5, batch=4)
    images, labels = images_of(network, 4)
    with engine_of(library, network) as engine:
        engine.configure(chosen, 2)
        before = engine.digests()
        engine.samples(images[:2], labels[:2])
        engine.part(0, 0, 0, 2)
        assert engine.digests() != before, "the weights are perturbed"
        for request in (lambda: engine.infer(2), lambda: engine.trace(0), lambda: engine.step(0, 4)):
            with pytest.raises(EngineRefused) as refused:
                request()
            assert refused.value.code == PARTS_MISSING
        with pytest.raises(EngineRefused) as refused:
            engine.run(0, 2, 2)
        assert refused.value.code == BAD_SLOT, "a run needs slots for the whole batch"
        engine.configure(chosen, 4)
        engine.samples(images, labels)
        assert engine.infer(4)[0] <= 4
