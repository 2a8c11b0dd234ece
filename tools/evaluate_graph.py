"""Say how many test images a network in `tflite8` gets right, by the reference in integers.

python tools/evaluate_graph.py resnet-tiny fashion-mnist fashion-mnist-1k+fog-5
"""

from __future__ import annotations

import argparse

from hil.training.data import load
from hil.training.methods import find_method
from hil.training.networks import build
from hil.training.reference.methods import reference_of


def main() -> None:
    """Print a line a data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("data", nargs="+")
    options = parser.parse_args()
    reference = reference_of(find_method("last-layer").on(build(options.network, 1), "adaptive"))
    for name in options.data:
        data = load(name)
        accuracy = reference.accuracy(data.test_images, data.test_labels)
        print(f"{options.network} on {name}: {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
