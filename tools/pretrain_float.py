"""Pre-train the float weights of `mbednet` with PyTorch, and write them with the ranges of their values.

nice -n 19 python tools/pretrain_float.py mbednet

It needs `pip install -e .[pretrain]` and the data set of the network, by `hil data fetch` where it is not generated. It
is deterministic on one computer with one version of PyTorch: one seed, one thread, deterministic algorithms.
docs/networks.md has the results.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from trainable import Recipe, train

from hil.training.data import load
from hil.training.networks import WEIGHTS
from hil.training.networks.float_weights import write_weights
from hil.training.networks.floating import FloatGraph
from hil.training.networks.fqt_shapes import MBEDNETS
from hil.training.networks.quantize import ranges

CALIBRATION = 1024
AT_A_TIME = 200


@dataclass(frozen=True)
class Source:
    """What a network is trained with: the data set, and the recipe."""

    data: str
    recipe: Recipe


EPSILON = 1e-2  # with 1e-5 one channel of `mbednet` had 380 times the weights of the others
SOURCES = {
    "mbednet": Source("fashion-mnist", Recipe(12, 1e-2, normalized=True, moved=True, epsilon=EPSILON)),
    "mbednet-watch": Source("watch", Recipe(40, 1e-2, normalized=True, moved=False, epsilon=EPSILON)),
    "mbednet-vibration": Source("vibration", Recipe(30, 1e-2, normalized=True, moved=False, epsilon=EPSILON)),
}


def main() -> None:
    """Train, calibrate, report and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    source, shape = SOURCES[options.name], MBEDNETS[options.name]
    data = load(source.data)
    floats = train(shape(options.name, options.seed), source.recipe, data.train_images, data.train_labels, options.seed)
    order = np.random.Generator(np.random.PCG64(options.seed)).permutation(len(data.train_images))[:CALIBRATION]
    path = WEIGHTS / f"{options.name}.npz"
    write_weights(path, floats, ranges(floats, data.train_images[order].reshape(-1, *floats.in_shape)))
    print(
        f"{path.name}: {path.stat().st_size} bytes; accuracy {accuracy(floats, data.test_images, data.test_labels):.4f}"
    )


def accuracy(graph: FloatGraph, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that a float graph gets right."""
    parts = np.array_split(images.reshape(-1, *graph.in_shape), -(-len(images) // AT_A_TIME))
    found = np.concatenate([graph.values(part)[-1].reshape(len(part), -1).argmax(1) for part in parts])
    return float(np.mean(found == labels))


if __name__ == "__main__":
    main()
