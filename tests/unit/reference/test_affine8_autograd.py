"""The gradients of the oracle against PyTorch's autograd, in double precision, on the dequantized network."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import affine8
from tests.oracle.affine8_network import POOLS, WEIGHTED, Layer, Network

from .affine8_gradients import Gradient, cosine, gradient_of, size, whole
from .drawn_affine8 import drawn_network, images
from .oracle_affine8_networks import in_float32, network_a, network_b, text_samples

torch = pytest.importorskip("torch", reason="autograd needs PyTorch: pip install -e '.[pretrain]'")


def shaped(layer: Layer, flat: torch.Tensor) -> torch.Tensor:
    """Return the weights of a layer with windows as PyTorch has them: output, input, height, width."""
    if layer.op == "depthwise":
        return flat.reshape(*layer.kernel, layer.channels).permute(2, 0, 1)[:, None]
    return flat.reshape(layer.channels, *layer.kernel, -1).permute(0, 3, 1, 2)


def padded(layer: Layer, x: torch.Tensor) -> torch.Tensor:
    """Return an input [1, C, H, W] with its padding; that below and right follows from the output."""
    sides = []
    for axis in (1, 0):  # PyTorch pads the last axis first
        size = (layer.out_shape[axis] - 1) * layer.stride[axis] + layer.kernel[axis]
        sides += [layer.pad[axis], size - layer.in_shape[axis] - layer.pad[axis]]
    return torch.nn.functional.pad(x, sides)


def run(layer: Layer, own: tuple[torch.Tensor, torch.Tensor] | None, inputs: list[torch.Tensor]) -> torch.Tensor:
    """Return the output [1, C, H, W] of a layer."""
    x = inputs[0]
    if layer.op == "cast":
        return x
    if layer.op == "hard_swish":
        return torch.nn.functional.hardswish(x)
    if layer.op == "multiply":
        return x * inputs[1]
    if layer.op == "add":
        out = x + inputs[1]
    elif layer.op == "max_pool":
        out = torch.nn.functional.max_pool2d(x, layer.kernel, layer.stride)
    elif layer.op == "average_pool":
        out = torch.nn.functional.avg_pool2d(x, layer.kernel, layer.stride)
    else:
        assert own is not None
        if layer.op == "fully_connected":
            flat = x.permute(0, 2, 3, 1).reshape(-1)
            out = (own[0].reshape(layer.channels, -1) @ flat + own[1])[None, :, None, None]
        else:
            groups = layer.channels if layer.op == "depthwise" else 1
            weights = shaped(layer, own[0])
            out = torch.nn.functional.conv2d(padded(layer, x), weights, own[1], layer.stride, groups=groups)
    return torch.clamp(out, layer.act_min, layer.act_max)


def autograd(network: Network, image: np.ndarray, label: int) -> Gradient:
    """Return the gradients of one uint8 image in the weights and biases that the network stands for."""
    own = {
        index: tuple(
            torch.tensor([float(one) for one in part], dtype=torch.float64, requires_grad=True)
            for part in (layer.real_weights, layer.bias)
        )
        for index, layer in enumerate(network.layers)
        if layer.weights
    }
    real = float(network.s) * (image.astype(np.float64) - 128 - network.z)
    values = [torch.tensor(real).permute(2, 0, 1)[None]]
    for index, layer in enumerate(network.layers):
        values.append(run(layer, own.get(index), [values[value] for value in layer.reads]))
    torch.nn.functional.cross_entropy(values[-1].reshape(1, -1), torch.tensor([label])).backward()
    return {
        (index, part): one.grad.numpy()
        for index, tensors in own.items()
        for part, one in zip(("weights", "bias"), tensors, strict=True)
    }


def drawn(seed: int, format: str) -> tuple[Network, np.ndarray, int]:
    """Return a random network, an image, and the class that the network takes for the least likely one.

    So the error of the logits is large, and does not hang on the last step of a logit.
    """
    rng = np.random.default_rng(seed)
    network = drawn_network(rng, format)
    (image,), _ = images(network, 1, rng)
    return network, image, int(np.argmin(affine8.forward(network, image)[-1]))


def distance(found: np.ndarray, said: np.ndarray) -> float:
    """Return how far a gradient is from what autograd says, by the norm of that."""
    return float(np.linalg.norm(found - said) / np.linalg.norm(said))


def large(said: Gradient) -> list[tuple[int, str]]:
    """Return the tensors whose gradient is at least 2 % of the whole; in smaller ones large sums have cancelled."""
    return [key for key, one in said.items() if np.linalg.norm(one) >= 0.02 * np.linalg.norm(whole(said))]


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_float32(seed: int) -> None:
    network, image, label = drawn(seed, "float32")
    found, said = gradient_of(network, image, label), autograd(network, image, label)
    assert found.keys() == said.keys()
    assert distance(whole(found), whole(said)) < 1e-6
    for key, one in said.items():
        np.testing.assert_allclose(found[key], one, rtol=1e-4, atol=2e-7 * float(np.linalg.norm(whole(said))))


@pytest.mark.parametrize("format", ["affine8", "mixed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_affine8(seed: int, format: str) -> None:
    """Direction and size of the whole gradient, and the direction of each tensor, on the dequantized network."""
    network, image, label = drawn(seed, format)
    found, said = gradient_of(network, image, label), autograd(network, image, label)
    assert found.keys() == said.keys()
    assert cosine(whole(found), whole(said)) > 0.99
    assert distance(whole(found), whole(said)) < 0.15
    assert min(cosine(found[key], said[key]) for key in large(said)) > 0.75


@pytest.mark.parametrize(("rounding", "most"), [("nearest", 0.01), ("floor", 0.06)])
@pytest.mark.parametrize("format", ["affine8", "mixed"])
def test_most_tensors_in_affine8(format: str, rounding: str, most: float) -> None:
    """Half of the tensors are as close as the steps of the values and errors let them be; floor has a bias."""
    distances = []
    for seed in SEEDS:
        network, image, label = drawn(seed, format)
        if network.rounding == rounding:
            found, said = gradient_of(network, image, label), autograd(network, image, label)
            distances += [distance(found[key], said[key]) for key in large(said)]
    assert len(distances) > 50
    assert np.median(distances) < most


@pytest.mark.parametrize("network", [network_a(), network_b()], ids=["A", "B"])
@pytest.mark.parametrize("sample", [0, 1])
def test_networks_of_the_text(network: Network, sample: int) -> None:
    images, labels = text_samples(network)
    said = autograd(network, images[sample], labels[sample])
    smooth = gradient_of(in_float32(network), images[sample], labels[sample])
    rough = gradient_of(network, images[sample], labels[sample])
    assert distance(whole(smooth), whole(said)) < 1e-6
    assert cosine(whole(rough), whole(said)) > 0.9999
    assert abs(size(whole(rough), whole(said)) - 1) < 0.01


def test_what_the_networks_have() -> None:
    layers = [layer for seed in SEEDS for layer in drawn(seed, "affine8")[0].layers]
    assert {layer.op for layer in layers} == {*WEIGHTED, *POOLS, "add", "multiply", "hard_swish"}
    assert {(layer.act_min, layer.act_max) for layer in layers} >= {(0.0, 1.0), (0.0, 6.0)}
