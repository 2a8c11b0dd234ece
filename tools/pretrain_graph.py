"""Pre-train a network in `tflite8` on Fashion-MNIST with PyTorch, quantize it, and write its network file.

python tools/pretrain_graph.py lenet5-tflite     # or resnet-tiny

It needs `pip install -e .[pretrain]` and `hil data fetch fashion-mnist`. It is deterministic on one computer with one
version of PyTorch: one seed, one thread, deterministic algorithms. docs/networks.md has the results.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from hil.data import load
from hil.graph.file import encode
from hil.graph.graph import Op
from hil.networks import WEIGHTS, find_network
from hil.networks.floating import FloatGraph, FloatLayer
from hil.networks.quantize import quantize

BATCH, CALIBRATION = 128, 1024
DECAY = 1e-4
SHIFTED = 2  # pixels by which an image may be moved in training


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        epochs: over the 60,000 training images.
        rate: the largest learning rate of the one cycle.
        normalized: whether a batch normalization stands behind every convolution; it is folded in the end.
        moved: whether images are moved by up to two pixels and mirrored, a batch at a time.
    """

    epochs: int
    rate: float
    normalized: bool
    moved: bool


RECIPES = {
    "lenet5-tflite": Recipe(8, 2e-3, normalized=False, moved=False),
    "resnet-tiny": Recipe(6, 1e-2, normalized=True, moved=True),
}


class Trainable(torch.nn.Module):
    """The float graph, its weights as PyTorch's parameters; `normalized`: batch normalization after a convolution."""

    def __init__(self, graph: FloatGraph, normalized: bool) -> None:
        super().__init__()
        self.graph = graph
        self.weights, self.biases = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        self.norms = torch.nn.ModuleDict()
        for index, layer in enumerate(graph.layers):
            if layer.weights is None or layer.bias is None:
                continue
            self.weights[str(index)] = torch.nn.Parameter(torch.from_numpy(_to_torch(graph, index)))
            self.biases[str(index)] = torch.nn.Parameter(torch.from_numpy(layer.bias.copy()))
            if normalized and layer.op is not Op.FULLY_CONNECTED:
                self.norms[str(index)] = torch.nn.BatchNorm2d(len(layer.bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of images [n, channels, height, width] in 0..1."""
        values = [x]
        for index, layer in enumerate(self.graph.layers):
            out = self._run(str(index), layer, [values[value] for value in layer.reads])
            if str(index) in self.norms:
                out = self.norms[str(index)](out)
            values.append({"none": lambda v: v, "relu": torch.relu, "relu6": functional.relu6}[layer.activation](out))
        return values[-1]

    def _run(self, key: str, layer: FloatLayer, reads: list[torch.Tensor]) -> torch.Tensor:
        x = reads[0]
        if layer.op is Op.ADD:
            return x + reads[1]
        if layer.op is Op.MAX_POOL:
            return functional.max_pool2d(x, layer.kernel, layer.stride, layer.pad)
        if layer.op is Op.AVERAGE_POOL:
            return functional.avg_pool2d(x, layer.kernel, layer.stride, layer.pad, count_include_pad=False)
        if layer.op is Op.FULLY_CONNECTED:
            return functional.linear(x.flatten(1), self.weights[key], self.biases[key])
        groups = x.shape[1] if layer.op is Op.DEPTHWISE else 1
        return functional.conv2d(x, self.weights[key], self.biases[key], layer.stride, layer.pad, groups=groups)

    def folded(self) -> FloatGraph:
        """Return the float graph with the trained weights, the normalizations folded into them."""
        layers = list(self.graph.layers)
        for key, weights in self.weights.items():
            w, b = weights.detach().double(), self.biases[key].detach().double()
            if key in self.norms:
                norm = self.norms[key]
                gain = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
                w = w * gain[:, None, None, None]
                b = (b - norm.running_mean.double()) * gain + norm.bias.detach().double()
            index = int(key)
            own = _from_torch(self.graph, index, w.numpy())
            layers[index] = replace(layers[index], weights=own, bias=b.numpy().astype(np.float32))
        return replace(self.graph, layers=tuple(layers))


def _to_torch(graph: FloatGraph, index: int) -> np.ndarray:
    """Return a layer's weights as PyTorch lays them out: OIHW, depthwise C1HW, fully connected on CHW."""
    layer, weights = graph.layers[index], graph.layers[index].weights
    assert weights is not None
    if layer.op is Op.DEPTHWISE:
        return np.ascontiguousarray(weights.transpose(2, 0, 1)[:, None])
    if layer.op is Op.FULLY_CONNECTED:
        shape = graph.shapes()[layer.reads[0]]
        return np.ascontiguousarray(weights.reshape(-1, *shape).transpose(0, 3, 1, 2).reshape(len(weights), -1))
    return np.ascontiguousarray(weights.transpose(0, 3, 1, 2))


def _from_torch(graph: FloatGraph, index: int, weights: np.ndarray) -> np.ndarray:
    layer = graph.layers[index]
    if layer.op is Op.DEPTHWISE:
        back = weights[:, 0].transpose(1, 2, 0)
    elif layer.op is Op.FULLY_CONNECTED:
        height, width, channels = graph.shapes()[layer.reads[0]]
        back = weights.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(len(weights), -1)
    else:
        back = weights.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(back.astype(np.float32))


def train(graph: FloatGraph, recipe: Recipe, images: np.ndarray, labels: np.ndarray, seed: int) -> FloatGraph:
    """Return the trained graph, its normalizations folded."""
    torch.manual_seed(seed)
    net = Trainable(graph, recipe.normalized).train()
    steps = recipe.epochs * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps)
    x, y = torch.from_numpy(images.astype(np.float32) / 255)[:, None], torch.from_numpy(labels.astype(np.int64))
    for epoch in range(recipe.epochs):
        started, total = time.monotonic(), 0.0
        for chosen in torch.randperm(len(x))[: len(x) // BATCH * BATCH].split(BATCH):
            batch = _moved(x[chosen]) if recipe.moved else x[chosen]
            loss = functional.cross_entropy(net(batch), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch}: loss {total / (len(x) // BATCH):.4f}, {time.monotonic() - started:.0f} s", flush=True)
    return net.eval().folded()


def _moved(x: torch.Tensor) -> torch.Tensor:
    """Move a batch as a whole by up to two pixels, and mirror it every other time."""
    dy, dx = torch.randint(-SHIFTED, SHIFTED + 1, (2,)).tolist()
    x = torch.roll(x, (dy, dx), (2, 3))
    return x.flip(3) if torch.rand(()) < 0.5 else x


def main() -> None:
    """Train, quantize, report and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    data = load("fashion-mnist")
    floats = train(
        find_network(options.name).shape(options.name, options.seed), RECIPES[options.name],
        data.train_images, data.train_labels, options.seed,
    )  # fmt: skip
    order = np.random.Generator(np.random.PCG64(options.seed)).permutation(len(data.train_images))[:CALIBRATION]
    graph = quantize(floats, data.train_images[order][..., None])
    path = WEIGHTS / f"{options.name}.hnet"
    path.write_bytes(encode(graph))
    test = data.test_images[..., None]
    found = np.concatenate([floats.values(part)[-1].reshape(len(part), -1).argmax(1) for part in np.split(test, 50)])
    print(f"{path.name}: {path.stat().st_size} bytes; float {np.mean(found == data.test_labels):.4f}")


if __name__ == "__main__":
    main()
