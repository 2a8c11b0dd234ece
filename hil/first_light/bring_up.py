"""Run the stages of a first light in their order, and stop at the first that makes the next ones unsafe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.boards import Board
from hil.dut import CoreProbe, Dut
from hil.errors import Blocked, DeviceFault, RigError
from hil.first_light.facts import Facts
from hil.first_light.lines import KINDS, Line
from hil.first_light.registers import Registers
from hil.first_light.stage import NotPossible, Outcome, Result, Seen, Stage, result_of
from hil.first_light.stub import Stub, place_of
from hil.steady_clock import steady_s

NO_RIG = "the rig, not the board: mend it and run again."
FAULTY = "the board, or what the catalogue says of it, is not as assumed."


@dataclass
class BringUp:
    """A board that is brought up, and what earlier stages have found.

    Attributes:
        dut: the board.
        facts: what is known of its registers.
        folder: for files of the stages.
        refused: the error of the probe's connection, if it is the chip's identity.
        line: the UART as `UART` has left it; None if that was not reached.
        figures: figures by their names, in SI units, for later stages and for the record.
    """

    dut: Dut
    facts: Facts
    folder: Path
    refused: Blocked | None = None
    line: Line | None = None
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        """Catalogue entry."""
        return self.dut.board

    @property
    def probe(self) -> CoreProbe:
        """The probe. Raises NotPossible without one."""
        if not self.dut.has_probe:
            raise NotPossible(f"{self.board.name} has no debug probe here: name one in rig.toml (`probe`).")
        return self.dut.probe

    @property
    def is_simulated(self) -> bool:
        """Whether its time is not that of the host."""
        return self.dut.reality != "hardware"

    @property
    def registers(self) -> Registers:
        """Its registers, through the probe."""
        return Registers(self.probe)

    def stub(self) -> Stub:
        """Return the stub in its RAM; the core is not changed before it is started."""
        try:
            place_of(self.board)
        except RigError as error:
            raise NotPossible(str(error)) from error
        return Stub(self.board, self.probe)

    def new_line(self) -> Line:
        """Return the UART, not set up. Raises NotPossible if it is not known, or there is no port."""
        facts = self.facts.line
        if facts is None:
            raise NotPossible(
                f"the registers of the UART of {self.board.name} are not known (hil/first_light/boards): the line is "
                "tried with the image."
            )
        if not self.dut.has_port:
            raise NotPossible(f"{self.board.name} has no serial port here: name one in rig.toml (`serial`).")
        return KINDS[facts.kind](facts, self.probe, self.stub())


def bring_up(
    on: BringUp, stages: Iterable[Stage], tell: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Run stages in order and return their results; `tell` is called with each.

    After a gate that did not pass, nothing more is done to the board: the rest is `not reached`.
    """
    results: list[Result] = []
    closed: Result | None = None  # by which gate
    for stage in stages:
        if closed is not None:
            result = result_of(stage, Outcome.NOT_REACHED, "nothing", _after(closed))
        else:
            result = _without(stage, results) or _tried(stage, on)
        if stage.gate and closed is None and result.outcome in (Outcome.FAIL.value, Outcome.BLOCKED.value):
            closed = result
        results.append(result)
        tell(result)
    return results


def _after(gate: Result) -> str:
    return f"nothing was done to the board after the stage {gate.name}: mend that first."


def _without(stage: Stage, results: list[Result]) -> Result | None:
    """Return the result of a stage that says nothing without another one; None if it can be tried."""
    missing = [result for result in results if result.name in stage.needs and result.outcome != Outcome.PASS.value]
    if not missing:
        return None
    never = all(result.outcome == Outcome.NOT_POSSIBLE.value for result in missing)
    names = " and ".join(result.name for result in missing)
    outcome = Outcome.NOT_POSSIBLE if never else Outcome.NOT_REACHED
    return result_of(stage, outcome, "nothing", f"it says nothing without the stage {names}.")


def _tried(stage: Stage, on: BringUp) -> Result:
    begin = steady_s()
    outcome, seen = _outcome(stage, on)
    return result_of(stage, outcome, seen.seen, seen.meaning, steady_s() - begin)


def _outcome(stage: Stage, on: BringUp) -> tuple[Outcome, Seen]:
    try:
        seen = stage.run(on)
    except NotPossible as reason:
        return Outcome.NOT_POSSIBLE, Seen("nothing", str(reason))
    except DeviceFault as fault:
        return Outcome.FAIL, Seen(str(fault), FAULTY)
    except Blocked as blocked:
        return Outcome.BLOCKED, Seen(blocked.reason, NO_RIG)
    except RigError as error:
        return Outcome.BLOCKED, Seen(str(error), NO_RIG)
    return Outcome.PASS if seen.passed else Outcome.FAIL, seen
