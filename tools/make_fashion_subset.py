"""Make the committed subset of Fashion-MNIST.

It has the first 100 training and 50 test images of every class, in the order of the original files.

python tools/make_fashion_subset.py FOLDER

FOLDER has the four original *-ubyte.gz files, for example Debian's /usr/share/datasets/fashion-mnist.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path

import numpy as np

from hil.training.data.idx import idx_bytes, read_idx

TARGET = Path(__file__).resolve().parents[1] / "fixtures" / "fashion_mnist"
ORIGINAL_SHA256 = {"train": "c59f468a", "t10k": "5b4141f0"}  # first digits, of the decompressed image files


def first_of_every_class(labels: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the first `count` samples of each class, in file order."""
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:count] for label in range(10)]))


def main(source: Path) -> None:
    """Cut both parts and write them with a gzip header that carries no time and no name."""
    for part, name, count in (("train", "train", 100), ("t10k", "test", 50)):
        images = read_idx(source / f"{part}-images-idx3-ubyte.gz")
        if not hashlib.sha256(idx_bytes(images)).hexdigest().startswith(ORIGINAL_SHA256[part]):
            sys.exit(f"{source} does not hold the original {part} images.")
        labels = read_idx(source / f"{part}-labels-idx1-ubyte.gz")
        chosen = first_of_every_class(labels, count)
        for kind, array in (("images-idx3", images[chosen]), ("labels-idx1", labels[chosen])):
            (TARGET / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx_bytes(array), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
