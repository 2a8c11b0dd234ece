"""What a trial asks of a method that trains a graph."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash

from hil.errors import RigError
from hil.report.memory import lifetimes
from hil.training.graph.file import decode
from hil.training.methods import METHODS, GraphMethod
from hil.training.networks import NETWORKS
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, does_not_fit
from hil.trial.outcome import Outcome

LEAN = {"queries": 50, "consumed": 1, "fused": 1}  # what saves memory, and no bit


def spec(variant: str = "adaptive", network: str = "resnet-tiny", board: str = "stm32h7b3", **others) -> TrialSpec:
    values = {"method": "poor-mans-training", "batch": 1, "steps": 1, "evaluate": 0} | others
    return TrialSpec(board, variant, network, **values)


@pytest.mark.parametrize("variant", ["adaptive", "block2"])
@pytest.mark.parametrize("method", ["poor-mans-training", "bias-only"])
def test_trained_tensors_lie_in_the_file_where_the_witness_looks(method: str, variant: str) -> None:
    prepared = prepare(spec(variant if method == "poor-mans-training" else "adaptive", method=method))
    places = prepared.method.plan.places(prepared.plan)
    reference = reference_of(prepared.method)
    for (place, tensor), digest in zip(
        zip(places, prepared.method.plan.tensors, strict=True), reference.digests(), strict=True
    ):
        assert xxhash.xxh32_intdigest(prepared.blob[place : place + tensor.size]) == digest


def test_a_file_with_other_weights_holds_them() -> None:
    subject = prepare(spec("block3")).method
    rng = np.random.default_rng(1)
    weights = [
        rng.integers(-126, 127, tensor.elements).astype(tensor.dtype).reshape(own.shape)
        for tensor, own in zip(subject.plan.tensors, reference_of(subject).weights, strict=True)
    ]
    graph = decode(subject.plan.file(weights))
    for index, layer in enumerate(graph.layers):
        if index in subject.plan.trained:
            assert np.array_equal(layer.own.weights, weights.pop(0)) and np.array_equal(layer.own.bias, weights.pop(0))
        elif layer.own is not None:
            assert np.array_equal(layer.own.weights, subject.network.layers[index].own.weights)
    assert not weights


def test_a_network_that_is_too_large_for_ram_lies_in_flash() -> None:
    prepared = prepare(spec("block3", "mcunet-128", "stm32f746", data="fashion-mnist-1k@128x128x3"))
    assert prepared.method.in_flash and prepared.image.cargo == ((0x0804_0000, prepared.blob),)
    assert prepared.image.digest == prepare(spec(board="stm32f746")).image.digest, "the program is the same"
    assert not prepare(spec()).image.cargo


@pytest.mark.parametrize(("board", "network", "variant", "said"), [
    ("rp2040", "mcunet-128", "adaptive", "choose a variant that trains fewer layers"),
    ("mps2-an500", "resnet-tiny", "adaptive", None),
    ("stm32h7b3", "lenet5-tflite", "block4", None),
])  # fmt: skip
def test_what_does_not_fit_is_refused_with_figures(board: str, network: str, variant: str, said: str | None) -> None:
    data = "fashion-mnist-1k@128x128x3" if network == "mcunet-128" else "fashion-mnist-1k"
    reason = does_not_fit(spec(variant, network, board, data=data))
    assert (reason is None) if said is None else (said in reason and "bytes" in reason)


def test_the_full_model_and_its_sparse_form_plan_within_the_paper_s_memory() -> None:
    full = prepare(spec("adaptive", "mcunet-128", data="fashion-mnist-1k@128x128x3", settings=LEAN, network_in="flash"))
    assert full.plan.total <= 668 * 1024  # PMT, table 8
    sparse = spec("block3", "mcunet-128", "stm32f746", data="fashion-mnist-1k@128x128x3", settings=LEAN)
    assert prepare(sparse).plan.total <= 209 * 1024  # PMT, table 9
    assert prepare(sparse).method.figures.analytic()["macs_step"] <= 1_162_500_000


def test_deepzero_is_for_small_networks() -> None:
    for variant in ("dense", "sparse"):
        reason = does_not_fit(spec(variant, "mcunet-48", method="deepzero", data=NETWORKS["mcunet-48"].data))
        assert reason is not None and "coordinate" in reason and "last-sparse" in reason
    for variant, network in (("last-sparse", "mcunet-48"), ("dense", "lenet5-tflite")):
        assert does_not_fit(spec(variant, network, method="deepzero", data=NETWORKS[network].data)) is None


@pytest.mark.parametrize(("wrong", "said"), [
    ({"variant": "adaptiv"}, "did you mean adaptive"),
    ({"settings": {"queries": 128}}, "1..127"),
    ({"settings": {"eta": 0.0}}, "above 0"),
    ({"settings": {"query": 3}}, "queries"),
    ({"schedule": ((1, {"queries": 3}),)}, "eta"),
    ({"network": "resnet"}, "resnet-tiny"),
    ({"data": "fashion-mnist-1k@32x32x3"}, "28x28"),
])  # fmt: skip
def test_a_wrong_request_is_refused_in_one_sentence(wrong: dict, said: str) -> None:
    with pytest.raises(RigError, match=said):
        prepare(spec(**wrong))


@pytest.mark.parametrize(
    ("method", "variant"),
    [(name, variant) for name, kind in METHODS.items() if issubclass(kind, GraphMethod) for variant in kind.variants],
)
def test_every_time_slot_has_a_name_and_every_buffer_is_drawn(method: str, variant: str) -> None:
    asked = spec(variant, method=method, settings={} if method in ("mezo", "int8-bp") else {"fused": 1})
    plan = trial_record(Outcome(asked, planned=prepare(asked))).memory_plan
    assert plan is not None and len(plan["slots"]) == 1 + max(buffer["last"] for buffer in plan["buffers"])
    assert min(buffer["first"] for buffer in plan["buffers"]) == 0
    assert len(lifetimes(plan)["data"]) == len(plan["buffers"])


def test_the_budgets_of_elasticzo_are_not_those_of_graphs() -> None:
    for one, budget in ((spec(), None), (TrialSpec("stm32h7b3", "cls1"), 262_144)):
        assert trial_record(Outcome(one, planned=prepare(one))).sram["budget"] == budget


def test_the_block_that_is_selected_begins_with_one_that_fits() -> None:
    prepared = prepare(spec("selected"))
    assert prepared.method.settings.blocks == 1 and prepared.spec.variant == "selected"
