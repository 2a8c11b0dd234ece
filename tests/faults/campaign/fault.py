"""One fault: what happens, when, and which ends are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BOARD = "stm32h7b3"
DRAW = 15  # first word of the seed of a fault; the others are the campaign's seed and the fault's number


@dataclass(frozen=True)
class Moment:
    """An instant within a trial.

    Attributes:
        stage: of the trial; nothing is counted before it begins.
        event: what is counted from there: `to_board` and `to_host` (bytes on the line), `probe` and `meter` (requests to them); `stage`: nothing.
        count: how many of them come first.
        later_s: seconds from there.
    """

    stage: str
    event: str
    count: int
    later_s: float = 0.0

    def __str__(self) -> str:
        counted = (
            f"{self.count:,} requests to the {self.event}"
            if self.event in ("probe", "meter")
            else f"{self.count:,} bytes {self.event.replace('_', ' ')}"
        )
        after = [counted] if self.event != "stage" else []
        after += [f"{self.later_s:.2f} s"] if self.later_s else []
        return f"stage {self.stage}" + (f", after {' and '.join(after)}" if after else "")


@dataclass(frozen=True)
class Measured:
    """What goes on without a fault; moments are drawn within it.

    Attributes:
        digests: of all weights after the last step, by the name of the test or of the trial; `campaign`.
        events: how often each event comes in each stage of a trial, of one that programs the flash (`flash`) and of one that does not (`plain`).
        trial_s: seconds of a trial.
        session_s: seconds of a session, from its start to its end; 0 where none was measured.
        instructions: of the board in a session.
        campaign_s: as `session_s`, of a campaign.
    """

    digests: Mapping[str, str]
    events: Mapping[str, Mapping[str, Mapping[str, int]]]
    trial_s: float
    session_s: float
    instructions: int
    campaign_s: float = 0.0


@dataclass(frozen=True)
class Fault:
    """One fault, as data: acts.py and strike.py carry it out.

    Attributes:
        kind: its name; expected.py has the ends that are right.
        moment: when, in words.
        scene: `desk` (a trial on a bench that outlives it), `session` (a whole run of pytest), `campaign` (`hil campaign`, gone on with after a cut) or
            `instrument` (a meter's, without a board).
        act: what is done.
        at: when, in a trial; None: before it begins.
        after_s: when, in a session: seconds from its start; in a campaign: from its last step before the fault.
        options: of the act.
        inject: `--inject` of a bench of its own.
        trial: `plain`, `flash` or `energy`.
        power: whether rig.toml names what feeds the board.
        direct: whether the rig uses the bench's own ports, with nothing of the campaign between.
        follows: whether a trial that comes after it, on the same rig, has to pass.
    """

    kind: str
    moment: str
    scene: str = "desk"
    act: str = ""
    at: Moment | None = None
    after_s: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    inject: tuple[str, ...] = ()
    trial: str = "plain"
    power: bool = False
    direct: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: as `Fault.kind`.
        scene: as `Fault.scene`.
        draw: draws one.
    """

    name: str
    scene: str
    draw: Callable[[np.random.Generator, Measured], Fault]


def drawn(kinds: Sequence[Kind], seed: int, number: int, measured: Measured) -> Fault:
    """Return a fault of a campaign: the same for a seed and a number, whichever shard it is in."""
    rng = np.random.Generator(np.random.PCG64([DRAW, seed, number]))
    return kind_at(kinds, number).draw(rng, measured)


TURN = 5  # kinds that a round begins later than the one before; with 1 a shard would miss kinds where their number is one more than a multiple of it


def kind_at(kinds: Sequence[Kind], number: int) -> Kind:
    """Return the kind of a fault: one after the other, each round from another one on, so that every shard meets every kind."""
    return kinds[(number + TURN * (number // len(kinds))) % len(kinds)]
