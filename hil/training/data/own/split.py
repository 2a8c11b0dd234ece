"""Split samples into a training and a test part by their content.

A sample draws the SHA-256 of the seed (8 bytes, little-endian) and of the SHA-256 of its content. If the first 8 bytes
of that, as a big-endian number, modulo 100 are below the percentage, the sample is in the test part. Samples are in the
order of what they drew. So neither part nor order of a sample depends on its file's name, its label, its place or the
other samples: adding some moves no others, and samples with the same content are in the same part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

GIVEN = "as given by its owner; each part is in the order of SHA-256(seed, SHA-256(content))"


def rule(test_percent: int) -> str:
    """Return the rule in words, for a data card."""
    return (
        f"by content, {100 - test_percent} to {test_percent}: a sample tests if SHA-256(seed, SHA-256(content)) "
        f"modulo 100 is below {test_percent}, and is in the order of that"
    )


def drawn(contents: Sequence[bytes], seed: int) -> list[bytes]:
    """Return what each sample draws; `contents` are the SHA-256 of the samples."""
    start = seed.to_bytes(8, "little")
    return [hashlib.sha256(start + content).digest() for content in contents]


def split(contents: Sequence[bytes], seed: int, test_percent: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the training and of the test samples, int64 [n] each, in the order of their draws."""
    draws = drawn(contents, seed)
    tests = [int.from_bytes(draw[:8], "big") % 100 < test_percent for draw in draws]
    order = sorted(range(len(draws)), key=draws.__getitem__)
    parts = [[index for index in order if tests[index] is wanted] for wanted in (False, True)]
    return np.array(parts[0], np.int64), np.array(parts[1], np.int64)


def shuffled(contents: Sequence[bytes], seed: int) -> np.ndarray:
    """Return the indices of the samples of one part, int64 [n], in the order of their draws."""
    draws = drawn(contents, seed)
    return np.array(sorted(range(len(draws)), key=draws.__getitem__), np.int64)


def digests(values: np.ndarray) -> list[bytes]:
    """Return the SHA-256 of every sample of an array [n, ...]: its elements in C order, little-endian."""
    plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return [hashlib.sha256(sample.tobytes()).digest() for sample in plain]
