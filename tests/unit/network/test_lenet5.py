"""LeNet-5, its settings and the paper's memory figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.methods.elasticzo_memory import training_bytes
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build

CLS1, CLS2 = 3, 4


def test_counts_of_the_paper() -> None:
    network = build("lenet5", 1)
    sizes = [layer.weights.size for layer in network.trained]
    assert [layer.name for layer in network.trained] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert sum(sizes) == 107_550
    assert sum(sizes[:CLS1]) == 96_630
    assert sum(sizes[:CLS2]) == 106_710
    assert network.macs == 693_000
    assert [network.first_bp(c) for c in range(6)] == [0, 3, 6, 8, 10, 11]


def test_weights_are_xavier_uniform() -> None:
    fans = [(25, 150), (150, 400), (784, 120), (120, 84), (84, 10)]
    for layer, (fan_in, fan_out) in zip(build("lenet5", 1).trained, fans, strict=True):
        limit = math.sqrt(6 / (fan_in + fan_out))
        assert layer.weight_exp == math.ceil(math.log2(limit)) - 7
        assert np.abs(layer.weights.astype(int)).max() == 127  # and never -128
        deviation = layer.weights.astype(float).std() / 127
        assert abs(deviation - 1 / math.sqrt(3)) < 4 / math.sqrt(layer.weights.size)


def test_the_seed_decides_the_weights() -> None:
    one, again, other = (np.concatenate([x.weights.ravel() for x in build("lenet5", s).trained]) for s in (1, 1, 2))
    assert np.array_equal(one, again)
    assert (one != other).mean() > 0.9


@pytest.mark.parametrize(("batch", "cls2", "cls1", "bp"), [(32, 0.0026, 0.041, 1.8), (256, 0.00052, 0.014, 1.6)])
def test_memory_ratios_of_the_paper(batch: int, cls2: float, cls1: float, bp: float) -> None:
    """ElasticZO, section 5.3, figure 5: what ZO-Feat-Cls2, Cls1 and Full BP need more than Full ZO, as printed."""
    network = build("lenet5", 1)
    zo, two, one, full = (training_bytes(network, c, batch) for c in (5, 4, CLS1, 0))
    assert two / zo - 1 == pytest.approx(cls2, rel=0.02)
    assert one / zo - 1 == pytest.approx(cls1, rel=0.025)
    assert full / zo == pytest.approx(bp, abs=0.05)


def test_full_zo_needs_weights_and_activations_only() -> None:
    outputs = 28 * 28 * 6 + 14 * 14 * 16 + 120 + 84 + 10  # those with an int32 accumulator beside them
    pooled = 14 * 14 * 6 + 7 * 7 * 16
    relus = outputs - 10
    assert training_bytes(build("lenet5", 1), 5, 8) == 107_550 + 8 * (5 * outputs + pooled + relus)


def test_more_back_propagation_needs_more_memory() -> None:
    network = build("lenet5", 1)
    by_partition = [training_bytes(network, c, 8) for c in range(6)]
    assert by_partition == sorted(by_partition, reverse=True)
    assert len(set(by_partition)) == 6


def test_an_unknown_network_gets_its_close_match() -> None:
    with pytest.raises(
        RigError,
        match=r"no network 'lenet'.*did you mean lenet5 or lenet5-8w8a or lenet5-w16a8 or lenet5-tflite or lenet5-float32\?",
    ):
        build("lenet", 1)


@pytest.mark.parametrize(("variant", "partition"), [("full-zo", 5), ("cls2", 4), ("cls1", 3), ("full-bp", 0)])
def test_variants(variant: str, partition: int) -> None:
    assert ElasticZoSettings.of_variant(variant, 5).partition == partition


def test_an_unknown_variant_or_setting_gets_its_close_match() -> None:
    with pytest.raises(RigError, match=r"no variant 'cls3': did you mean cls"):
        ElasticZoSettings.of_variant("cls3", 5)
    with pytest.raises(RigError, match=r"no setting 'rmax': did you mean r_max"):
        ElasticZoSettings.of_variant("cls1", 5, rmax=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partition", -1), ("partition", 256), ("b_zo", 0), ("b_zo", 8), ("b_bp", 0), ("b_bp", 8), ("p_zero", -1),
        ("p_zero", 256), ("r_max", 0), ("r_max", 128), ("batch", 0), ("batch", 65536), ("seed", -1), ("seed", 2**32),
    ],
)  # fmt: skip
def test_settings_out_of_range(name: str, value: int) -> None:
    with pytest.raises(RigError, match=rf"setting {name} is {value}: choose a whole number in \d+\.\.\d+\."):
        ElasticZoSettings(**{"partition": 3, name: value})


@pytest.mark.parametrize("value", [1.5, "3", None])
def test_settings_that_are_no_whole_numbers(value: object) -> None:
    with pytest.raises(RigError, match="setting r_max is"):
        ElasticZoSettings(3, r_max=value)


def test_a_partition_beside_a_variant() -> None:
    with pytest.raises(RigError, match="setting partition follows from the variant 'cls1'"):
        ElasticZoSettings.of_variant("cls1", 5, partition=2)


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [("loss", "int", "integer"), ("scope", "batches", "batch"), ("perturb", "exakt", "exact")],
)
def test_a_word_that_is_none_of_its_setting(name: str, wrong: str, meant: str) -> None:
    with pytest.raises(RigError, match=f"setting {name} is '{wrong}'.*{meant}"):
        ElasticZoSettings(3, **{name: wrong})


@pytest.mark.parametrize(
    ("name", "ends"),
    [("b_zo", (1, 7)), ("b_bp", (1, 7)), ("p_zero", (0, 255)), ("r_max", (1, 127)), ("seed", (0, 2**32 - 1))],
)
def test_the_ends_of_the_ranges_are_in(name: str, ends: tuple[int, int]) -> None:
    for value in ends:
        assert getattr(ElasticZoSettings(**{"partition": 0, name: value}), name) == value
