"""Training of a float graph with PyTorch: the graph as a module, and one cycle of AdamW."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from hil.training.graph.formats import Op
from hil.training.graph.node import Float32Parameters
from hil.training.networks.batch_norm import BatchNorm, folded
from hil.training.networks.floating import FloatGraph, FloatLayer

BATCH = 128
DECAY = 1e-4
SHIFTED = 2  # pixels by which an image may be moved in training

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda v: v,
    "relu": torch.relu,
    "relu6": functional.relu6,
    "hard_sigmoid": lambda v: v.clamp(
        0, 1
    ),  # weights and biases are those of x / 6 + 1 / 2 (hil/training/networks/floating.py)
}


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        epochs: over the training images.
        rate: the largest learning rate of the one cycle.
        normalized: whether a batch normalization stands behind every convolution; it is folded in the end.
        moved: whether images are moved by up to two pixels and mirrored, a batch at a time.
        epsilon: of the batch normalizations. A channel that hardly varies is divided by its root, so a small one gives
            this channel weights that leave no resolution to the others of its tensor.
    """

    epochs: int
    rate: float
    normalized: bool
    moved: bool
    epsilon: float = 1e-5


class Trainable(torch.nn.Module):
    """The float graph, its weights as PyTorch's parameters, and the batch normalizations of the recipe."""

    def __init__(self, graph: FloatGraph, recipe: Recipe) -> None:
        super().__init__()
        self.graph = graph
        self.weights, self.biases = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        self.norms = torch.nn.ModuleDict()
        shapes = graph.shapes()
        for index, layer in enumerate(graph.layers):
            if layer.own is None:
                continue
            self.weights[str(index)] = torch.nn.Parameter(torch.from_numpy(_to_torch(graph, index, layer.own.weights)))
            self.biases[str(index)] = torch.nn.Parameter(torch.from_numpy(layer.own.bias.copy()))
            if recipe.normalized and shapes[index + 1][:2] != (
                1,
                1,
            ):  # not behind fully connected layers, nor in squeezes
                self.norms[str(index)] = torch.nn.BatchNorm2d(len(layer.own.bias), recipe.epsilon)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of images [n, channels, height, width], as real numbers."""
        values = [x]
        for index, layer in enumerate(self.graph.layers):
            out = self._run(str(index), layer, [values[value] for value in layer.reads])
            if str(index) in self.norms:
                out = self.norms[str(index)](out)
            values.append(ACTIVATIONS[layer.activation](out))
        return values[-1]

    def _run(self, key: str, layer: FloatLayer, reads: list[torch.Tensor]) -> torch.Tensor:
        x = reads[0]
        if layer.op is Op.ADD:
            return x + reads[1]
        if layer.op is Op.MULTIPLY:
            return x * reads[1]
        if layer.op is Op.HARD_SWISH:
            return functional.hardswish(x)
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
            index = int(key)
            w, b = _from_torch(self.graph, index, weights.detach().numpy()), self.biases[key].detach().numpy()
            if key in self.norms:
                norm = self.norms[key]
                gamma, beta, mean, variance = (
                    tensor.detach().numpy() for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var)
                )
                w, b = folded(layers[index].op, w, b, BatchNorm(gamma, beta, mean, variance, norm.eps))
            layers[index] = replace(layers[index], own=Float32Parameters(w, b))
        return replace(self.graph, layers=tuple(layers))


def _to_torch(graph: FloatGraph, index: int, weights: np.ndarray) -> np.ndarray:
    """Return a layer's weights as PyTorch lays them out: OIHW, depthwise C1HW, fully connected on CHW."""
    layer = graph.layers[index]
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
    net = Trainable(graph, recipe).train()
    steps = recipe.epochs * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps)
    real = (images.reshape(-1, *graph.in_shape).astype(np.float32) - np.float32(graph.black)) / np.float32(graph.unit)
    x, y = torch.from_numpy(real.transpose(0, 3, 1, 2).copy()), torch.from_numpy(labels.astype(np.int64))
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
