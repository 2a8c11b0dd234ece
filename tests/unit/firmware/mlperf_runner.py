"""A runner as the public description of MLPerf Tiny's serial protocol has it, and what the reference says of an image.

Written from mlcommons/tiny, benchmark/runner and benchmark/api (commands, answers and their order); it knows nothing of the agent's link.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.reference.floats import exp32
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic

CHUNK = 31  # bytes of input that their runner puts into one command


class Runner:
    """Sends a command with its terminator and collects lines up to the one that says `m-ready`.

    Args:
        exchange: sends bytes and returns everything up to and with the next `m-ready` line.
    """

    def __init__(self, exchange: Callable[[bytes], bytes]) -> None:
        self._exchange = exchange

    def command(self, text: str) -> list[str]:
        """Return the lines of the answer but the last, which must be `m-ready`."""
        answer = self._exchange(text.encode() + b"%").decode()
        assert answer.endswith("\r\n"), answer
        *lines, last = answer[:-2].split("\r\n")
        assert last == "m-ready", answer
        return lines

    def load(self, data: bytes) -> None:
        """Send one input."""
        assert self.command(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
        for at in range(0, len(data), CHUNK):
            lines = self.command("db " + data[at : at + CHUNK].hex())
            assert lines == (["m-load-done"] if at + CHUNK >= len(data) else []), at

    def infer(self, n: int, warm_up: int) -> tuple[list[int], list[float]]:
        """Return the timestamps in microseconds and the results."""
        lines = self.command(f"infer {n} {warm_up}")
        stamps = [int(line.removeprefix("m-lap-us-")) for line in lines if re.fullmatch(r"m-lap-us-[0-9]+", line)]
        frame = [line for line in lines if not line.startswith("m-lap-us-")]
        assert frame[:-1] == [f"m-warmup-start-{warm_up}", "m-warmup-done", f"m-infer-start-{n}", "m-infer-done"]
        return stamps, parse(frame[-1])


def parse(line: str) -> list[float]:
    """Return the numbers of a line of results."""
    match = re.fullmatch(r"m-results-\[([^]]+)\]", line)
    assert match, line
    return [float(number) for number in match[1].split(",")]


def expected_results(network: Graph, pixels: bytes) -> list[float]:
    """Return what the reference's forward pass gives for one input: softmax in float32, to three decimals."""
    weights = [layer.weights for layer in network.trained]
    images = np.frombuffer(pixels, np.uint8).reshape(1, *network.in_shape[:2])
    clean = NumpyArithmetic(network).forward(weights, images, together=False, kept_from=len(network.layers))
    logits = clean.logits[0].astype(np.int32)
    x = (logits - logits.max()).astype(np.float32) * np.float32(2.0) ** np.float32(clean.exponents[0])
    terms = exp32(x).astype(np.float64)
    return [round(float(p), 3) for p in terms / terms.sum()]
