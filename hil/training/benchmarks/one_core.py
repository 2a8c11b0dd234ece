"""Training steps per second on one core: the reference in NumPy and in C, and a PyTorch FP32 SGD step for comparison.

Measured in a separate process, because BLAS and PyTorch read their number of threads when they are imported.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from hil.child_process import module_command
from hil.threads import ONE_THREAD
from hil.training.data import DataSet, batches, load
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.reference.native.bfp8 import fastest

BATCH, STEPS, REPEATS = 256, 10, 3
TORCH, EVALUATION = "torch", "evaluation"

Batches = list[tuple[np.ndarray, np.ndarray]]


def rates() -> dict[str, float | None]:
    """Return steps per second by variant, batches per second of an evaluation, and steps of PyTorch (`torch`).

    A name without a comma is for NumPy, as in `cls1`; a name with a comma ends with another arithmetic. PyTorch's rate
    is None if it is not installed.
    """
    result: dict[str, float | None] = printed_by("one_core")
    return result


def printed_by(module: str) -> Any:
    """Return the JSON that `main` of a module of this folder prints, in a process with one thread."""
    program = module_command(f"hil.training.benchmarks.{module}")
    return json.loads(subprocess.run(program, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=True).stdout)


def stay_on_one_core() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def best_rate(step: Callable[[np.ndarray, np.ndarray], object], given: Batches) -> float:
    """Return steps per second of processor time: the best of REPEATS rounds over the batches, after a warm-up round."""
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.process_time()
        for images, labels in given:
            step(images, labels)
        seconds.append(time.process_time() - started)
    return len(given) / min(seconds[1:])


def reference_rates(arithmetic: NumpyArithmetic, network: Graph, given: Batches) -> dict[str, float]:
    """Return the reference's steps per second by variant, and batches per second of an evaluation."""
    found = {}
    for variant in VARIANTS:
        settings = ElasticZoSettings.of_variant(variant, len(network.trained), batch=BATCH)
        learner = ElasticZoInt8Reference(network, settings, arithmetic)
        found[variant] = best_rate(learner.step, given)
    found[EVALUATION] = best_rate(learner.accuracy, given)
    return found


def torch_rate(network: Graph, given: Batches) -> float | None:
    """Return PyTorch's steps per second (forward, cross-entropy, backward, SGD in FP32); None if not installed."""
    if importlib.util.find_spec(TORCH) is None:
        return None
    torch = importlib.import_module(TORCH)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*_modules(torch.nn, network))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()

    def step(images: np.ndarray, labels: np.ndarray) -> None:
        pixels = torch.from_numpy(images.reshape(-1, 1, *images.shape[1:3])).float() / 255
        optimizer.zero_grad()
        loss(model(pixels), torch.from_numpy(labels.astype(np.int64))).backward()
        optimizer.step()

    return best_rate(step, given)


def _modules(nn: Any, network: Graph) -> list[Any]:
    """Return the layers as PyTorch modules without biases."""
    modules = []
    for layer in network.layers:
        if layer.op is Op.CONV2D:
            shape = layer.in_shape[2], layer.out_shape[2], layer.kernel
            modules.append(nn.Conv2d(*shape, padding=layer.pad, bias=False))
        elif layer.op is Op.MAX_POOL:
            modules.append(nn.MaxPool2d(layer.stride[0]))
        elif layer.op is Op.RELU:
            modules.append(nn.ReLU())
        else:
            modules += [nn.Flatten(), nn.Linear(layer.in_size, layer.out_size, bias=False)]
    return modules


def some_batches(data: DataSet, count: int, size: int = BATCH) -> Batches:
    """Return the first batches of `size` training images and labels."""
    chosen = islice(batches(data, size, 1), count)
    return [(data.train_images[which], data.train_labels[which]) for which in chosen]


def main() -> None:
    """Print the rates as JSON."""
    stay_on_one_core()
    network, given = build("lenet5", 1), some_batches(load("fashion-mnist-1k"), STEPS)
    found: dict[str, float | None] = {**reference_rates(NumpyArithmetic(network), network, given)}
    ours = fastest(network)
    found |= {f"{what}, {ours.name}": rate for what, rate in reference_rates(ours, network, given).items()}
    print(json.dumps(found | {TORCH: torch_rate(network, given)}))


if __name__ == "__main__":
    main()
