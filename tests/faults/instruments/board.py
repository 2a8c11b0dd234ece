"""A scripted board: it answers the requests of a trial as the agent does, and what it draws meanwhile is known to the
last joule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from hil.link.replies import Identity, Stepped
from hil.training.methods.figures import LeastCycles
from hil.training.trial.batch import Batch
from hil.training.trial.latency_counts import LAP_PHASES
from hil.training.trial.second_sources.checks import Checks
from hil.training.trial.second_sources.figures import Figures
from hil.training.trial.stages import Watch

from .trace import Edge, Script, joined
from .world import World

CLOCK_HZ = 100e6
ARRIVE_S, DIGEST_S = 0.002, 0.004  # the request's last bytes, and digests before the answer: the board is awake
DIGEST = 1_000  # cycles of the digests
LEAST = dict.fromkeys(LAP_PHASES, 0) | {LAP_PHASES[0]: 1}
SPREAD = 0.0001  # standard deviation of the current from window to window
Stretches = list[tuple[float, float]]  # seconds, amperes


def plain(step_s: float, amperes: float) -> Stretches:
    """Return a step of three phases whose mean is `amperes`."""
    return [(0.4 * step_s, amperes), (0.4 * step_s, 1.1 * amperes), (0.2 * step_s, 0.8 * amperes)]


def bursts(step_s: float, base_a: float, burst_a: float, burst_s: float, period_s: float) -> Stretches:
    """Return a step with a burst at the end of every period."""
    count = max(round(step_s / period_s), 1)
    return [(period_s - burst_s, base_a), (burst_s, burst_a)] * count


@dataclass
class Work:
    """What the board does.

    Attributes:
        step: of stretches.
        idle_a: current asleep, before and after a window.
        bounce_s: how long the marker bounces once within the steps; 0: it does not.
        bounce_at: where, as a share of the window; None: anywhere from a fifth to four fifths.
        counts: it has a counter of cycles.
        locked: every window begins at the same place between two readings.
    """

    step: Stretches
    idle_a: tuple[float, float] = (0.02, 0.02)
    bounce_s: float = 0.0
    bounce_at: float | None = None
    counts: bool = True
    locked: bool = False

    @property
    def step_s(self) -> float:
        """Time of a step."""
        return sum(seconds for seconds, _ in self.step)

    def script(self, steps: int, idle_s: float, begin_s: float, random: np.random.Generator | None = None) -> Script:
        """Return a window that begins with sleep at `begin_s`; without `random` the one that is to be expected."""
        scale = 1.0 if random is None else 1 + SPREAD * random.standard_normal()
        once = [(seconds, scale * amperes) for seconds, amperes in self.step]
        awake = once[0][1]
        up = begin_s + ARRIVE_S + idle_s
        down = up + steps * self.step_s
        stretches = [
            (ARRIVE_S, awake),
            (idle_s, self.idle_a[0]),
            *(once * steps),
            (idle_s, self.idle_a[1]),
            (DIGEST_S, awake),
            (0.001, self.idle_a[0]),
        ]
        edges = [Edge(up, True), Edge(down, False)]
        if self.bounce_s:
            share = (
                self.bounce_at if self.bounce_at is not None else 0.5 if random is None else random.uniform(0.2, 0.8)
            )
            middle = up + share * (down - up)
            edges[1:1] = [Edge(middle, False), Edge(middle + self.bounce_s, True)]
        trace = joined([(0.001, self.idle_a[0]), *stretches], begin_s - 0.001)
        return Script(trace, tuple(edges), up, down, self.idle_a, steps, down + idle_s + DIGEST_S)


@dataclass
class Board:
    """The agent's side of a trial.

    Attributes:
        work: what it does.
        world: whose time passes.
        random: of windows.
        attach: shows an instrument the script of a window.
        grid: returns when its readings begin.
        windows: how many it has run.
    """

    work: Work
    world: World
    random: np.random.Generator
    attach: Callable[[Script], None]
    grid: Callable[[], tuple[float, float]]
    windows: int = 0
    phase: float | None = None
    script: Script | None = field(default=None)
    counted: int = 0
    clock_hz: int = int(CLOCK_HZ)

    @property
    def identity(self) -> Identity:
        """What it says of itself."""
        return Identity("board", 0, 0, 1024, int(CLOCK_HZ), "dwt" if self.work.counts else "none")

    def fill(self, batch: Any) -> None:
        """Take a batch."""

    def run(self, first: int, steps: int, samples: int, idle_ms: int, silence_s: float, *_: Any, **__: Any) -> Stepped:
        """Sleep, raise the marker, train, lower it, sleep, answer."""
        begin = self.world.now() + self.random.uniform(0.001, 0.005)
        if self.work.locked:
            begin = self._in_phase(begin, ARRIVE_S + idle_ms / 1000)
        self.script = self.work.script(steps, idle_ms / 1000, begin, self.random)
        self.attach(self.script)
        self.windows += 1
        self.world.until(self.script.answer_s)
        cycles = int((self.script.down_s - self.script.up_s) * CLOCK_HZ * (1 + self.random.uniform(-0.001, 0.001)))
        self.counted = cycles
        phases = dict.fromkeys(LAP_PHASES, 0) | {LAP_PHASES[0]: cycles, "total": cycles + DIGEST, "digest": DIGEST}
        return Stepped(first + steps - 1, 0.0, 0.0, phases, (1,), 1)

    def _in_phase(self, begin_s: float, up_s: float) -> float:
        """Return a later begin whose rise lies where that of the first window lay between two readings."""
        first, step = self.grid()
        place = (begin_s + up_s - first) / step % 1
        self.phase = place if self.phase is None else self.phase
        return begin_s + (self.phase - place) % 1 * step

    def laps(self, steps: int) -> list[tuple[int, ...]]:
        """Return the cycles of each phase of each of the first 32 steps."""
        ends = [self.counted * step // steps for step in range(steps + 1)]
        each = [end - begin for begin, end in itertools.pairwise(ends)]
        return [(one, *[0] * (len(LAP_PHASES) - 1)) for one in each[:32]]

    def stretches(self) -> tuple[int, list[tuple[str, int]]]:
        """Return how many stretches a step has, and each."""
        return 1, [(LAP_PHASES[0], self.laps(self.script.steps if self.script else 0)[-1][0])]

    def profile(self, layers: int) -> None:
        """Return None: layers are not counted."""
        return

    def mark_by_pulses(self) -> None:
        """The marker is always a level here."""


def trial_of(board: Board, supply_v: float) -> Any:
    """Return what a trial on hardware is when its compared steps are through, as far as the energy windows look at
    it."""
    outcome = SimpleNamespace(
        reality="hardware",
        clock_hz=int(CLOCK_HZ),
        difference=None,
        autonomous=0,
        final_digests=(),
        energy=None,
        power=[],
        figures=Figures(),
        steps=[SimpleNamespace(cycles={"total": int(board.work.step_s * CLOCK_HZ)})],
    )
    p = SimpleNamespace(
        board=SimpleNamespace(supply_v=supply_v, name="scripted"),
        settings=SimpleNamespace(batch=1),
        slots=8,
        data=SimpleNamespace(train_images=np.zeros((100, 1))),
        method=SimpleNamespace(
            plan=SimpleNamespace(tensors=[SimpleNamespace(name="w")], layers=()),
            figures=SimpleNamespace(least_cycles=lambda: LeastCycles((), LEAST)),
        ),
        image=None,
        plan=None,
    )
    reference = SimpleNamespace(step=lambda images, labels: SimpleNamespace(digests=(1,)))
    images = np.zeros((1, 1))
    return SimpleNamespace(
        p=p,
        outcome=outcome,
        device=board,
        reference=reference,
        probe_check=None,
        checks=Checks(p, board, None, outcome.figures, silicon=False),  # its time is the script's, not the host's
        next_step=1,
        watch=Watch(),
        next_batch=lambda: Batch(images, np.zeros(1)),
    )


def enough(step_s: float, window_s: float) -> int:
    """Return how many steps make a window."""
    return max(math.ceil(window_s / step_s), 1)
