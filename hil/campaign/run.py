"""Run a campaign: trial after trial, each from the last checkpoint, until all steps are done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hil.campaign.board_slots import BoardSlots
from hil.campaign.checkpoints import Checkpoints
from hil.campaign.fetch import fetch
from hil.campaign.home import STOP
from hil.campaign.journal import NAME, Journal, read_journal
from hil.campaign.keeper import Keeper, StopAsked
from hil.campaign.plan import Plan
from hil.campaign.point import Point, point_of
from hil.campaign.signals import Signals
from hil.errors import RigError
from hil.record import TrialWriter
from hil.rig import Rig
from hil.trial import TrialSpec, Watch, run_trial
from hil.trial.outcome import Outcome
from hil.trial.recording import steps_table, trial_record

LEGS = "legs"  # folder of the trials
LEG_STEPS = 10_000  # a trial keeps a row a step in memory, about 1 kB each, until its table is written
TRIES = 3  # legs in a row that may be blocked without a step done; a cable comes back, a wrong rig.toml does not
PAUSE_S = 5.0
CURED_BY_TIME = ("bench", "connect", "flash", "identify", "link", "power", "probe", "read", "reset")  # stages


@dataclass(frozen=True)
class End:
    """How a session of a campaign ended: `pass`, `fail`, `blocked` or `stopped`, and why; `step` comes next."""

    verdict: str
    reason: str
    step: int


class Campaign:
    """One session on a campaign; whoever runs it holds the folder.

    Args:
        folder: of the campaign.
        plan: what it is to do.
        rig: gives the board.
        signals: ask for a stop.
        watch: is called as the trials go on; its `agreed` is not.
        tell: takes sentences for the user.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        rig: Rig,
        signals: Signals,
        watch: Callable[[TrialSpec], Watch],
        tell: Callable[[str], None],
    ) -> None:
        self._folder, self._plan, self._rig, self._signals, self._watch, self._tell = (
            folder,
            plan,
            rig,
            signals,
            watch,
            tell,
        )
        self._whole = plan.trial(folder)
        self._end = self._whole.first_step + self._whole.steps
        self._checkpoints = Checkpoints(folder, plan.number)

    def run(self) -> End:
        """Go on from where the folder says, to the end, or to a cut.

        Raises:
            RigError: the folder is damaged, or the request is wrong.
        """
        told = read_journal(self._folder / NAME, self._whole.first_step)
        self._checkpoints.forget_parts()
        with Journal(self._folder / NAME, told) as journal:
            end = self._legs(journal)
            journal.append("end", verdict=end.verdict, reason=end.reason, step=end.step)
            journal.sync()
        return end

    def _legs(self, journal: Journal) -> End:
        """Run one trial after another; one that is blocked by what may pass is begun again from the last checkpoint."""
        keeper = Keeper(journal, self._checkpoints, self._plan.checkpoint_every, self._end, self._stop_asked)
        slots = BoardSlots(journal, self._plan.number, self._plan.board_every, self._tell)
        fruitless, cut = 0, journal.told.next_step > self._whole.first_step
        while True:
            point = self._point(journal)
            if point.step >= self._end:
                return End("pass", "", point.step)
            self._enter(journal, point, cut)
            try:
                outcome = self._leg(point, keeper, slots)
            except StopAsked:
                return End("stopped", self._asked_by(), point_of(journal.told, self._checkpoints).step)
            done = point_of(journal.told, self._checkpoints).step
            cut = outcome.verdict == "blocked"
            if outcome.verdict == "fail" or (cut and outcome.stage not in CURED_BY_TIME):
                return End(outcome.verdict, outcome.reason, done)
            fruitless = fruitless + 1 if cut and done == point.step else 0
            if fruitless == TRIES:
                return End("blocked", f"{outcome.stage}: {outcome.reason}", done)
            if cut:
                self._tell(
                    f"blocked at {outcome.stage}: {outcome.reason} The campaign goes on from step {done:,} in {PAUSE_S:.0f} s."
                )
                time.sleep(PAUSE_S)

    def _enter(self, journal: Journal, point: Point, cut: bool) -> None:
        if cut:
            again = f", {point.again} computed once more" if point.again else ""
            self._tell(f"goes on at step {point.step:,} of {self._end:,}{again}")
        journal.append("from", step=point.step, again=point.again, cut=cut)

    def _point(self, journal: Journal) -> Point:
        """Return where to go on; a newer checkpoint that the board alone has is fetched first."""
        point = point_of(journal.told, self._checkpoints)
        if journal.told.board is None or journal.told.board <= point.step:
            return point
        try:
            fetched = fetch(
                self._spec(point), self._rig, self._folder, self._plan.number, journal.told, self._checkpoints
            )
        except RigError as error:
            self._tell(
                f"the board's checkpoint cannot be had ({error}): the campaign goes on from that of this computer."
            )
            return point
        return point_of(journal.told, self._checkpoints) if fetched else point

    def _leg(self, point: Point, keeper: Keeper, slots: BoardSlots) -> Outcome:
        """Run one trial from a point on."""
        spec = self._spec(point)
        writer = TrialWriter(self._folder / LEGS)
        writer.folder.mkdir(exist_ok=True)
        folder = writer.trial_folder(spec.name)
        shown = self._watch(spec)

        def begun(outcome: Outcome) -> None:
            writer.begin_trial(trial_record(outcome), folder)

        def ended(outcome: Outcome) -> None:
            if outcome.steps:
                writer.write_trial(trial_record(outcome), steps_table(outcome), folder)
            else:
                writer.begin_trial(trial_record(outcome), folder)

        def stage(name: str) -> None:
            shown.stage(name)
            keeper.stage(name)

        watch = replace(shown, begun=begun, ended=ended, stage=stage, agreed=lambda trial: keeper.agreed(trial, slots))
        try:
            return run_trial(spec, self._rig, folder, watch=watch, again=False)
        except RigError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _spec(self, point: Point) -> TrialSpec:
        """Return the trial from a point on. Only the last one of a campaign is evaluated, which changes no weight."""
        steps = min(LEG_STEPS, self._end - point.step)
        last = point.step + steps == self._end
        checkpoint = self._whole.checkpoint if point.checkpoint is None else point.checkpoint
        return replace(
            self._whole,
            first_step=point.step,
            steps=steps,
            checkpoint=checkpoint,
            evaluate=self._whole.evaluate if last else 0,
        )

    def _stop_asked(self) -> bool:
        return self._signals.received is not None or (self._folder / STOP).exists()

    def _asked_by(self) -> str:
        return f"by {self._signals.received.name}" if self._signals.received is not None else "by `hil campaign stop`"
