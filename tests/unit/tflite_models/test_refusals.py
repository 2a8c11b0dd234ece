"""What cannot be run is refused by one sentence with the operator, its node and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.tflite.blocks import by_map, by_share
from hil.training.tflite.importing import network_of
from hil.training.tflite.read import parse

from .made import Made, small


def float_model() -> Made:
    made = Made()
    made.inputs.append(made.tensor((1, 4), "FLOAT32"))
    weights, bias = made.constant(np.ones((3, 4), np.float32)), made.constant(np.ones(3, np.float32))
    made.run("FULLY_CONNECTED", (0, weights, bias), (made.tensor((1, 3), "FLOAT32"),), fusedActivationFunction=0)
    return made


def open_shape() -> Made:
    made = Made()
    made.inputs.append(made.tensor((1, 1, 1, 2), scale=(0.1,), zero=(0,), signature=(-1, -1, -1, 2)))
    made.fully_connected(made.inputs[0], 3)
    return made


def two_inputs() -> Made:
    made = Made()
    made.fully_connected(made.add(made.input((2, 2, 1)), made.input((2, 2, 1))), 3)
    return made


def changed(change) -> Made:
    """Return a model of one convolution and a classifier, changed by a function of both operators and the model."""
    made = Made()
    y = made.convolution(made.input((6, 6, 4)), 4)
    made.fully_connected(y, 3)
    change(made)
    return made


def with_weights(made: Made, value: int) -> None:
    buffer = made.buffers[made.tensors[1].buffer]
    data = np.frombuffer(buffer.data.tobytes(), np.int8).copy()
    data[5] = value
    buffer.data = data.view(np.uint8)


def begun(shape=(6, 6, 4)) -> tuple[Made, int]:
    made = Made()
    return made, made.input(shape)


def one(build, shape=(6, 6, 4), classes=3) -> Made:
    """Return a model of an operator and a classifier."""
    made, x = begun(shape)
    made.fully_connected(build(made, x), classes)
    return made


def groups(made, x):
    weights, bias = made.weights(x, (4, 3, 3, 2), 4, 0)
    out = made.value((6, 6, 4))
    return made.run(
        "CONV_2D", (x, weights, bias), (out,), padding=0, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1,
        fusedActivationFunction=0,
    )  # fmt: skip


def no_end() -> Made:
    made, x = begun()
    made.convolution(x, 3)
    return made


def behind_logits() -> Made:
    made, x = begun()
    made.fully_connected(made.softmax(made.fully_connected(x, 3)), 3)
    return made


def scales(made) -> None:
    made.tensors[1].quantization.scale = np.array([0.1, 0.2], np.float32)


REFUSED = {
    "float": (float_model, r"FULLY_CONNECTED \(node 0\) has a tensor of FLOAT32: quantize the whole model to int8"),
    "open shape": (open_shape, r"the input has a tensor of shape .* fixed input shape"),
    "two inputs": (two_inputs, "has 2 inputs, not 1: give a model with one"),
    "unknown operator": (
        lambda: one(lambda m, x: m.run("SPLIT_V", (x,), (m.value((6, 6, 4)),))),
        r"SPLIT_V \(node 0\) cannot be run: leave it out",
    ),
    "dilation": (lambda: one(lambda m, x: m.convolution(x, 3, dilation=(2, 1))), r"CONV_2D \(node 0\) is dilated by 2 x 1"),
    "groups": (lambda: one(groups), r"CONV_2D \(node 0\) has weights of \[4, 3, 3, 2\] for 4 channels, and groups cannot"),
    "multiplier": (
        lambda: one(lambda m, x: m.convolution(x, 0, depthwise=True, multiplier=2)),
        r"DEPTHWISE_CONV_2D \(node 0\) makes 2 channels of each of 4: use a depth multiplier of 1",
    ),
    "activation": (lambda: one(lambda m, x: m.convolution(x, 3, activation=4)), r"has the activation TANH: use ReLU or ReLU6"),
    "weight of -128": (lambda: changed(lambda m: with_weights(m, -128)), "has 1 weights of -128: convert the model with weights"),
    "scales": (lambda: changed(scales), "has 2 scales for the 4 channels of its weights"),
    "pad before pool": (lambda: one(lambda m, x: m.pool(m.pad(x))), r"AVERAGE_POOL_2D \(node 1\) reads the output of a PAD: only"),
    "mean of one axis": (
        lambda: one(lambda m, x: m.mean(x, axes=(1,)), classes=3),
        r"MEAN \(node 0\) is over the axes \[1\]: only a mean over the whole image",
    ),
    "mean onto channels": (
        lambda: one(lambda m, x: m.run("ADD", (x, m.constant(np.ones((6, 6, 4), np.int8), (0.1,))), (m.value((6, 6, 4)),), fusedActivationFunction=0)),
        r"ADD \(node 0\) reads a constant as input 1",
    ),
    "reshaped image": (lambda: one(lambda m, x: m.convolution(m.reshape(m.convolution(x, 4), (12, 3, 4)), 2)), "leave out the RESHAPE"),
    "no classifier": (no_end, r"ends with CONV_2D \(node 0\) and 108 outputs: training needs a FULLY_CONNECTED with 2 to 1,024"),
    "one output": (lambda: one(lambda m, x: m.convolution(x, 2), classes=1), "and 1 outputs: training needs a FULLY_CONNECTED"),
    "too many outputs": (
        lambda: one(lambda m, x: m.pool(x, kernel=(6, 6), stride=(6, 6)), (6, 6, 1), classes=1025),
        "and 1,025 outputs: training needs",
    ),
    "behind the logits": (behind_logits, r"FULLY_CONNECTED \(node 2\) reads what is behind the logits"),
    "too many products": (
        lambda: one(lambda m, x: m.convolution(x, 2, (1, 1)), (150, 150, 1)),
        r"because of FULLY_CONNECTED \(node 1\): .*45,000 products .* more than 32,768",
    ),
    "too many layers": (
        lambda: one(lambda m, x: [x := m.convolution(x, 2, (1, 1)) for _ in range(64)][-1]),
        "has 65 layers, and a network file at most 64: use fewer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_model_that_cannot_be_run_is_refused(what):
    build, sentence = REFUSED[what]
    with pytest.raises(RigError, match=sentence) as caught:
        network_of(parse(build().bytes(), "model.tflite"), "model")
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def nodes():
    return network_of(parse(small().bytes(), "small"), "small").graph.layers


def test_blocks_are_equal_shares_of_the_work_unless_a_map_gives_them():
    layers = nodes()
    total, before = sum(node.macs for node in layers), 0
    for node in by_share(layers):
        if node.own is not None:
            assert (node.block - 1) * total <= 4 * (before + node.macs / 2) <= node.block * total
        assert (node.block == 0) == (node.own is None)
        before += node.macs
    assert [node.block for node in by_map(layers, "conv1-dw1:1, pw1:2,fc1:4")] == [1, 1, 2, 0, 0, 4]
    assert [node.block for node in by_map(layers, "0-2:3,5:4")] == [3, 3, 3, 0, 0, 4]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("conv1", "write it like"),
        ("conv1:5", "write it like"),
        ("conv1-fc1:1,fc1:2", "gives fc1 to blocks 1 and 2: give it one"),
        ("conv1-pw1:1", "leaves out fc1: give every layer with weights a block"),
        ("conv9:1", "names the layer 'conv9': did you mean"),
        ("fc1-conv1:1", "ends before it begins"),
    ],
)
def test_a_block_map_that_is_wrong_is_refused(text, sentence):
    with pytest.raises(RigError, match=sentence):
        by_map(nodes(), text)
