"""Say how many test images a network in `tflite8` gets right, by the reference in integers.

python tools/evaluate_graph.py resnet-tiny fashion-mnist fashion-mnist-1k+fog-5
"""

from __future__ import annotations

import argparse

import numpy as np

from hil.data import load
from hil.graph.graph import Graph
from hil.networks import build
from hil.reference.formats.tflite8.graph import forward

IMAGES_AT_A_TIME = 100


def accuracy(graph: Graph, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the part of uint8 images [n, height, width(, channels)] whose largest logit, the first of equals, is at the label."""
    right = 0
    for start in range(0, len(images), IMAGES_AT_A_TIME):
        part = slice(start, start + IMAGES_AT_A_TIME)
        logits = forward(graph, images[part])[-1].reshape(-1, graph.classes)
        right += int(np.sum(logits.argmax(1) == labels[part]))
    return right / len(images)


def main() -> None:
    """Print a line a data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("data", nargs="+")
    options = parser.parse_args()
    graph = build(options.network, 1)
    for name in options.data:
        data = load(name)
        print(f"{options.network} on {name}: {accuracy(graph, data.test_images, data.test_labels):.4f}", flush=True)


if __name__ == "__main__":
    main()
