"""Write the record of a run: its folder, results.json, results.csv and the link `latest`."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hil.atomic_write import atomic_file, write_atomic
from hil.errors import RigError
from hil.record.csv_table import csv_of
from hil.record.device_test import DeviceTest
from hil.record.device_tests import order, written_device_tests
from hil.record.origin import origin
from hil.record.parquet import Columns
from hil.record.results import RESULTS, SCHEMA, RunTotals
from hil.record.sums import SUMS, sums_of, write_sums
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import TrialExtras, TrialWriter, as_json, written_trials
from hil.record.validation import unrecordable
from hil.record.verdicts import AskedTest, totals
from hil.steady_clock import SteadyClock

RESULTS_FILE, CSV_FILE = "results.json", "results.csv"
RUNNING, ENDED, INTERRUPTED = "running", "ended", "interrupted"
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


class RunWriter(TrialWriter):
    """The record of one run, written by the process that began it; its workers only write trials.

    results.json is correct at any time, even if the run is killed: a test that has not ended is `interrupted`.

    Args:
        folder: of the run; it must exist.
        facts: id, time, commit, versions and host.
        clock: which gave the time.
    """

    def __init__(self, folder: Path, facts: dict[str, Any], clock: SteadyClock | None = None) -> None:
        super().__init__(folder, clock)
        self.facts = facts | {"state": RUNNING, "ended": None, "whole": False, "exit_code": None, "missing": []}
        self._tests: dict[str, AskedTest] = {}
        self._kept: dict[str, TrialRecord] = {}
        self._texts: dict[str, str] = {}  # of the kept trials, in results.json
        self._kept_device_tests: dict[str, DeviceTest] = {}

    @classmethod
    def begin(cls, root: Path, **facts: Any) -> RunWriter:
        """Make the folder of a new run in `root`, and write results.json into it.

        Raises:
            OSError: the disk is full or not writable.
        """
        clock = SteadyClock.set()
        now = clock.now()
        before = _newest(root)
        folder = _new_folder(root, f"{now:%Y%m%dT%H%M%SZ}")
        identity = {"id": folder.name, "uid": secrets.token_hex(16), "time": now.isoformat(timespec="seconds")}
        run = cls(folder, identity | ({"after": before} if before is not None else {}) | origin() | facts, clock)
        try:
            run.update()
        except OSError:
            folder.rmdir()
            raise
        return run

    def plan(self, tests: Iterable[AskedTest]) -> None:
        """Add the tests that will run trials, in the order in which they run."""
        self._tests |= {test.test: test for test in tests}

    def end_test(self, test: AskedTest) -> None:
        """Replace the entry of a test that has ended."""
        self._tests[test.test] = test

    def keep(self, record: TrialRecord) -> None:
        """Keep the record of a trial that ended, whether or not the disk has it."""
        text = self._texts[record.folder] = _line(record.model_dump())
        self._kept[record.folder] = TrialRecord(**json.loads(text))

    def keep_device_test(self, record: DeviceTest) -> None:
        """Keep the record of a device test that ended, whether or not the disk has it."""
        self._kept_device_tests[record.folder] = record

    def write_trial(self, record: TrialRecord, steps: Columns, folder: Path, extras: TrialExtras | None = None) -> None:
        """Write a trial as `TrialWriter.write_trial` does, and update results.json."""
        super().write_trial(record, steps, folder, extras)
        self.keep(record)
        self.update()

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far: those in the folder, of all processes, and those that the disk did not take."""
        found = {trial.folder: trial for trial in written_trials(self.folder, but=self._kept)}
        return list((self._kept | found).values())

    @property
    def device_tests(self) -> list[DeviceTest]:
        """All device tests so far: those in the folder, of all processes, and those that the disk did not take."""
        kept = self._kept_device_tests
        return sorted([*kept.values(), *written_device_tests(self.folder, but=kept)], key=order)

    @property
    def tests(self) -> list[AskedTest]:
        """All planned tests in order, each with its trials."""
        return with_trials(self._tests.values(), self.trials)

    def update(self) -> tuple[list[AskedTest], list[TrialRecord]]:
        """Write results.json with the present state, in one line, and return its tests and trials.

        Raises:
            OSError: the disk is full; the former file remains.
            Blocked: a fact of the run does not fit the model.
        """
        trials = self.trials
        tests = with_trials(self._tests.values(), trials)
        fields = self._fields(tests, trials, [])
        # the trials that have ended are not written anew with each test: a night of thousands would take hours
        ended = self._texts
        texts = [ended.get(trial.folder) or _line(trial.model_dump()) for trial in trials]
        lines = {name: _line(value) for name, value in fields.items()} | {"trials": f"[{', '.join(texts)}]"}
        whole = ", ".join(f'"{name}": {line}' for name, line in lines.items())
        write_atomic(self.folder / RESULTS_FILE, f"{{{whole}}}\n")
        return tests, trials

    def _fields(
        self, tests: list[AskedTest], trials: list[TrialRecord], shown: Sequence[TrialRecord]
    ) -> dict[str, Any]:
        """Return the fields of results.json, of whose trials it has those in `shown`."""
        results = {"schema": SCHEMA, "run": self.facts, "totals": counts(tests, trials), "tests": tests}
        results["trials"] = shown
        device_tests = self.device_tests
        if device_tests:
            results["device_tests"] = device_tests
        try:
            fields: dict[str, Any] = RESULTS.dump_python(RESULTS.validate_python(results))
        except ValidationError as error:
            raise unrecordable(error, results, RESULTS_FILE) from error
        return fields

    def finish(self, state: str = ENDED, exit_code: int = 0, missing: Sequence[str] = ()) -> None:
        """Write results.csv, SHA256SUMS and results.json of a run that is over; point `latest` at it if it ended.

        `missing` has sentences that say what is missing from the record, and why.

        Raises:
            OSError: the disk is full; results.json says that the run is over if that alone could be written.
        """
        complete = state == ENDED and not missing and all(test.verdict != "interrupted" for test in self.tests)
        self.facts |= {"state": state, "ended": self.clock.stamp(), "whole": complete, "exit_code": exit_code}
        self.facts |= {"missing": list(missing), "sums": SUMS}
        trials = self.trials
        tests = with_trials(self._tests.values(), trials)
        text = as_json(self._fields(tests, trials, trials))
        try:
            write_atomic(self.folder / CSV_FILE, csv_of(tests, trials))
            # before results.json, which says that it is there: a session may be killed between the two
            write_sums(self.folder, sums_of(self.folder, self.facts, False, {RESULTS_FILE: text.encode()}))
        except (OSError, RigError):
            self.facts.pop("sums")
            self.update()
            raise
        write_atomic(self.folder / RESULTS_FILE, text)
        if state == ENDED:
            self._point_latest()

    def sum_again(self) -> None:
        """Write SHA256SUMS again, with files that came after `finish`.

        Raises:
            OSError: the disk is full.
        """
        if "sums" in self.facts:
            write_sums(self.folder, sums_of(self.folder, self.facts, False))

    def _point_latest(self) -> None:
        """Make `latest` a symbolic link, or a text file with the run's name if links are not supported."""
        with atomic_file(self.folder.parent / "latest") as fresh:
            try:
                fresh.symlink_to(self.folder.name)
            except OSError:
                fresh.write_text(self.folder.name + "\n", encoding="utf-8")


def _line(value: Any) -> str:
    """Return JSON in one line without its end."""
    return as_json(value, indent=None).rstrip()


def _new_folder(root: Path, stamp: str) -> Path:
    """Make a folder that no other run of this second has."""
    while True:
        folder = root / f"{stamp}-{secrets.token_hex(2)}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not folder.is_dir():  # the root is a link to nowhere
                raise
        else:
            return folder


def _newest(root: Path) -> str | None:
    """Return the name of the newest run in a folder, by its name; None if there is none."""
    try:
        return max((path.name for path in root.iterdir() if RUN_NAME.fullmatch(path.name)), default=None)
    except OSError:
        return None


def with_trials(tests: Iterable[AskedTest], trials: Sequence[TrialRecord]) -> list[AskedTest]:
    """Return the tests with the folders of their trials; a trial of an unknown test gets an entry of its own."""
    by_test: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        by_test.setdefault(trial.test or trial.folder, []).append(trial)
    found = []
    for test in tests:
        found.append(test.model_copy(update={"trials": [trial.folder for trial in by_test.pop(test.test, [])]}))
    return found + [
        AskedTest(test=name, board=trial.board, verdict=trial.verdict, reason=trial.reason, trials=[trial.folder])
        for name, group in by_test.items()
        for trial in group
    ]


def counts(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> RunTotals:
    """Return `totals` of results.json: the number of tests and of trials by verdict."""
    return {"tests": totals(test.verdict for test in tests), "trials": totals(trial.verdict for trial in trials)}
