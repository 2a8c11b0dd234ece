"""The modes of MLPerf Tiny's runner, as mlcommons/tiny, benchmark/runner (script.py, main.py) has them.

Only what it computes from the answers: each sample is one whole file, which is right for all models but the audio of `ad01`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mlperf_runner import Runner

WINDOWS, LEAST_S = 5, 10.0


@dataclass(frozen=True)
class Window:
    """The timed inferences of one sample, and its results."""

    inferences: int
    seconds: float
    results: list[float]

    @property
    def throughput(self) -> float:
        """Inferences a second; 0 where the timestamps are equal."""
        return self.inferences / self.seconds if self.seconds > 0 else 0.0

    @property
    def marked(self) -> bool:
        """Whether it is too short for a submission."""
        return self.seconds < LEAST_S


def infer(runner: Runner, sample: bytes, inferences: int, warm_up: int) -> Window:
    """Load one sample and infer it; the window lies between the last two timestamps, in microseconds."""
    runner.load(sample)
    stamps, results = runner.infer(inferences, warm_up)
    return Window(inferences, (stamps[-1] - stamps[-2]) / 1e6, results)


def performance(runner: Runner, samples: Sequence[bytes], inferences: int, warm_up: int) -> list[Window]:
    """Run the performance mode: a window for each of five samples."""
    assert len(samples) == WINDOWS
    return [infer(runner, sample, inferences, warm_up) for sample in samples]


def median_throughput(windows: Sequence[Window]) -> float:
    """Return the result of the performance mode in inferences a second."""
    return float(np.median([window.throughput for window in windows]))


def accuracy(runner: Runner, samples: Sequence[bytes], classes: Sequence[int]) -> tuple[float, float]:
    """Run the accuracy mode: each sample is inferred once, without a warm-up.

    Returns:
        Top-1 accuracy in percent (of one result for a sample: NaN), and the area under the ROC curve: of the second of
        two probabilities, or of the only result; of more, the mean over the classes, each against the rest.
    """
    found = np.array([_normalised(infer(runner, sample, 1, 0).results) for sample in samples])
    labels, width = np.asarray(classes), found.shape[1]
    if width <= 2:
        area = area_under_roc(found[:, -1], labels == 1)
    else:
        area = float(np.mean([area_under_roc(found[:, one], labels == one) for one in range(width)]))
    top = 100 * float(np.mean(found.argmax(axis=1) == labels)) if width > 1 else float("nan")
    return top, area


def area_under_roc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return how often a positive sample has the higher score than a negative one; equal scores count half."""
    apart = scores[positive][:, None] - scores[~positive][None, :]
    return float(np.mean((apart > 0) + 0.5 * (apart == 0)))


def _normalised(results: list[float]) -> list[float]:
    return results if len(results) == 1 else [result / sum(results) for result in results]
