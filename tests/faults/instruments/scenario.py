"""One row of the table: an instrument, what is wrong with it or with what it looks at, and how it went in a number of
trials."""

from __future__ import annotations

import contextlib
import inspect
import re
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.meter import Host, InvalidWindow
from hil.meters.open import open_meter
from hil.training.trial.energy import measure_windows
from hil.training.trial.spec import EnergyWindows

from .analog import Errors, Front, drawn
from .board import Board, Work, enough, trial_of
from .dialects import DIALECTS
from .faults import Faults
from .scpi import Instrument, served
from .trace import Script
from .world import World

VOLT = 3.3
SEED = 14


@dataclass(frozen=True)
class Scenario:
    """One row.

    Attributes:
        name: as the table says it.
        meter: key of the data sheet.
        work: what the board does.
        errors: what the instrument has beyond what it drew within its data sheet, by name.
        faults: fields of `Faults`.
        window_s: of a window.
        held: the interval must cover the truth, and nothing be blocked: it is no fault, or one that was always seen.
        twist: last changes of the instrument.
        flag: what a sentence that names the fault contains.
        always: such a flag counts too where it also stands beside trials without the fault.
        declared: what rig.toml says of board and supply, as far as the project knows the word.
        tool: `trial`, or `measure` for `hil measure`, with `options`.
        latency_s: what an exchange with the instrument takes; 0: what it usually does.
    """

    name: str
    meter: str
    work: Work
    errors: dict[str, float] = field(default_factory=dict)
    faults: dict[str, Any] = field(default_factory=dict)
    window_s: float = 1.0
    held: bool = False
    twist: Callable[[Any], None] | None = None
    flag: str = ""
    always: bool = False
    declared: dict[str, float] = field(default_factory=dict)
    tool: str = "trial"
    latency_s: float = 0.0
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One trial. `ratio` and `half` are value and half width over the truth; of a blocked one NaN.

    Attributes:
        covers: the interval holds the truth.
        thrown: windows that were thrown away.
        blocked: why; empty where it was not.
        flags, assumptions: of the result.
        refused: commands that the instrument did not take.
        spoiled: why the driver threw windows away.
    """

    ratio: float
    half: float
    covers: bool
    thrown: int
    blocked: str
    flags: tuple[str, ...]
    assumptions: tuple[str, ...]
    refused: tuple[str, ...]
    spoiled: tuple[str, ...] = ()


@dataclass
class Setup:
    """One trial's world: instrument, board and the noise of both."""

    scenario: Scenario
    number: int

    def __post_init__(self) -> None:
        one = self.scenario
        self.random = np.random.default_rng((SEED, self.number, zlib.crc32(one.name.encode())))
        self.sheet = load_data_sheet(one.meter)
        self.world = World(one.latency_s or DIALECTS[one.meter].answer_s)
        errors: Errors = replace(drawn(self.sheet, self.random), **({"over": DIALECTS[one.meter].over} | one.errors))
        self.front = Front(self.sheet, errors, VOLT, np.random.default_rng(self.random.integers(2**63)))
        faults = Faults(np.random.default_rng(self.random.integers(2**63)), **one.faults)
        self.instrument: Instrument = DIALECTS[one.meter](self.world, self.front, faults)
        if one.twist is not None:
            one.twist(self.instrument)
        self.board = Board(
            one.work, self.world, np.random.default_rng(self.random.integers(2**63)), self.attach, self.instrument.grid
        )

    def attach(self, script: Script) -> None:
        """Show the instrument a window that is to come."""
        with self.instrument.lock:
            self.instrument.fill()
            self.front.trace, self.instrument.script = script.trace, script

    def truth(self, steps: int) -> float:
        """Return the net energy of a step, to be expected at the board."""
        return self.scenario.work.script(steps, 0.1, 0.0).net_j(self.front.volt, self.front.ohm(self.instrument.range))


def run(scenario: Scenario, number: int) -> Result:
    """Run one trial by the project's own path: PyVISA over TCP, driver, windows, evaluation."""
    if scenario.tool == "measure":
        from .tool import run_measure

        return run_measure(Setup(scenario, number))
    setup = Setup(scenario, number)
    trial = trial_of(setup.board, VOLT)
    wanted = EnergyWindows(steps=enough(scenario.work.step_s, scenario.window_s))
    blocked, spoiled = "", []
    host = Host(setup.world.now, setup.world.sleep)
    try:
        with (
            served(setup.instrument) as address,
            open_meter(address, VOLT, scenario.meter, host) as meter,
            watched(meter, setup.world, spoiled),
        ):
            known = inspect.signature(measure_windows).parameters
            measure_windows(
                trial, meter, wanted, **{key: value for key, value in scenario.declared.items() if key in known}
            )
    except (Blocked, RigError) as error:
        blocked = str(error)
    except Exception as error:  # a traceback is no verdict: it is counted as a miss, and named
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = f"CRASH {type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        return Result(np.nan, np.nan, False, 0, "", (), (name,), tuple(setup.instrument.refused))
    refused = tuple(setup.instrument.refused)
    result = trial.outcome.energy
    if result is None:
        return Result(
            np.nan, np.nan, False, setup.board.windows, blocked or "no result", (), (), refused, tuple(spoiled)
        )
    truth = setup.truth(result.task.steps)
    low, high = result.limits
    thrown = setup.board.windows - 1 - len(result.windows)
    flags = (*result.flags, *(["aliased"] if result.aliased else []))
    return Result(
        result.per_step / truth,
        (high - low) / 2 / truth,
        bool(low <= truth <= high),
        thrown,
        blocked,
        flags,
        tuple(result.assumptions),
        refused,
        tuple(spoiled),
    )


@contextlib.contextmanager
def watched(meter: Any, world: World, spoiled: list[str]) -> Iterator[None]:
    """Let the world know when the meter is armed, who reads it, and when the host has passed the board's answer on."""
    arm, capture, mark = meter.arm, meter.capture, getattr(meter, "mark", None)

    def armed() -> None:
        arm()
        world.hold()

    def captured(deadline_s: float) -> Any:
        try:
            return capture(deadline_s)
        except InvalidWindow as error:
            spoiled.append(str(error))
            raise
        finally:
            world.reader_gone()

    def marked(begins: bool, *args: Any, **more: Any) -> None:
        mark(begins, *args, **more)
        if not begins:
            world.go_on()

    meter.arm, meter.capture = armed, captured
    if mark is not None:
        meter.mark = marked
    else:
        until = world.until
        world.until = lambda stop: (until(stop), world.go_on())  # type: ignore[method-assign]
    yield


def sentence(text: str) -> str:
    """Return a sentence without its numbers, by which it is known again."""
    return re.sub(r"[-+]?\d[\d.,e%+-]*", "#", text)
