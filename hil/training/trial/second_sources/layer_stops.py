"""Compare the cycles of layers with the counter at the calls that run them, read through the probe.

The core stops where a layer begins and where it ends, so that the figure does not depend on what the firmware books to
which layer (docs/reported-figures.md).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hil.threads import ThreadPool
from hil.training.trial.board_step import autonomous_run
from hil.training.trial.second_sources.counter import CYCCNT, ROUND, SYST_CVR, TICKS
from hil.training.trial.second_sources.figures import PROBE, Figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hil.dut import CoreProbe
    from hil.images import Image
    from hil.training.graph.graph import Graph
    from hil.training.trial.lockstep import LockStep

FORWARD, BACKWARD = "layer_cycles", "layer_cycles_backward"
MOST_CALLS = 512  # of a step; a stop takes milliseconds
AT_A_TIME, WAIT_S = 16, 0.2  # calls of one request to the probe, and seconds without a call
SILENCE_S = 600.0  # the line stays silent while the core stops
# for each call, between it and what is booked: code of the pass, a reading of the counter, the refill of the pipeline
# after a stop; 115 to 260 cycles on the virtual boards
BESIDE = 500
ALIKE = 0.03  # of a layer's cycles: what the stops change in caches and prefetch buffers


def check_layers(trial: LockStep) -> None:
    """Train one step in which the probe watches the calls of layers, and compare them with the step's profile.

    Nothing is compared without a probe, without a counter that stands still, or if a step has too many calls.
    """
    prepared, method, probe_check = trial.p, trial.p.method, trial.probe_check
    functions = layer_functions(prepared.image, method.network)
    if trial.checks.counter is None or probe_check is None or not functions:
        return
    dwt = prepared.board.counter == "dwt"
    watch = _CallWatch(probe_check.probe, functions, dwt)
    with ThreadPool(max_workers=1) as worker:
        pending = worker.submit(watch.run)
        try:
            watch.ready.wait()
            reply = autonomous_run(trial, 1, 0, SILENCE_S, lambda run: run())
        finally:
            watch.over.set()
            pending.result()
    profile = trial.device.profile(len(method.plan.layers)) if reply is not None else None
    if profile is not None and watch.calls < MOST_CALLS:
        wrap, exact = ROUND if dwt else TICKS, method.figures.bookings() is not None
        compare(trial.outcome.figures, method.plan.layers, exact, profile[0], watch.seen, wrap)


def layer_functions(image: Image, network: Graph) -> tuple[int, ...]:
    """Return the functions that run a layer, one for each format: `run` in firmware/formats; empty if one is missing.

    Their third argument is the index of the layer (firmware/engine/format.h).
    """
    found = [image.local_function(f"{format.name.lower()}.c", "run") for format in network.formats]
    return tuple(address for address in found if address is not None) if None not in found else ()


class _CallWatch:
    """Watches the calls of layers in a thread.

    Attributes:
        ready: set once the breakpoints are there, or could not be set.
        over: to be set when the step is over.
        seen: cycles of each call by layer.
    """

    def __init__(self, probe: CoreProbe, functions: tuple[int, ...], dwt: bool) -> None:
        self._probe, self._functions, self._dwt = probe, functions, dwt
        self.ready, self.over = threading.Event(), threading.Event()
        self.seen: dict[int, list[int]] = {}

    @property
    def calls(self) -> int:
        """Number of calls that were seen."""
        return sum(map(len, self.seen.values()))

    def run(self) -> None:
        """Watch a step, or its first calls if there are too many."""
        try:
            with self._probe.watched(self._functions, CYCCNT if self._dwt else SYST_CVR) as calls:
                self.ready.set()
                while not self.over.is_set() and self.calls < MOST_CALLS:
                    for argument, before, after in calls(AT_A_TIME, WAIT_S):
                        taken = (after - before) % ROUND if self._dwt else (before - after) % TICKS
                        self.seen.setdefault(argument & 0xFF, []).append(taken)
        finally:
            self.ready.set()


def compare(
    figures: Figures,
    layers: Sequence[str],
    exact: bool,
    reported: Sequence[int],
    seen: Mapping[int, Sequence[int]],
    wrap: int,
) -> None:
    """Compare the cycles that are reported for each layer of a step with those of its calls.

    The last layer is left out: its figure contains the loss.

    Args:
        layers: names of all layers.
        exact: whether nothing but its calls is booked to a layer; else there is no upper limit.
        reported: cycles of each layer, forward.
        seen: cycles of all calls by layer, each modulo `wrap`.
    """
    wrong = []
    for index, (name, told) in enumerate(zip(layers[:-1], reported, strict=False)):
        if index not in seen:
            continue
        figures.confirmed(FORWARD, PROBE)
        taken, calls = sum(seen[index]), len(seen[index])
        more = (told - taken + wrap // 2) % wrap - wrap // 2
        slack = BESIDE * calls + ALIKE * taken
        if more < -slack or (exact and more > slack):
            wrong.append(f"{told:,} for {name}, of which the probe saw {told - more:,}")
    if wrong:
        figures.refuse(
            FORWARD,
            "the agent reports other cycles for a layer forward than its counter, read through the probe at the calls "
            f"of the layer and their returns: {'; '.join(wrong)}.",
        )
