"""The rate from which a trial would move a weight: just below it nothing moves, at it something does."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from hil.training.data import batches, load
from hil.training.methods import Method
from hil.training.reference.methods import reference_of
from hil.training.trial import least_rate as module
from hil.training.trial.choose import method_on_network
from hil.training.trial.least_rate import least_rate
from hil.trial import TrialSpec

DATA = load("fashion-mnist-1k+fog-5")
STILL: list[tuple[str, str, str, float, dict[str, Any]]] = [
    ("int8-bp", "plain", "lenet5-tflite", 0.01, {"train_bias": 0}),
    ("int8-bp", "qas", "lenet5-tflite", 1e-7, {"momentum": 0.5}),
    ("mezo", "mezo", "lenet5-tflite", 1e-4, {}),
    ("last-layer", "adaptive", "lenet5-tflite", 1e-6, {}),
    ("tinytrain", "budget", "lenet5-tflite", 1e-7, {"ranking": 2}),
]


def on_network(method: str, variant: str, network: str, eta: float, settings: dict[str, Any]) -> Method:
    return method_on_network(
        TrialSpec("stm32h7b3", variant, network, method, batch=2, evaluate=0, settings={"eta": eta, **settings})
    )


def moves(method: Method, eta: float, first: int) -> bool:
    """Whether a step of a trial changes a weight; the steps that only rank come before it."""
    learner = reference_of(replace(method, settings=replace(method.settings, eta=eta)))
    learner.configure(replace(method.settings, eta=eta), first)
    before = learner.digests()
    steps = 1 + getattr(method.settings, "ranking", 0) * (method.loop == "tinytrain")
    for chosen in islice(batches(DATA, 2, 1), first, first + steps):
        learner.step(DATA.train_images[chosen], DATA.train_labels[chosen])
    return learner.digests() != before


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize(("method", "variant", "network", "eta", "settings"), STILL, ids=lambda one: str(one)[:12])
def test_a_weight_moves_from_it_on(
    method: str, variant: str, network: str, eta: float, settings: dict[str, Any], first: int
) -> None:
    trained = on_network(method, variant, network, eta, settings)
    assert not moves(trained, eta, first), "the case is none"
    found = least_rate(trained, DATA, first)
    assert found is not None and found > eta and float(f"{found:.2g}") == found
    assert moves(trained, found, first) and not moves(trained, found * 0.85, first)


def test_without_a_rate_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = TrialSpec("stm32h7b3", "cls1", batch=2, evaluate=0)
    assert least_rate(method_on_network(trial), load("fashion-mnist-1k")) is None
    large = on_network("mezo", "mezo", "lenet5-tflite", 1e-4, {})
    monkeypatch.setattr(module, "MOST_MACS", large.figures.step_macs() * module.TRIES - 1)
    assert least_rate(large, DATA) is None


def test_a_step_that_no_rate_moves_has_none() -> None:
    """Losses of a perturbation that changes no logit are equal: the gradient is 0 at every rate."""
    dead = on_network("qzo-ff", "full", "lenet5-8w8a", 0.5, {"epsilon": 1e-9})
    assert least_rate(dead, DATA) is None
