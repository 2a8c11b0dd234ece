"""A setting that a trial gives, and that has no effect beside the others, is refused with what it needs."""

from __future__ import annotations

from typing import Any

import pytest

from hil.errors import RigError
from hil.training.trial.choose import method_on_network
from hil.training.trial.prepare import loadable
from hil.trial import TrialSpec

BOARD = "stm32h7b3"
REFUSED: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("fqt", "float32", "fqt-cnn-float32", {"error_range": "running"}, "layers from the first trained one on are in affine8"),
    ("fqt", "uint8", "fqt-cnn-uint8", {"statistics_momentum": 0.5, "standardise": "off"}, "standardise = 'running' or 'accumulated'"),
    ("fqt", "sparse", "fqt-cnn-uint8", {"lambda_max": 0.1, "rate": "difference"}, "lambda_max is above lambda_min"),
    ("qzo-ff", "full", "lenet5-w16a8", {"keep": 3}, "sparse = 'top' or 'random'"),
    ("qzo-ff", "full", "lenet5-w16a8", {"normalise": 1, "optimizer": "adamw"}, "optimizer = 'plain'"),
    ("qzo-ff", "normalised", "lenet5-w16a8", {"optimizer": "adamw"}, "optimizer = 'plain'"),
    ("elasticzo-int8", "full-zo", "lenet5", {"b_bp": 3}, "back-propagation trains something"),
    ("elasticzo-fp32", "full-bp", "lenet5-float32", {"g_clip": 2.0}, "zeroth order trains something"),
    ("int8-bp", "plain", "lenet5-tflite", {"queries": 3}, "method = 'poor-mans'"),
    ("tinytrain", "budget", "lenet5-tflite", {"momentum": 0.0, "memory_budget": 9000}, "gradients or velocities are kept"),
    ("last-layer", "adaptive", "lenet5-tflite", {"wise": "model"}, "more than one layer is trained"),
]  # fmt: skip


def asked(method: str, variant: str, network: str, settings: dict[str, Any], **others: Any) -> TrialSpec:
    return TrialSpec(BOARD, variant, network, method, batch=1, steps=1, evaluate=0, settings=settings, **others)


@pytest.mark.parametrize(("method", "variant", "network", "settings", "need"), REFUSED)
def test_it_is_refused_in_one_sentence(
    method: str, variant: str, network: str, settings: dict[str, Any], need: str
) -> None:
    with pytest.raises(RigError) as caught:
        method_on_network(asked(method, variant, network, settings))
    said = str(caught.value)
    assert f", where it has no effect: it acts where {need}, leave it out or " in said and said.count("\n") == 0


def test_defaults_that_nobody_gave_are_no_error() -> None:
    for method, variant, network, *_ in REFUSED:
        assert method_on_network(asked(method, variant, network, {}))


def test_a_schedule_may_not_change_what_does_not_act() -> None:
    for change, said in (({"b_bp": 3}, "b_bp is 3, where it has no effect"), ({"p_zero": 3}, "")):
        spec = asked("elasticzo-int8", "full-zo", "lenet5", {}, schedule=((0, change),))
        if not said:
            assert loadable(spec)
            continue
        with pytest.raises(RigError, match=said):
            loadable(spec)


def test_a_setting_of_the_variant_may_be_idle_on_a_small_network() -> None:
    method = method_on_network(asked("poor-mans-training", "model-node", "lenet5-tflite", {"train": "last"}))
    assert method.settings.unmet("wise", method.facts) is not None
