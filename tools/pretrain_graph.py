"""Pre-train a network in `tflite8` on Fashion-MNIST with PyTorch, quantize it, and write its network file.

python tools/pretrain_graph.py lenet5-tflite     # or resnet-tiny

It needs `pip install -e .[pretrain]` and `hil data fetch fashion-mnist`. It is deterministic on one computer with one
version of PyTorch: one seed, one thread, deterministic algorithms. docs/networks.md has the results.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from trainable import Recipe, train

from hil.training.data import load
from hil.training.graph.file import encode
from hil.training.networks import WEIGHTS, find_network
from hil.training.networks.quantize import quantize

CALIBRATION = 1024
RECIPES = {
    "lenet5-tflite": Recipe(8, 2e-3, normalized=False, moved=False),
    "resnet-tiny": Recipe(6, 1e-2, normalized=True, moved=True),
}


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
