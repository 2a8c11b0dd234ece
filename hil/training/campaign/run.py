"""Run a campaign: one trial after another, each from the last checkpoint, until all steps are done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hil.errors import RigError
from hil.record import TrialExtras, TrialWriter
from hil.rig import Rig
from hil.training.campaign.board_checkpoints import fetch_checkpoint
from hil.training.campaign.board_slots import BoardSlots
from hil.training.campaign.checkpoints import Checkpoints, ResumePoint
from hil.training.campaign.folder import STOP
from hil.training.campaign.journal import NAME, Journal, read_journal
from hil.training.campaign.plan import CampaignPlan
from hil.training.campaign.signals import StopSignal
from hil.training.campaign.step_saver import StepSaver, StopRequested
from hil.training.trial import TrialSpec, Watch, run_trial
from hil.training.trial.outcome import Outcome
from hil.training.trial.recording import steps_table, trial_record

LEGS = "legs"  # folder of the trials
LEG_STEPS = 10_000  # until its table is written, a trial keeps about 1 kB in memory for each step
TRIES = 3  # consecutive trials that may be blocked before their first step
PAUSE_S = 5.0
TEMPORARY = ("bench", "connect", "flash", "identify", "link", "power", "probe", "read", "reset")  # stages to try again


@dataclass(frozen=True)
class CampaignEnd:
    """How a session of a campaign ended: `pass`, `fail`, `blocked` or `stopped`, why, and the next step."""

    verdict: str
    reason: str
    step: int


class Campaign:
    """One session of a campaign; the caller holds the lock of its folder.

    Args:
        folder, plan, rig, signals: of the campaign.
        watch: returns the callbacks of a trial; `agreed` is replaced.
        tell: prints a sentence for the user.
    """

    def __init__(
        self,
        folder: Path,
        plan: CampaignPlan,
        rig: Rig,
        signals: StopSignal,
        watch: Callable[[TrialSpec], Watch],
        tell: Callable[[str], None],
    ) -> None:
        self._folder, self._plan, self._rig, self._signals = folder, plan, rig, signals
        self._watch, self._tell = watch, tell
        self._trial = plan.trial(folder)
        self._end = self._trial.first_step + self._trial.steps
        self._checkpoints = Checkpoints(folder, plan.number)

    def run(self) -> CampaignEnd:
        """Continue the campaign until it ends, fails, is blocked or is stopped.

        Raises:
            RigError: the folder is damaged, or the request is wrong.
        """
        state = read_journal(self._folder / NAME, self._trial.first_step)
        self._checkpoints.remove_partial()
        with Journal(self._folder / NAME, state) as journal:
            end = self._run_trials(journal)
            journal.append("end", verdict=end.verdict, reason=end.reason, step=end.step)
            journal.sync()
        return end

    def _run_trials(self, journal: Journal) -> CampaignEnd:
        """Run trials. After one that was blocked for a temporary reason, continue from the last checkpoint."""
        saver = StepSaver(journal, self._checkpoints, self._plan.checkpoint_every, self._end, self._stop_requested)
        slots = BoardSlots(journal, self._plan.number, self._plan.board_every, self._tell)
        fruitless, cut = 0, journal.state.next_step > self._trial.first_step
        while True:
            point = self._resume_point(journal)
            if point.step >= self._end:
                return CampaignEnd("pass", "", point.step)
            self._log_start(journal, point, cut)
            try:
                outcome = self._run_trial(point, saver, slots)
            except StopRequested:
                by = self._signals.received.name if self._signals.received is not None else "`hil campaign stop`"
                return CampaignEnd("stopped", f"by {by}", self._checkpoints.resume_point(journal.state).step)
            done = self._checkpoints.resume_point(journal.state).step
            cut = outcome.verdict == "blocked"
            if outcome.verdict == "fail" or (cut and outcome.stage not in TEMPORARY):
                return CampaignEnd(outcome.verdict, outcome.reason, done)
            fruitless = fruitless + 1 if cut and done == point.step else 0
            if fruitless == TRIES:
                return CampaignEnd("blocked", f"{outcome.stage}: {outcome.reason}", done)
            if cut:
                then = f"The campaign continues from step {done:,} in {PAUSE_S:.0f} s."
                self._tell(f"blocked at {outcome.stage}: {outcome.reason} {then}")
                time.sleep(PAUSE_S)

    def _log_start(self, journal: Journal, point: ResumePoint, cut: bool) -> None:
        if cut:
            again = f", {point.again} computed again" if point.again else ""
            self._tell(f"continues at step {point.step:,} of {self._end:,}{again}")
        journal.append("from", step=point.step, again=point.again, cut=cut)

    def _resume_point(self, journal: Journal) -> ResumePoint:
        """Return where to continue, after fetching a newer checkpoint from the board if it has one."""
        point = self._checkpoints.resume_point(journal.state)
        if journal.state.board is None or journal.state.board <= point.step:
            return point
        spec, number = self._spec(point), self._plan.number
        try:
            fetched = fetch_checkpoint(spec, self._rig, self._folder, number, journal.state, self._checkpoints)
        except RigError as error:
            then = "the campaign continues from the checkpoint on this computer"
            self._tell(f"the checkpoint on the board cannot be read ({error}): {then}.")
            return point
        return self._checkpoints.resume_point(journal.state) if fetched else point

    def _run_trial(self, point: ResumePoint, saver: StepSaver, slots: BoardSlots) -> Outcome:
        """Run one trial."""
        spec = self._spec(point)
        writer = TrialWriter(self._folder / LEGS)
        writer.folder.mkdir(exist_ok=True)
        folder = writer.trial_folder(spec.name)
        shown = self._watch(spec)

        def begun(outcome: Outcome) -> None:
            writer.begin_trial(trial_record(outcome), folder)

        def ended(outcome: Outcome) -> None:
            if outcome.steps:
                extras = TrialExtras(trained=outcome.trained)
                writer.write_trial(trial_record(outcome), steps_table(outcome), folder, extras)
            else:
                begun(outcome)

        def stage(name: str) -> None:
            shown.stage(name)
            saver.stage(name)

        watch = replace(shown, begun=begun, ended=ended, stage=stage, agreed=lambda trial: saver.agreed(trial, slots))
        try:
            return run_trial(spec, self._rig, folder, watch=watch, again=False)
        except RigError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _spec(self, point: ResumePoint) -> TrialSpec:
        """Return the trial from a point onwards. Only the last trial is evaluated; this changes no weight."""
        steps = min(LEG_STEPS, self._end - point.step)
        evaluate = self._trial.evaluate if point.step + steps == self._end else 0
        checkpoint = self._trial.checkpoint if point.checkpoint is None else point.checkpoint
        return replace(self._trial, first_step=point.step, steps=steps, checkpoint=checkpoint, evaluate=evaluate)

    def _stop_requested(self) -> bool:
        return self._signals.received is not None or (self._folder / STOP).exists()
