"""What docs/arithmetic-tinytrain.md says of every step, on drawn graphs and settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.tinytrain_costs import Costs
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.tinytrain import TinyTrainReference
from reference.drawn_graphs import Builder, drawn_graph, images, many_readers

LARGEST = 2**32 - 1
ALL = {"work_budget": 256, "channels": 256, "memory_budget": LARGEST}


def chosen_settings(**others: Any) -> GraphSettings:
    return GraphSettings.of_loop("tinytrain", **others)


@st.composite
def tinytrain_settings(draw: st.DrawFn) -> GraphSettings:
    train = draw(st.sampled_from(["all", "all", "all", "last", "bias", "pointwise", "pointwise-last"]))
    return chosen_settings(
        train=train,
        blocks=draw(st.sampled_from([15, 15, 15, 6, 9])),
        train_bias=1 if train == "bias" else draw(st.integers(0, 1)),
        qas=draw(st.integers(0, 1)),
        batch=draw(st.integers(1, 4)),
        momentum=draw(st.sampled_from([0.0, 0.5, 0.9, 1e-60])),
        eta=draw(st.sampled_from([0.003, 0.3, 3.0, 300.0])),
        ranking=draw(st.integers(1, 2)),
        memory_budget=draw(st.sampled_from([40, 200, 1000, LARGEST])),
        work_budget=draw(st.sampled_from([20, 38, 100, 200, 256])),
        channels=draw(st.sampled_from([1, 64, 128, 256])),
    )


def made(graph: Graph, chosen: GraphSettings) -> TinyTrainReference:
    """Return the method; a case that it refuses is no case."""
    assume(chosen.trained(graph))
    try:
        return TinyTrainReference(graph, chosen)
    except RigError:
        assume(False)
        raise


def channels_of(weights: np.ndarray, op: Op) -> np.ndarray:
    """Return weights by output channel, [C, taps]."""
    return weights.reshape(-1, weights.shape[-1]).T if op is Op.DEPTHWISE else weights.reshape(len(weights), -1)


@settings(max_examples=120, deadline=None)
@given(chosen=tinytrain_settings(), seed=st.integers(0, 2**32))
def test_only_what_is_chosen_moves_and_as_back_propagation_moves_it(chosen: GraphSettings, seed: int) -> None:
    """One trained step: `bp` computes the same gradients of all layers, and every channel has its own update."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=6, apart=True)
    method = made(graph, chosen)
    start = [tensor.copy() for tensor in method.weights]
    for _ in range(chosen.ranking):
        outcome = method.step(*images(graph, chosen.batch, rng))
        assert method.chosen or outcome.digests == method.digests()
    ranked = [np.clip(tensor, -126, 126) if tensor.dtype == np.int8 else tensor for tensor in start]
    assert all(np.array_equal(a, b) for a, b in zip(ranked, method.weights, strict=True))

    whole = BackPropagation(graph, replace(chosen, method="bp"))
    batch = images(graph, chosen.batch, rng)
    assert whole.step(*batch).loss_plus == method.step(*batch).loss_plus
    for layer, other in zip(method.trained, whole.trained, strict=True):
        kept = np.zeros(layer.layer.channels, bool)
        kept[method.chosen.get(layer.index, [])] = True
        before = graph.layers[layer.index].own
        assert before is not None
        first = np.clip(before.weights, -126, 126) if layer.trains_weights else before.weights
        op = layer.layer.op
        wanted = np.where(kept[:, None], channels_of(other.weights, op), channels_of(first, op))
        assert np.array_equal(channels_of(layer.weights, op), wanted), layer.layer.name
        assert np.array_equal(layer.bias, np.where(kept, other.bias, before.bias)), layer.layer.name


@settings(max_examples=120, deadline=None)
@given(chosen=tinytrain_settings(), seed=st.integers(0, 2**32))
def test_no_choice_is_above_a_budget_and_none_leaves_out_what_would_fit(chosen: GraphSettings, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=6, apart=True)
    method = made(graph, chosen)
    for _ in range(chosen.ranking):
        method.step(*images(graph, chosen.batch, rng))
    costs, taken = method.costs, list(method.chosen)
    assert taken and taken == sorted(taken)
    size = sum(costs.candidates[index].size for index in taken)
    assert size <= chosen.memory_budget and costs.work(taken) <= costs.most_work <= costs.whole
    scores, best = method.scores(), max(costs.candidates, key=lambda index: (method.scores()[index], index))
    alone = costs.candidates[best].size <= chosen.memory_budget and costs.work([best]) <= costs.most_work
    assert (best in taken) == alone
    for index in set(costs.candidates) - set(taken):  # passed over: too large beside those that went before it
        before = [one for one in taken if (scores[one], one) > (scores[index], index)]
        held = sum(costs.candidates[one].size for one in before) + costs.candidates[index].size
        assert held > chosen.memory_budget or costs.work([*before, index]) > costs.most_work


@settings(max_examples=80, deadline=None)
@given(chosen=tinytrain_settings(), seed=st.integers(0, 2**32))
def test_with_all_budgets_open_it_is_back_propagation_after_the_ranking(chosen: GraphSettings, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, chosen = drawn_graph(rng, middle=6, apart=True), replace(chosen, **ALL)
    method = made(graph, chosen)
    whole = BackPropagation(graph, replace(chosen, method="bp"))
    for _ in range(chosen.ranking):
        method.step(*images(graph, chosen.batch, rng))
    for _ in range(3):
        batch = images(graph, chosen.batch, rng)
        mine, theirs = method.step(*batch), whole.step(*batch)
        assert (mine.loss_plus, mine.digests) == (theirs.loss_plus, theirs.digests)
    assert list(method.chosen) == list(method.costs.candidates)


def readers() -> Graph:
    return many_readers(Builder(np.random.default_rng(3), (4, 4, 2), "double", 3), 4, 3)


def test_samples_in_many_groups_give_the_step_of_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """D is a sum in the order of the samples, however many are computed at once."""
    graph, chosen = readers(), chosen_settings(eta=0.1, batch=40, **ALL | {"channels": 128})
    pictures, labels = images(graph, 40, np.random.default_rng(5))
    found = []
    for at_once in (1, 7, 40):
        monkeypatch.setattr(TinyTrainReference, "_group_size", lambda self, size=at_once: size)
        method = TinyTrainReference(graph, chosen)
        method.step(pictures, labels)
        information = [its.tobytes() for its in method.information.values()]
        found.append((information, method.step(pictures, labels).digests))
    assert found[0] == found[1] == found[2]


def test_information_is_a_running_sum_over_samples_and_steps() -> None:
    """With 40 samples another order of the sums would have other bits."""
    graph = readers()
    pictures, labels = images(graph, 40, np.random.default_rng(5))
    one = TinyTrainReference(graph, chosen_settings(batch=40, ranking=2))
    one.step(pictures, labels)
    each = TinyTrainReference(graph, chosen_settings(batch=1, ranking=41))
    for sample in range(40):
        each.step(pictures[sample : sample + 1], labels[sample : sample + 1])
    assert [its.tobytes() for its in one.information.values()] == [its.tobytes() for its in each.information.values()]
    backward = TinyTrainReference(graph, chosen_settings(batch=40, ranking=2))
    backward.step(pictures[::-1], labels[::-1])
    assert any(not np.array_equal(backward.information[index], its) for index, its in one.information.items())


def test_the_information_of_a_layer_is_a_running_sum_over_its_channels() -> None:
    builder, rng = Builder(np.random.default_rng(2), (3, 3, 2), "double", 3), np.random.default_rng(3)
    builder.append(Op.POINTWISE, (3, 3, 40), (1, 1), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    method = TinyTrainReference(builder.graph, chosen_settings(**ALL))
    c = method.backward.chain.of_value[1].c
    for _ in range(20):
        drawn = method.information[0][:] = rng.random(40, np.float32)
        total = np.float32(0)
        for one in drawn:
            total = total + one
        assert method.potential(0) == c * c * total


def test_a_configure_ranks_again_and_an_evaluation_does_not() -> None:
    graph, rng = readers(), np.random.default_rng(7)
    method = TinyTrainReference(graph, chosen_settings(eta=0.3, batch=4, momentum=0.9))
    assert "all 0 steps ranked" in method.remarks()[0]
    for _ in range(3):
        method.step(*images(graph, 4, rng))
    before, first = method.digests(), dict(method.information)
    method.logits(images(graph, 4, rng)[0])
    assert method.chosen and all(method.information[index] is its for index, its in first.items())
    method.configure(replace(method.settings, eta=0.1), 3)
    assert not method.chosen and not any(its.any() for its in method.information.values())
    assert method.step(*images(graph, 4, rng)).digests == before
    assert method.step(*images(graph, 4, rng)).digests != before


def test_a_schedule_keeps_choice_and_velocity() -> None:
    """With the same rate it changes nothing; with another one the same channels move on with their velocities."""
    graph, rng = readers(), np.random.default_rng(11)
    chosen = chosen_settings(eta=0.3, batch=4, momentum=0.9, ranking=2)
    batches = [images(graph, 4, rng) for _ in range(6)]
    plain, followed, other = (TinyTrainReference(graph, chosen) for _ in range(3))
    for number, batch in enumerate(batches):
        followed.follow(chosen)  # also while it ranks
        if number == 4:
            other.follow(replace(chosen, eta=0.01))
        steps = [method.step(*batch).digests for method in (plain, followed, other)]
        assert steps[0] == steps[1] and (steps[0] == steps[2]) == (number < 4)
    assert plain.chosen and all(np.array_equal(its, other.chosen[index]) for index, its in plain.chosen.items())


@pytest.mark.parametrize("done", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_it_goes_on_from_its_state(momentum: float, done: int) -> None:
    """In the middle of the ranking, at the choice, and later."""
    graph, rng = readers(), np.random.default_rng(12)
    chosen = chosen_settings(eta=0.3, batch=4, momentum=momentum, ranking=2)
    batches = [images(graph, 4, rng) for _ in range(6)]
    whole, first = TinyTrainReference(graph, chosen), TinyTrainReference(graph, chosen)
    for batch in batches[:done]:
        whole.step(*batch)
        first.step(*batch)
    second = TinyTrainReference(graph, chosen)
    for layer, its in zip(second.trained, first.trained, strict=True):
        layer.weights, layer.bias = its.weights.copy(), its.bias.copy()
    second.configure(chosen, done)
    second.restore(first.state())
    for batch in batches[done:]:
        assert whole.step(*batch) == second.step(*batch) and whole.last_work() == second.last_work()
    assert whole.remarks() == second.remarks()


def test_of_equal_scores_the_later_layer_comes_first_and_of_equal_channels_the_first() -> None:
    """A network whose errors are all 0 has no information anywhere."""
    method = TinyTrainReference(
        readers(), chosen_settings(batch=2, **ALL | {"channels": 128, "memory_budget": 1 << 20})
    )
    assert {method.scores()[index] for index in method.information} == {0.0}
    method._choose()
    assert all(its.tolist() == list(range(len(its))) for its in method.chosen.values())
    last = max(method.information)
    limited = TinyTrainReference(readers(), chosen_settings(batch=2, memory_budget=method.costs.candidates[last].size))
    limited._choose()
    assert list(limited.chosen) == [last]


def test_an_infinite_score_is_above_all_others_and_equal_to_another() -> None:
    method = TinyTrainReference(readers(), chosen_settings(batch=2, **ALL))
    for index, its in method.information.items():
        its[:] = np.float32(1e38) if index < 2 else np.float32(1)
    scores, candidates = method.scores(), method.costs.candidates
    assert [index for index, one in scores.items() if np.isinf(one)] == [0, 1] and not np.isnan(
        [*scores.values()]
    ).any()
    room_for_one = chosen_settings(batch=2, **ALL | {"memory_budget": candidates[1].size})
    assert candidates[0].size > candidates[1].size
    assert Costs(method.graph, room_for_one).choose(scores) == (1,)
    room_for_one = replace(room_for_one, memory_budget=candidates[0].size)
    finite = scores | {1: np.float32(1)}
    assert Costs(method.graph, room_for_one).choose(finite) == (0,)


def test_the_remark_names_layers_and_channels() -> None:
    graph = readers()
    method = TinyTrainReference(graph, chosen_settings(batch=2, **ALL | {"channels": 128}))
    method.step(*images(graph, 2, np.random.default_rng(1)))
    (said,) = method.remarks()
    kept = method.chosen[0]
    assert said.startswith(f"the samples chose conv1 (1 of 3 channels: {kept[0]}), dw1 (all 3 channels)")
    assert said.endswith("fc1 (all 3 channels).")


def test_the_loop_is_found_by_name() -> None:
    assert training_loop("tinytrain") is TinyTrainReference
