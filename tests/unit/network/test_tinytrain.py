"""TinyTrain as a method: memory, work beforehand, and what is refused before flashing."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.drawn_graphs import Builder, images
from reference.tinytrain_networks import network_b

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.plan import Plan
from hil.training.methods.int8_bp import Int8Bp
from hil.training.methods.tinytrain import TinyTrain
from hil.training.networks import build
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec
from network.drawn_graphs import graphs
from tests.methods import on_graph

LARGEST = 2**32 - 1


def sizes(plan: Plan) -> dict[str, int]:
    return {buffer.name: buffer.size for buffer in plan.standing}


@pytest.mark.parametrize(("budget", "selected", "arena"), [(400, 400, 4464), (LARGEST, 1504, 5568)])
def test_the_memory_of_the_text(budget: int, selected: int, arena: int) -> None:
    method = TinyTrain(network_b(), TinyTrain.settings_of("budget", batch=3, momentum=0.5, memory_budget=budget))
    plan = method.plan.memory(3)
    fisher = {f"fisher[{index}]": size for index, size in {0: 16, 1: 16, 2: 16, 4: 24, 6: 16}.items()}
    assert sizes(plan) == {"file": 1016, "labels": 8, "samples": 96, **fisher, "selected": selected}
    assert (plan.layout.size, plan.total) == (2856, arena)


def test_without_sums_and_velocities_there_is_no_room_for_them() -> None:
    plan = TinyTrain(network_b(), TinyTrain.settings_of("budget", momentum=0.0)).plan.memory(1)
    assert "selected" not in sizes(plan) and "fisher[6]" in sizes(plan)
    of_rounded_to_zero = TinyTrain(network_b(), TinyTrain.settings_of("budget", momentum=1e-60)).plan.memory(1)
    assert sizes(of_rounded_to_zero) == sizes(plan)


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs(),
    batch=st.integers(1, 3),
    momentum=st.sampled_from([0.0, 0.9]),
    channels=st.integers(1, 256),
    budget=st.sampled_from([1, 100, 1000, LARGEST]),
    fused=st.integers(0, 1),
    train=st.sampled_from(["all", "last", "bias", "pointwise", "pointwise-last"]),
    in_flash=st.booleans(),
)
def test_the_plan_is_that_of_back_propagation_but_for_sums_and_velocities(
    graph: Any, batch: int, momentum: float, channels: int, budget: int, fused: int, train: str, in_flash: bool
) -> None:
    given = {"batch": batch, "momentum": momentum, "fused": fused, "train": train}
    chosen = TinyTrain.settings_of("budget", channels=channels, memory_budget=budget, **given)
    assume(chosen.trained(graph))
    method = on_graph(graph, chosen, in_flash)
    other = on_graph(graph, Int8Bp.settings_of("qas", **given), in_flash)
    try:
        costs, slots = method.plan.costs, batch
    except RigError:  # a pool
        assume(False)
        raise
    mine, theirs = sizes(method.plan.memory(slots)), sizes(other.plan.memory(slots))
    assert method.plan.memory(slots).layout.size == other.plan.memory(slots).layout.size
    own = ("fisher", "selected")
    shared = {name: size for name, size in theirs.items() if not name.startswith(("grad", "velocity"))}
    assert {name: size for name, size in mine.items() if not name.startswith(own)} == shared
    assert list(mine)[: len(shared)] == list(shared), "in the place of the sums, after all others"
    every = sum(one.size for one in costs.candidates.values())
    assert mine.get("selected", 0) == -(-min(budget, every) // 8) * 8
    assert [name for name in mine if name.startswith("fisher")] == [f"fisher[{index}]" for index in costs.candidates]


@pytest.mark.parametrize("network", ["lenet5-tflite", "resnet-tiny"])
@pytest.mark.parametrize("variant", TinyTrain.variants)
def test_the_work_that_is_known_beforehand_is_not_exceeded(network: str, variant: str) -> None:
    graph = build(network, 1)
    method = TinyTrain.on(graph, variant, batch=2)
    reference, rng = reference_of(method), np.random.default_rng(1)
    found = []
    for _ in range(3):
        reference.step(*images(graph, 2, rng))
        work = reference.last_work()
        assert work is not None
        found.append(work)
    ranking, *trained = found
    assert method.figures.step_macs() >= max(work.macs for work in found)
    most = method.figures.step_work()
    for work in trained:
        assert work.macs <= most.macs and all(a <= b for a, b in zip(work.runs, most.runs, strict=True))
    if variant == "whole":
        assert {(work.macs, work.runs) for work in trained} == {(most.macs, most.runs)}
        assert most == Int8Bp.on(graph, "qas", batch=2).figures.step_work()
    else:
        assert trained[0].macs < ranking.macs, "a trained step is cheaper than the ranking"
    assert method.figures.work() is None and method.figures.analytic()["macs_step"] == most.macs


@pytest.mark.parametrize("variant", TinyTrain.variants)
@pytest.mark.parametrize("network", ["lenet5-tflite", "resnet-tiny", "resnet-tiny-32", "mcunet-48"])
def test_the_variants_leave_something_to_choose(network: str, variant: str) -> None:
    costs = TinyTrain.on(build(network, 1), variant, batch=2).plan.costs
    allowed = [index for index in costs.candidates if costs.work([index]) <= costs.most_work]
    assert len(allowed) == len(costs.candidates) if variant == "whole" else len(allowed) > 1


def test_the_request_that_sets_it() -> None:
    chosen = TinyTrain.settings_of("budget", batch=2, eta=0.5, ranking=300, memory_budget=70_000, channels=256)
    assert chosen.request_fields("tinytrain", 1, 5) == {
        "method": 7,
        "settings": struct.pack("<HHII", 2, 1, 1, 5)
        + bytes([0, 15, 1, 2, 0, 0, 0, 1, 1, 0, 10])
        + struct.pack("<fBBf", 0.5, 0, 0, 0.9)
        + struct.pack("<HIHH", 300, 70_000, 38, 256),
    }


def spec(**settings: Any) -> TrialSpec:
    return TrialSpec("stm32h7b3", "budget", "resnet-tiny", "tinytrain", batch=2, steps=2, evaluate=0, settings=settings)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (
            {"memory_budget": 100},
            r"memory_budget is 100 bytes, and the layer that needs fewest .*, conv1, needs 640: choose at least 640",
        ),
        ({"work_budget": 1, "train": "pointwise"}, r"work_budget is 1, which allows .*: choose at least \d+\."),
        ({"channels": 0}, "setting channels is 0: choose a whole number in 1..256"),
        ({"work_budget": 257}, r"choose a whole number in 1\.\.256"),
        ({"memory_budget": 2**32}, r"choose a whole number in 1\.\.4294967295"),
        ({"ranking": 0}, r"choose a whole number in 1\.\.65535"),
        ({"direction": "batch"}, "setting direction is 'batch' with tinytrain: it draws no directions"),
    ],
)
def test_what_is_refused_before_flashing(others: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError, match=said):
        prepare(spec(**others))


def test_what_a_refusal_names_is_taken() -> None:
    for others in ({"memory_budget": 100, "work_budget": 256}, {"work_budget": 1, "train": "pointwise"}):
        with pytest.raises(RigError, match="choose at least") as refused:
            prepare(spec(**others))
        cure = str(refused.value).split("choose at least ")[1]
        least = int(cure.split(", or")[0].rstrip(".").replace(",", ""))
        name = next(iter(others))
        assert prepare(spec(**others | {name: least}))
        with pytest.raises(RigError, match=f"setting {name}"):
            prepare(spec(**others | {name: least - 1}))


def test_layers_that_no_error_reaches_are_no_candidates() -> None:
    builder = Builder(np.random.default_rng(1), (3, 3, 2), "double", 3, 6)
    for _ in range(3):
        builder.append(Op.POINTWISE, (3, 3, 2), (1, 1), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    layers = [replace(layer, block=place % 4 + 1) for place, layer in enumerate(builder.graph.layers)]
    graph = replace(builder.graph, layers=(*layers[:3], replace(layers[3], reads=(1,))))
    method = TinyTrain.on(graph, "whole")
    assert list(method.plan.costs.candidates) == [0, 3] and len(method.plan.tensors) == 8, (
        "the digests cover the others too"
    )
    with pytest.raises(RigError, match="setting blocks is 2: errors reach no trained layer of drawn"):
        TinyTrain.on(graph, "whole", blocks=2)


def test_the_whole_begins_at_the_first_candidate() -> None:
    """By hand: nothing reads the first layer, the second is not trained, and so no error is handed on to its output."""
    builder = Builder(np.random.default_rng(1), (3, 3, 2), "double", 3, 6)
    for channels in (2, 2, 5):
        builder.append(Op.POINTWISE, (3, 3, channels), (1, 1), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    layers = [replace(layer, block=block) for layer, block in zip(builder.graph.layers, (1, 2, 1, 1), strict=True)]
    graph = replace(builder.graph, layers=(layers[0], replace(layers[1], reads=(0,)), *layers[2:]))
    costs = TinyTrain.on(graph, "whole", blocks=1).plan.costs
    assert [layer.macs for layer in graph.layers] == [36, 36, 90, 135]
    assert list(costs.candidates) == [2, 3] and costs.whole == 90 + 135 + 135
    assert costs.step_work(1, None).macs == graph.macs + 90 + 135, "the ranking goes back to the first trained layer"


def test_a_pool_that_back_propagation_does_not_take() -> None:
    builder = Builder(np.random.default_rng(1), (5, 5, 2), "double", 3, 6)
    builder.append(Op.CONV2D, (5, 5, 2), (3, 3), 1, 1)
    builder.append(Op.MAX_POOL, (3, 3, 2), (3, 3), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    with pytest.raises(RigError, match="windows that overlap"):
        TinyTrain.on(builder.graph, "budget")
    assert TinyTrain.on(builder.graph, "whole", train="last").plan.costs.candidates
