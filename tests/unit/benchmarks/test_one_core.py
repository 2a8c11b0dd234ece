"""The rows of the reference's benchmark, without timing anything."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import numpy as np
import pytest

from hil.training.benchmarks import method_rates, one_core, rig
from hil.training.data import load
from hil.training.methods.elasticzo_settings import VARIANTS
from hil.training.networks import build
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic


def test_a_rate_is_the_best_round_after_one_to_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 1.0, 5.0, 5.0, 7.0, 7.0, 17.0])  # rounds of 1 (not counted), 4, 2 and 10 seconds
    monkeypatch.setattr(one_core.time, "process_time", lambda: next(clock))
    calls = []
    given = one_core.some_batches(load("fashion-mnist-1k"), 3)
    assert one_core.best_rate(lambda images, labels: calls.append((images.shape, labels.shape)), given) == 3 / 2
    assert calls == [((256, 28, 28), (256,))] * 3 * 4


def test_without_pytorch_there_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_core, "TORCH", "torch_that_nobody_has")
    assert one_core.torch_rate(build("lenet5", 1), []) is None
    monkeypatch.setattr(one_core, "rates", lambda: {"cls1": 27.5, one_core.TORCH: None})
    assert [(row.benchmark, row.value) for row in rig._one_core()] == [
        ("reference, cls1", 27.5),
        ("PyTorch, FP32 SGD", None),
    ]


def test_a_row_without_value_says_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(rig, "_reference", lambda prepared: [])
    monkeypatch.setattr(rig, "_board", lambda prepared: [])
    monkeypatch.setattr(rig, "_first_step", lambda prepared: [])
    monkeypatch.setattr(method_rates, "rows", lambda: [])
    monkeypatch.setattr(one_core, "rates", lambda: {"cls1": 27.5, "torch": None})
    assert rig.main(argparse.Namespace(board="stm32h7b3", json=False)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:3] for line in lines] == [["reference,", "cls1", "27.5"], ["PyTorch,", "FP32", "SGD"]]
    assert lines[1][3:5] == ["not", "installed"]


def test_pytorch_gets_the_layers_of_the_network() -> None:
    def kind(name: str) -> object:
        return lambda *args, **options: (name, args, options)

    nn = SimpleNamespace(**{name: kind(name) for name in ("Conv2d", "MaxPool2d", "ReLU", "Flatten", "Linear")})
    modules = one_core._modules(nn, build("lenet5", 1))
    assert modules[0] == ("Conv2d", (1, 6, (5, 5)), {"padding": (2, 2), "bias": False})
    assert modules[3] == ("Conv2d", (6, 16, (5, 5)), {"padding": (2, 2), "bias": False})
    assert [name for name, _, _ in modules if name in ("MaxPool2d", "ReLU")] == ["ReLU", "MaxPool2d"] * 2 + ["ReLU"] * 2
    linear = [args for name, args, _ in modules if name == "Linear"]
    assert linear == [(784, 120), (120, 84), (84, 10)]


def test_the_reference_is_measured_by_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = np.zeros((4, 28, 28), np.uint8), np.zeros(4, np.uint8)
    outcomes = []
    monkeypatch.setattr(one_core, "best_rate", lambda step, given: outcomes.append(step(*given[0])) or 1.0)
    network = build("lenet5", 1)
    rates = one_core.reference_rates(NumpyArithmetic(network), network, [(images, labels)])
    assert rates == dict.fromkeys([*VARIANTS, "evaluation"], 1.0)
    assert [outcome.step for outcome in outcomes[:-1]] == [0, 0, 0, 0]
    assert all(len(outcome.digests) == 5 for outcome in outcomes[:-1])
    assert 0 <= outcomes[-1] <= 1  # the share that is right


def test_rows_of_two_arithmetics_say_their_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        one_core, "rates", lambda: {"cls1": 20.0, "evaluation": 5.0, "cls1, C, AVX2": 50.0, "evaluation, C, AVX2": 15.0}
    )
    rows = [(row.benchmark, row.value, row.unit, row.note) for row in rig._one_core()]
    where = "LeNet-5, batch 256, one core"
    assert rows == [
        ("reference, cls1", 20.0, "steps/s", where),
        ("reference, evaluation", 5.0, "batches/s", where),
        ("reference, cls1", 50.0, "steps/s", f"{where}, C, AVX2: 2.5 times NumPy's"),
        ("reference, evaluation", 15.0, "batches/s", f"{where}, C, AVX2: 3.0 times NumPy's"),
    ]
