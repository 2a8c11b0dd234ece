"""Whole steps of ElasticZO-INT8 in C against the NumPy reference, bit for bit, on drawn networks and on LeNet-5."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.test_host_engine import cases, engine_of, images_of, resident
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference

FORMS = [
    {"logit_error": error, "loss": "integer" if fraction is not None else "float", "loss_fraction": fraction or 0}
    for error, fraction in product(["niti", "zero-sum"], [None, 0, 1, 3, 6])
]


def check_steps(library: ctypes.CDLL, network: Graph, chosen: ElasticZoSettings, seed: int, steps: int = 2) -> None:
    """Train some steps on both and compare all that they report, and all tensors."""
    reference = ElasticZoInt8Reference(network, chosen)
    reference.configure(chosen, 7)
    with engine_of(library, network) as engine:
        engine.configure(chosen, chosen.batch, 7)
        for step in range(7, 7 + steps):
            images, labels = images_of(network, chosen.batch, seed + step)
            expected = reference.step(images, np.array(labels))
            done = resident(engine, step, images, labels)
            assert (done.step, done.sign) == (step, expected.sign)
            assert (done.loss_plus, done.loss_minus) == (
                np.float32(expected.loss_plus),
                np.float32(expected.loss_minus),
            )
            for tensor, values in enumerate(reference.weights):
                assert engine.tensor(tensor, values.size).tobytes() == values.tobytes(), (step, tensor)
            assert done.digests == expected.digests


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_a_step_is_that_of_the_reference(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int], seed: int
) -> None:
    network, chosen, _ = case
    check_steps(library, network, chosen, seed)


@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_lenet5_trains_as_the_reference_does_in_every_form(library: ctypes.CDLL, variant: str, scope: str) -> None:
    network = build("lenet5", 2)
    for seed, form in enumerate(FORMS):
        for batch in (1, 3):
            chosen = replace(
                ElasticZoSettings.of_variant(variant, 5, batch=batch, scope=scope, seed=seed, r_max=31), **form
            )
            check_steps(library, network, chosen, seed, steps=1)


def test_the_forms_differ(library: ctypes.CDLL) -> None:
    """The comparison above is of forms that do something: each gives LeNet-5 other weights, or other losses."""
    network = build("lenet5", 2)
    images, labels = images_of(network, 4)
    outcomes = set()
    for form in FORMS:
        chosen = replace(ElasticZoSettings.of_variant("cls1", 5, batch=4, r_max=31), **form)
        with engine_of(library, network) as engine:
            engine.configure(chosen, 4)
            done = resident(engine, 0, images, labels)
            outcomes.add((done.loss_plus, done.loss_minus, done.digests))
    assert len(outcomes) == len(FORMS)
