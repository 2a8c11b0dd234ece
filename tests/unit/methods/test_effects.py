"""methods.toml says of every setting where it acts (`acts_with`): whether it does is found by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.settings import loops_of, setting_tables
from hil.training.reference.methods.qzo_ff import QzoFfReference

from .effects import OF_TRIAL, Case, cases, kind_of, networks, values_of

LOOPS = [loop for table in setting_tables() for loop in loops_of(table)]
COMBINATIONS = 8  # of all settings, drawn
TRAINED = 16  # combinations in which one effect is looked for
CANCELS = ("normalise", "adamw")  # changes bits, by the rounding and the history of a factor alone: the last test


def chosen(loop: str) -> tuple[str, ...]:
    """Return the settings of a loop that a trial chooses."""
    return tuple(name for name in kind_of(loop).kind.table if name not in OF_TRIAL)


def cancels(name: str, case: Case) -> bool:
    return (name, getattr(case.method.settings, "optimizer", None)) == CANCELS


@pytest.mark.parametrize("loop", LOOPS)
def test_a_setting_that_is_declared_not_to_act_changes_no_bit(loop: str) -> None:
    for case in islice(cases(loop, 1, {}), COMBINATIONS):
        for name in chosen(loop):
            if not case.acts(name) and not cancels(name, case):
                assert not case.differs(name), (name, str(case))


@pytest.mark.parametrize("loop", LOOPS)
def test_each_need_alone_keeps_a_setting_from_acting(loop: str) -> None:
    """So no need is there in vain: where all others are met, the bits are the same, too."""
    for name in chosen(loop):
        for need in described_needs(loop, name):
            alone = (case for case in cases(loop, 2, {}) if case.unmet(name) == [need] and not cancels(name, case))
            for case in islice(alone, 2):
                assert not case.differs(name), (name, str(need), str(case))


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_setting_acts_wherever_it_is_declared_to(loop: str) -> None:
    """With every word, and the least number, of each of the others: else the other is one of its needs, and is not declared."""
    still = []
    for name in chosen(loop):
        for other, value in others(loop, name):
            acting = (case for case in cases(loop, 3, {other: value}) if case.acts(name))
            effects: list[bool] = []
            for case in islice(acting, TRAINED):
                effects += [case.differs(name)] * case.can_change(name)
                if any(effects):
                    break
            if effects and not any(effects):
                still.append(f"{name} with {other} = {value} ({len(effects)} combinations)")
    assert not still


def described_needs(loop: str, name: str) -> tuple[Any, ...]:
    return kind_of(loop).kind.table[name].acts_with


def others(loop: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the words of the other settings of a loop, and the first of the numbers that are tried."""
    for other in kind_of(loop).kind.table:
        words = kind_of(loop).kind.table[other].words
        if other not in (name, "method", "seed"):
            for value in words or values_of(loop, other)[:1]:
                yield other, value


@pytest.mark.parametrize("seed", range(1, 6))
def test_normalisation_cancels_in_the_first_step_of_adamw(seed: int) -> None:
    """M / sqrt(V) has no factor of a layer; plain steps have: `normalise` acts with them alone."""
    network = networks("qzo-ff")[0]
    images = np.random.default_rng(seed).integers(0, 256, (3, *network.in_shape), np.uint8)

    def moved(optimizer: str, normalise: int) -> list[np.ndarray]:
        settings = QzoFfSettings(directions=3, eta=0.01, optimizer=optimizer, normalise=normalise, seed=seed)
        reference = QzoFfReference(network, settings)
        before = [tensor.astype(np.int64) for tensor in reference.weights]
        reference.step(images, np.array([0, 1, 0]))
        return [tensor - old for tensor, old in zip(reference.weights, before, strict=True)]

    def farthest(optimizer: str) -> int:
        pairs = zip(moved(optimizer, 0), moved(optimizer, 1), strict=True)
        return max(int(np.abs(one - other).max()) for one, other in pairs)

    assert farthest("adamw") <= 1 < 50 < farthest("plain"), "in steps of a weight"
