"""Run a trial for the fixture `hil_trial`: show its progress and record it."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from rich.console import Console

from hil.errors import NO_WORKING_FOLDER, Blocked, RigError, shown, working_folder
from hil.record import TrialExtras, TrialRecord, TrialWriter
from hil.record.progress import ProgressFile
from hil.rig import Rig
from hil.session.device_figures import marked_budgets
from hil.session.requests import HERE
from hil.session.run_state import EARLIER, disk_error
from hil.session.shadows import SHADOWED
from hil.session.tracker import Tracker
from hil.training.trial import TrialSpec, Watch, run_trial
from hil.training.trial.lockstep_outcome import StepRow
from hil.training.trial.outcome import Outcome
from hil.training.trial.progress import TRAIN, ProgressLine, loss_a_sample
from hil.training.trial.recording import latency_table, steps_table, trial_record

ERASE = "\r\x1b[2K"  # erases the line of the cursor (ECMA-48, EL)
EVALUATIONS = 8  # during a training with --energy-to
# The computer has no disk space, file descriptors or memory left. Libraries for tables are imported late.
EXHAUSTED = (OSError, MemoryError, ImportError)


class Trials:
    """Runs the trials of one test, also from threads; `reflash` has the boards that --reflash has yet to program."""

    def __init__(self, item: pytest.Item, rig: Rig, writer: TrialWriter, reflash: set[str], tracker: Tracker) -> None:
        self._item, self._config, self._thread = item, item.config, threading.get_ident()
        self._rig, self._writer, self._reflash, self._tracker = rig, writer, reflash, tracker
        self._requests = tracker.requests

    def __reduce__(self) -> NoReturn:
        """Refuse to be sent to another process, as a pool of processes would."""
        refusal = RigError(f"hil_trial cannot be sent to another process: {HERE}")
        self._tracker.note(refusal)
        raise refusal

    def run(self, *given: Any, **named: Any) -> Outcome:
        """Run one trial and return its outcome; requests of several threads run one after the other.

        The only argument is the TrialSpec, also as `spec=`. A wrong call is a refused request too, not a TypeError: a
        test may catch it.

        The test has the verdict of every request, also of one whose error it catches.

        Raises:
            RigError: the request is wrong, its test has ended, or this is not the process of the test; nothing was
                started, and no trial is recorded.
            Blocked: the rig could not tell.
        """
        with self._requests.take_turn():
            before = len(self._tracker.trials)
            try:
                return self._run(_the_spec(given, named))
            except RigError as error:
                if len(self._tracker.trials) == before:
                    self._tracker.note(error)
                raise

    def close(self) -> None:
        """Wait for the trials of all threads, at the end of the test; later requests are refused."""
        self._requests.close()

    def _run(self, spec: TrialSpec) -> Outcome:
        sentence = self._config.stash.get(SHADOWED, None)
        if sentence is not None:
            raise RigError(sentence)
        if working_folder() is None:
            raise Blocked("test", NO_WORKING_FOLDER)
        device = self._tracker.device
        if device is not None and device.dut is not None and device.board == spec.board:
            raise RigError(f"hil_dut has {spec.board} in this test: run the trial in a test of its own.")
        spec = _with_energy(_with_budgets(spec, self._item), self._config)
        try:
            folder = self._writer.trial_folder(spec.name)
        except OSError as error:
            raise disk_error(self._writer.folder, error) from error
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

        with _progress_line(self._config, spec, shown=threading.get_ident() == self._thread) as line:
            watch = Watch(
                begun=lambda outcome: self._begin(outcome, folder), ended=ended, stage=stage, step=step, part=part,
                power=file.power, tell=line.tell,
            )  # fmt: skip
            elf = self._config.getoption("elf")
            outcome = run_trial(
                spec, self._rig, folder, elf, reflash=spec.board in self._reflash, watch=watch,
                earlier=self._config.stash[EARLIER], clock=self._writer.clock,
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
            raise disk_error(folder, error) from error

    def _end(self, outcome: Outcome, folder: Path) -> None:
        record = self._record(outcome)
        record.folder = folder.name
        self._tracker.count(record, self._config)
        self._tracker.trials.append(record)
        try:
            if outcome.verdict == "interrupted":
                self._writer.begin_trial(record, folder)  # without tables, so that Ctrl-C ends the session quickly
            else:
                prepared = outcome.prepared
                # `hil verify --recompute` begins with it: name and seed do not give it
                own = prepared is not None and (prepared.source is not None or outcome.spec.checkpoint is not None)
                network = prepared.blob if prepared is not None and own else None
                extras = TrialExtras(
                    outcome.power, latency_table(outcome), outcome.trained, network, executed=outcome.executed
                )
                self._writer.write_trial(record, steps_table(outcome), folder, extras)
        except EXHAUSTED as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self._tracker.missing.append(f"{folder.name}: {reason}.")


def _the_spec(given: tuple[Any, ...], named: Mapping[str, Any]) -> TrialSpec:
    values = [*given, *named.values()]
    if len(values) != 1 or named.keys() - {"spec"}:
        words = [shown(value) for value in given] + [f"{name}={shown(value)}" for name, value in named.items()]
        what = ", ".join(words) or "nothing"
        raise RigError(f"hil_trial was given {what}: give it one TrialSpec, and nothing else.")
    if not isinstance(values[0], TrialSpec):
        raise RigError(f"hil_trial was given {shown(values[0])}: give it a TrialSpec.")
    return values[0]


def _with_budgets(spec: TrialSpec, item: pytest.Item) -> TrialSpec:
    """Return the trial with the budgets of the test's marker `budget`; those of the trial itself come first."""
    marked = marked_budgets(item)
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
def _progress_line(config: pytest.Config, spec: TrialSpec, shown: bool) -> Iterator[ProgressLine]:
    """Yield the live line. It is drawn on a copy of the terminal that pytest does not capture; with -q it is silent.

    A trial in a thread of the test is not `shown`: the terminal, and what pytest captures, belong to the test.
    """
    if not shown:
        with ProgressLine(spec, Console(file=io.StringIO(), quiet=True)) as line:
            yield line
        return
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
