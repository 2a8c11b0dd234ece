"""Run a trial for the fixture `hil_trial`: show its progress and record it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hil.errors import Blocked, RigError, shown
from hil.history.earlier import EarlierNights
from hil.history.keeper import Keeper
from hil.record import TrialRecord, TrialWriter
from hil.record.progress import ProgressFile
from hil.rig import Rig
from hil.session.tracker import Tracker
from hil.trial import TrialSpec, Watch, run_trial
from hil.trial.outcome import Outcome, StepRow
from hil.trial.progress import TRAIN, ProgressLine, loss_a_sample
from hil.trial.recording import latency_table, steps_table, trial_record

WRITER = pytest.StashKey[TrialWriter]()  # of the config: writes the trials of this process
KEEPER = pytest.StashKey[Keeper]()  # of the config: knows the boards in quarantine
EARLIER = pytest.StashKey[EarlierNights]()  # of the config: the nights before this run
ERASE = "\r\x1b[2K"  # erases the line of the cursor (ECMA-48, EL)
EVALUATIONS = 8  # during a training with --energy-to
# The computer has no disk space, file descriptors or memory left. Libraries for tables are imported late.
EXHAUSTED = (OSError, MemoryError, ImportError)


class Trials:
    """Runs the trials of one test; `reflash` has the boards that --reflash has yet to program."""

    def __init__(self, item: pytest.Item, rig: Rig, writer: TrialWriter, reflash: set[str], tracker: Tracker) -> None:
        self._item, self._config = item, item.config
        self._rig, self._writer, self._reflash, self._tracker = rig, writer, reflash, tracker

    def run(self, spec: TrialSpec) -> Outcome:
        """Run one trial and return its outcome.

        Raises:
            RigError: the request is wrong; nothing was started, and no trial is recorded.
            Blocked: the rig could not tell.
        """
        if not isinstance(spec, TrialSpec):
            raise RigError(f"hil_trial was given {spec!r}: give it a TrialSpec.")
        spec = _with_energy(_with_budgets(spec, self._item), self._config)
        try:
            folder = self._writer.trial_folder(spec.name)
        except OSError as error:
            raise _disk_error(self._writer.folder, error) from error
        try:
            outcome = self._recorded(spec, folder)
        except RigError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if outcome.verdict == "blocked":
            raise Blocked(outcome.stage, outcome.reason)
        return outcome

    def _recorded(self, spec: TrialSpec, folder: Path) -> Outcome:
        file = ProgressFile(folder)

        def stage(name: str) -> None:
            line.stage(name)
            file.stage(name, spec.steps if name == TRAIN else 0)

        def step(row: StepRow) -> None:
            line.step(row)
            file.step(loss_a_sample(row, spec.batch))

        def part(done: int, of: int) -> None:
            line.part(done, of)
            if not line.trains:
                file.part(done, of)

        def ended(outcome: Outcome) -> None:
            file.remove()
            self._end(outcome, folder)

        with _progress_line(self._config, spec) as line:
            watch = Watch(
                begun=lambda outcome: self._begin(outcome, folder), ended=ended, stage=stage, step=step, part=part,
                power=file.power, tell=line.tell,
            )  # fmt: skip
            elf = self._config.getoption("elf")
            outcome = run_trial(
                spec, self._rig, folder, elf, reflash=spec.board in self._reflash, watch=watch,
                earlier=self._config.stash[EARLIER],
            )  # fmt: skip
        if outcome.flash is not None:
            self._reflash.discard(spec.board)
        return outcome

    def _record(self, outcome: Outcome) -> TrialRecord:
        return trial_record(outcome, self._tracker.entry.test, self._rig.attached(outcome.spec.board))

    def _begin(self, outcome: Outcome, folder: Path) -> None:
        """Write the record that remains if the trial is killed. A full disk is found here, before flashing."""
        try:
            self._writer.begin_trial(self._record(outcome), folder)
        except OSError as error:
            raise _disk_error(folder, error) from error

    def _end(self, outcome: Outcome, folder: Path) -> None:
        record = self._record(outcome)
        record.folder = folder.name
        keeper, named = self._config.stash[KEEPER], self._rig.bench.find(record.board)
        record.quarantine = keeper.ended(record, at_place=named is not None and named.wanted_place is not None)
        if keeper.problem and keeper.problem not in self._tracker.notes:
            self._tracker.notes.append(keeper.problem)
        self._tracker.trials.append(record)
        try:
            if outcome.verdict == "interrupted":
                self._writer.begin_trial(record, folder)  # without tables, so that Ctrl-C ends the session quickly
            else:
                tables = outcome.power, latency_table(outcome)
                self._writer.write_trial(record, steps_table(outcome), folder, *tables, trained=outcome.trained)
        except EXHAUSTED as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self._tracker.missing.append(f"{folder.name}: {reason}.")


def _disk_error(folder: Path, error: OSError) -> Blocked:
    reason = error.strerror or error
    sentence = f"the trial cannot be recorded in {folder} ({reason}): check the disk, nothing was flashed."
    return Blocked("record", sentence)


def _with_budgets(spec: TrialSpec, item: pytest.Item) -> TrialSpec:
    """Return the trial with the budgets of the test's marker `budget`; those of the trial itself come first."""
    marked: dict[str, Any] = {}
    for mark in item.iter_markers("budget"):  # the nearest first
        if mark.args:
            raise RigError(
                f'the marker budget has {shown(mark.args[0])}: name the figure, as in budget(sram="256 KiB").'
            )
        marked = dict(mark.kwargs) | marked
    return replace(spec, budgets=marked | dict(spec.budgets)) if marked else spec


def _with_energy(spec: TrialSpec, config: pytest.Config) -> TrialSpec:
    """Return the trial with the energy options of the command line, if it measures energy."""
    if spec.energy is None:
        return spec
    rules = config.getoption("energy_rules")
    uncertainty = None if rules else config.getoption("energy_u") or spec.energy.uncertainty
    accuracy = config.getoption("energy_to") or spec.energy.accuracy
    every = spec.evaluate_every or (max(1, spec.steps // EVALUATIONS) if accuracy is not None and spec.evaluate else 0)
    energy = replace(spec.energy, uncertainty=uncertainty, rules=rules or spec.energy.rules, accuracy=accuracy)
    return replace(spec, energy=energy, evaluate_every=every)


@contextlib.contextmanager
def _progress_line(config: pytest.Config, spec: TrialSpec) -> Iterator[ProgressLine]:
    """Yield the live line. It is drawn on a copy of the terminal that pytest does not capture; with -q it is silent."""
    capture = config.pluginmanager.getplugin("capturemanager")
    reporter = config.pluginmanager.getplugin("terminalreporter")
    with capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext():
        try:
            terminal = os.dup(sys.stdout.fileno())
        except (OSError, ValueError):  # standard output is not a file
            terminal = os.open(os.devnull, os.O_WRONLY)
        width = shutil.get_terminal_size().columns
        live = os.isatty(terminal) and config.option.verbose >= 0
        # What pytest has written of its current line, such as the name of the file, is written again at the end.
        current = getattr(reporter, "_tw", None) and reporter._tw._current_line
        if live:
            sys.stdout.flush()
    with os.fdopen(terminal, "w", encoding="utf-8", errors="replace") as out:
        console = Console(file=out, quiet=config.option.verbose < 0, width=width if live else None)
        if live:
            out.write(ERASE)
        try:
            with ProgressLine(spec, console) as line:
                yield line
        finally:
            if live:
                out.write(ERASE + (current or ""))
