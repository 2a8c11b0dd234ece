"""LiteRT runs the models that are imported: with its own rounding every value is equal, with XNNPACK's few differ by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.tflite.importing import Imported, network_of
from hil.training.tflite.read import parse, read_model

from .made import Made, small
from .mlperf_files import mlperf_model
from .witness import Compared, forward, layer_by_layer, run

MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")
TABLES = ("HARD_SWISH", "LOGISTIC", "TANH", "RELU", "RELU6", "RELU_N1_TO_1", "QUANTIZE")
XNNPACK_SHARE, XNNPACK_MEANS = 1e-4, 0.05  # of the values that differ by one; of the outputs of a MEAN


def samples_for(imported: Imported, count: int, seed: int = 1) -> np.ndarray:
    random = np.random.Generator(np.random.PCG64(seed))
    return random.integers(-128, 128, (count, *imported.graph.in_shape)).astype(np.int8)


def compared(data: bytes, runtime: str, count: int = 6) -> list[Compared]:
    """Compare a model layer by layer, and for LiteRT from its input to its logits."""
    imported = network_of(parse(data, "made"), "made", runtime)
    samples = samples_for(imported, count)
    tensors = run(data, samples, runtime)
    found = layer_by_layer(imported, tensors, samples)
    if runtime == "litert":
        logits = np.stack([one[imported.tensors[-1]].reshape(-1) for one in tensors])
        assert np.array_equal(forward(imported, samples), logits)
    return found


@st.composite
def models(draw: st.DrawFn) -> Made:
    """Draw a model of layers of all kinds with a classifier behind them."""
    made = Made(draw(st.integers(0, 10_000)))
    sizes = draw(st.tuples(st.integers(1, 14), st.integers(1, 14), st.integers(1, 5)))
    x = made.input(sizes, draw(st.floats(0.01, 0.2)), draw(st.integers(-128, 127)))
    for _ in range(draw(st.integers(1, 5))):
        height, width, depth = made.shape(x)
        kernel = draw(st.integers(1, min(5, height))), draw(st.integers(1, min(5, width)))
        stride = draw(st.integers(1, kernel[0])), draw(st.integers(1, kernel[1]))
        same, activation = draw(st.booleans()), draw(st.sampled_from((0, 1, 2, 3)))
        grid = {"scale": draw(st.floats(0.05, 0.8)), "zero": draw(st.integers(-128, 127))}
        kind = draw(st.sampled_from(("conv", "first", "point", "dw", "pad", "add", "mean", "max", "table", "fc")))
        if kind in ("conv", "dw", "point", "first"):
            point, by_depth = kind == "point", kind == "dw" or (kind == "first" and depth == 1)
            x = made.convolution(
                x, draw(st.integers(1, 6)), (1, 1) if point else kernel, (1, 1) if point else stride, same, activation,
                depthwise=by_depth, multiplier=4 if kind == "first" and by_depth else 1, per_channel=draw(st.booleans()), **grid,
            )  # fmt: skip
        elif kind == "pad":
            sides = st.tuples(st.integers(0, kernel[0] - 1), st.integers(0, kernel[0] - 1))
            x = made.convolution(made.pad(x, draw(sides), (0, 0)), 3, kernel, (1, 1), False, activation, **grid)
        elif kind == "add":
            y = made.convolution(x, depth, (1, 1), **grid)
            x = made.add(x, y, 0.4, draw(st.integers(-128, 127)), activation)
        elif kind == "table":
            name = draw(st.sampled_from(TABLES))
            x = made.by_element(
                name, x, *{"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}.get(name, tuple(grid.values()))
            )
        elif kind == "mean" and draw(st.booleans()):
            x = made.mean(x, keep=True, **grid)
        else:
            x = made.pool(x, "MAX" if kind == "max" else "AVERAGE", kernel, stride, same, draw(st.sampled_from((0, 1))))
    made.softmax(
        made.fully_connected(x, draw(st.integers(2, 5)), per_channel=draw(st.booleans()), bias=draw(st.booleans()))
    )
    return made


@settings(max_examples=60, deadline=None)
@given(models())
def test_every_layer_of_a_drawn_model_is_that_of_litert_byte_for_byte(made):
    assert [one for one in compared(made.bytes(), "litert") if one.differ] == []


def test_few_values_of_drawn_models_differ_from_xnnpack_and_by_one():
    """XNNPACK multiplies by a float: about one value in 300,000 is another; of a MEAN, up to one in 30."""
    apart, of = {}, {}
    for seed in range(12):
        random, made = np.random.Generator(np.random.PCG64(seed)), Made(seed)
        x = made.input((16, 16, 4), random.uniform(0.02, 0.2), int(random.integers(-128, 128)))
        y = made.convolution(x, 4, (1, 1), scale=random.uniform(0.05, 0.5), zero=int(random.integers(-128, 128)))
        y = made.add(x, y, random.uniform(0.05, 0.5), int(random.integers(-128, 128)))
        y = made.pool(made.convolution(y, 4, (3, 3), depthwise=True), same=True)
        made.fully_connected(made.mean(made.convolution(y, 6), 0.05, keep=True), 3)
        for one in compared(made.bytes(), "xnnpack", 10):
            assert one.most <= 1, one
            apart[one.layer] = apart.get(one.layer, 0) + one.differ
            of[one.layer] = of.get(one.layer, 0) + one.of
    assert apart.pop("gap1") <= XNNPACK_MEANS * of.pop("gap1")
    assert sum(apart.values()) <= XNNPACK_SHARE * sum(of.values())


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scale", [0.004, 0.03, 0.047, 0.11])
@pytest.mark.parametrize("runtime", ["litert", "xnnpack"])
def test_a_table_has_what_the_runtime_gives_for_all_256_values(name, scale, runtime):
    made = Made()
    x = made.input((16, 16, 1), scale, 9)
    out = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0), "QUANTIZE": (0.13, 5)}.get(name, (0.05, -100))
    y = made.by_element(name, x, *out)
    made.fully_connected(y, 2)
    data = made.bytes()
    everything = np.arange(-128, 128, dtype=np.int8).reshape(1, 16, 16, 1)
    theirs = run(data, everything, runtime)[0][y].reshape(-1)
    (table, _) = network_of(parse(data, "made"), "made", runtime).graph.layers
    assert np.array_equal(table.factors.outputs, theirs)


def test_a_float_and_a_byte_input_are_those_of_the_int8_values():
    for kind, zero in (("FLOAT32", 4), ("UINT8", 132)):
        made = Made()
        made.inputs.append(made.value((5, 4, 2), 0.05, zero, kind))
        x = made.by_element("QUANTIZE", made.inputs[0], 0.05, 4)
        y = made.fully_connected(made.convolution(x, 3), 3)
        made.by_element("DEQUANTIZE", made.softmax(y), 1 / 256, -128, "FLOAT32")
        data = made.bytes()
        imported = network_of(parse(data, "made"), "made", "litert")
        assert (imported.graph.scale, imported.graph.zero) == (float(np.float32(0.05)), 4)
        samples = samples_for(imported, 5)
        real = (samples.astype(np.float32) - 4) * np.float32(0.05) if kind == "FLOAT32" else samples.astype(int) + 128
        logits = np.stack([one[y].reshape(-1) for one in run(data, real)])
        assert np.array_equal(forward(imported, samples), logits)


def test_dead_channels_and_large_biases_are_those_of_the_runtime():
    """A factor below 2^-32 makes 0, and a bias beyond 2^30 with its tiny factor is as good as halved."""
    made = Made()
    x = made.input((6, 6, 3))
    y = made.convolution(x, 4, scale=0.2)
    scales = made.tensors[made.operators[-1].inputs[1]].quantization.scale
    bias = made.buffers[made.tensors[made.operators[-1].inputs[2]].buffer]
    scales[1], scales[2] = 1e-11, 2e-8
    values = np.frombuffer(bias.data.tobytes(), np.int32).copy()
    values[1], values[2] = 2**31 - 1, 2**30 + 2**29
    bias.data = np.frombuffer(values.tobytes(), np.uint8)
    made.fully_connected(y, 3)
    data = made.bytes()
    imported = network_of(parse(data, "made"), "made", "litert")
    assert [imported.sources[0].dead, imported.sources[0].halved] == [(1,), (2,)]
    assert len(imported.notes) == 2
    assert [one.differ for one in compared(data, "litert", 30)] == [0, 0]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_mlperf_tiny_is_that_of_litert_byte_for_byte(name):
    data, model = read_model(mlperf_model(name))
    imported = network_of(model, name, "litert")
    samples = samples_for(imported, 20)
    tensors = run(data, samples)
    assert [one for one in layer_by_layer(imported, tensors, samples) if one.differ] == []
    logits = np.stack([one[imported.tensors[-1]].reshape(-1) for one in tensors])
    assert np.array_equal(forward(imported, samples), logits)
    imported = network_of(model, name, "xnnpack")
    apart = layer_by_layer(imported, run(data, samples, "xnnpack"), samples)
    assert max(one.most for one in apart) <= 1
    assert sum(one.differ for one in apart) <= XNNPACK_SHARE * sum(one.of for one in apart)


def test_another_rounding_would_be_seen():
    """The comparison can fail: with CMSIS-NN's rounding the fully connected layers are not LiteRT's."""
    data = small().bytes()
    imported = network_of(parse(data, "made"), "made", "cmsis-nn")
    samples = samples_for(imported, 2000)
    found = layer_by_layer(imported, run(data, samples), samples)
    assert [one.layer for one in found if one.differ] == ["fc1"]
