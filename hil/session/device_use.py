"""What a test does with its device: what it compares and judges, the figures it gives, and the record of it."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hil.errors import RigError, printable
from hil.gates import FAIL, INCONCLUSIVE, PASS, FigureGate, NoMedian, as_list, budgets_of_figure
from hil.history.earlier import median_of_nights
from hil.images import Image
from hil.quantity import Provenance, Quantity
from hil.record import AskedTest, TrialWriter, new_entry
from hil.record.device_test import DeviceTest
from hil.record.device_tests import write_device_test, write_drift
from hil.rig_toml import Bench
from hil.session.device_figures import GivenFigure, declared_properties, marked_budgets, why_declared
from hil.session.device_tensors import KeptTensors
from hil.session.requests import JOIN
from hil.session.run_state import EARLIER, TRACKER
from hil.session.tracker import verdict_of
from hil.targets.one_command import ending

if TYPE_CHECKING:  # imported by the fixtures: a session without devices under test needs none of it
    from hil.comparison import Comparison, Drift, Learning
    from hil.dut import Dut

NOT_NAME = re.compile(r"[^A-Za-z0-9_+-]")
DEVICE = "device {}"
DROPPED = "{} is not kept: {}."
MOST_COMPILERS, LONGEST = 8, 1000  # compilers that are listed; characters of one
NOT_ENDED = (
    "a window of dut.energy was begun and not ended, so that it has no figures: write `with dut.energy() as w:`."
)
TRIALS = "the trials of the test; nothing else was compared by the rig."
ASSERTED = "asserted by the test; nothing was compared by the rig."
IN_TEST, IN_MARKER = "in the test", "beside the test"
BY_TEST = (IN_TEST, IN_MARKER)


class DeviceUse:
    """The use of a device under test, of comparisons and of figures by one attempt of a test.

    Args:
        item: the test.
        writer: of the run.
        bench: of rig.toml.
        test: name of the test in the record.
        board: that the test runs on; None if it names none.

    Attributes:
        duts: its devices, in order.
        comparisons: of the test, in order.
        learning: what `expect_learning` judged.
        figures: of the test, in order.
        errors: verdict and reason of requests that ended with an error.
        warnings: sentences about what the test does not judge.
        has_ended: whether the test has, with all its fixtures.
    """

    def __init__(self, item: pytest.Item, writer: TrialWriter, bench: Bench, test: str, board: str | None) -> None:
        self._item, self._writer, self._bench, self._test, self.board = item, writer, bench, test, board
        self._marked = marked_budgets(item)
        name = item.nodeid.rpartition("::")[2].partition("[")[0]
        self.folder: Path = writer.trial_folder(f"{board}-{name}" if board else name)
        self._began = writer.clock.stamp()
        self.duts: list[Dut] = []
        self.comparisons: list[Comparison] = []
        self.learning: list[Learning] = []
        self.figures: list[GivenFigure] = []
        self.errors: list[tuple[str, str]] = []
        self.warnings: list[str] = []
        self._tensors: list[KeptTensors] = []
        self._kept: list[KeptTensors] = []  # those of `comparisons`, in their order
        self._reported: set[tuple[str, str]] = set()
        self._complete = False
        self._trials = False  # whether the test also ran trials
        self.has_ended = False
        self._requests = item.stash[TRACKER].requests
        self._late: set[str] = set()  # threads that came too late
        write_device_test(writer.folder, self._entry(AskedTest(test=test), "", 0.0, {}))

    @property
    def dut(self) -> Dut | None:
        """The first device; None until it is there, or if the test uses none."""
        return self.duts[0] if self.duts else None

    @property
    def reality(self) -> str | None:
        """What the device is; None without one."""
        return self.dut.reality if self.dut is not None else None

    @property
    def unverified(self) -> str:
        """Why figures may be of another image than that of the record; empty if the board was checked."""
        unknown = any(dut.record.verified == "none" for dut in self.duts)
        return "nothing has verified that the image is on the board" if unknown else ""

    @property
    def ended_early(self) -> RigError | None:
        """How the program of a device ended well in a loop over its lines that did not say how many there are."""
        ports = [dut.opened_serial for dut in self.duts]
        return next((port.lines_seen.ended for port in ports if port is not None and port.lines_seen.ended), None)

    def add_device(self, dut: Dut) -> None:
        """Take a device of the test. The errors of others than the first one say of which they are."""
        self.duts.append(dut)
        if len(self.duts) > 1:
            dut.raised.device = DEVICE.format(len(self.duts))

    def failed(self, error: RigError) -> None:
        """Keep the error of a request, which decides the verdict also if the test catches it."""
        self.errors.append(verdict_of(error))

    def gates_of(self, name: str, quantity: Quantity, own: Any) -> list[FigureGate]:
        """Return the budgets of a figure from the nearest place that has one: the test, its marker, rig.toml.

        Raises RigError if one is no quantity of its unit; or if the test gives none, or one that judges nothing.
        """
        entry = self._bench.find(self.board) if self.board is not None else None
        places = [
            (own, IN_TEST), (self._marked.get(name), IN_MARKER),
            (entry.budgets.get(name) if entry is not None else None, f"of {self.board} in rig.toml"),
            (self._bench.budgets.get(name), "in rig.toml"),
        ]  # fmt: skip
        texts, source = next((each for each in places if each[0] is not None), (None, ""))
        gates = [] if texts is None else budgets_of_figure(name, quantity.unit, as_list(texts), source)
        by_test = source in BY_TEST
        if by_test and not gates:
            raise RigError(f"the budget {source} of {name} is empty: give one such as `at most 20`, or leave it out.")
        if gates and quantity.provenance is Provenance.DECLARED:
            if by_test:
                raise RigError(f"the budget {source} of {name} judges nothing: {why_declared(name, quantity)}")
            self.warnings.append(f"the budget {source} of {name} judges nothing: {why_declared(name, quantity)}")
        return gates

    def median(self, gate: FigureGate, quantity: Quantity) -> Quantity | NoMedian:
        """Return the median of a figure of this test in the last good nights, or why there is none."""
        earlier, test, board = self._item.config.stash[EARLIER], self._test, self.board
        if board is None:
            return NoMedian("the history has only tests of a device")
        return median_of_nights(gate, quantity, lambda: earlier.of_device(test, board, self.reality, gate.figure.path))

    def give(self, figure: GivenFigure) -> None:
        """Take a figure. Raises RigError if the test has given one of this name."""
        if any(each.name == figure.name for each in self.figures):
            raise RigError(
                f"the figure {figure.name} was given before: give each figure of a test once, or under another name."
            )
        self.figures.append(figure)

    def keep_tensors(self, name: str) -> KeptTensors:
        """Return what keeps the tensors of the next comparison, which has this name: of the first in tensors.npz."""
        number = len(self._tensors) + 1
        file = "tensors.npz" if number == 1 else f"tensors-{NOT_NAME.sub('_', name) or number}.npz"
        taken = {each.path.name for each in self._tensors}
        self._tensors.append(KeptTensors(self.folder / (file if file not in taken else f"tensors-{number}.npz")))
        return self._tensors[-1]

    def add_comparison(self, comparison: Comparison, kept: KeptTensors) -> None:
        """Take a comparison into the record, with what keeps its tensors."""
        self.comparisons.append(comparison)
        self._kept.append(kept)

    # The end.

    def end(self) -> None:
        """End the use of the comparisons and of the other fixtures; each device has ended before."""
        self.has_ended = True
        for comparison in self.comparisons:
            comparison.end(lambda: self.too_late("a comparison of hil_compare"))

    def too_late(self, what: str) -> RigError:
        """Return the error of what is used after the end of its test; a test whose thread does so is `refused`."""
        thread = threading.current_thread()
        if thread is threading.main_thread():  # of a later test
            return RigError(
                f"{what} was used after {self._test} had ended, to which it belongs: ask for it in each test that "
                "uses it."
            )
        sentence = f"{what} was used in the thread {thread.name!r} after its test had ended: {JOIN}"
        if thread.name not in self._late:  # one that tries again says nothing new
            self._late.add(thread.name)
            self._requests.refuse(sentence)
        return RigError(sentence)

    # The verdict.

    def end_well(self, trials: bool) -> None:
        """Note that the test function has ended without an error: its comparisons are complete now.

        `trials` says whether the test also ran trials, for which the budgets of its marker then are.
        """
        self._complete, self._trials = True, trials
        several = len(self.duts) > 1
        given = any(each.quantity.provenance is not Provenance.MEASURED for each in self.figures)
        needs_each = several or self.comparisons or self.learning or given
        for number, dut in enumerate(self.duts, 1):
            if needs_each and not _answered(dut) and not dut.record.reads and dut.record.exit_code is None:
                which = f"device {number} of {len(self.duts)}" if several else "its device"
                self.warnings.append(f"the test read nothing from {which}.")
            if dut.left_window:
                self.errors.append(("refused", _of(number, NOT_ENDED)))
            self._look(dut)
        try:
            self._take_properties(trials)
        except RigError as error:
            self.failed(error)

    def look_again(self, dut: Dut) -> None:
        """Look at a device of a test that ended well once more, after the tear-down of the fixtures that use it."""
        if self._complete:
            self._look(dut)

    def _look(self, dut: Dut) -> None:
        """Note how a device has failed since the test last asked it."""
        failed = dut.look_at_end("the test ended") or dut.stand_in_at_end()
        if failed is not None:
            failed.device = dut.raised.device
            self.errors.append(verdict_of(failed))

    def _take_properties(self, trials: bool) -> None:
        """Take the figures of `record_property`, and hold all figures against the budgets of the marker."""
        self.figures += declared_properties(self._item.user_properties, [each.name for each in self.figures])
        for name in () if trials else self._marked:
            given = next((each for each in self.figures if each.name == name), None)
            if given is None:
                raise RigError(
                    f"the marker budget has {name}, of which the test gives no figure: "
                    f'call hil_figure("{name}", ...) in it.'
                )
            if given.source != "hil_figure":
                raise RigError(
                    f"the marker budget has {name}, which the test gives by record_property: no budget judges a number "
                    f"that is only declared; give it by hil_figure with its unit and provenance."
                )

    @property
    def bad(self) -> list[tuple[str, str]]:
        """Verdict and reason of everything that does not pass; of comparisons that go on, only of differences."""
        found = list(self.errors)
        for comparison in self.comparisons:
            error = comparison.why_not() if self._complete else comparison.error
            found += [verdict_of(error)] if error is not None else []
        wrong = self._said(lambda dut: [each.sentence for each in dut.record.reports if not each.passed])
        found += [
            ("fail", sentence) for sentence in (*wrong, *self._said(lambda dut: [*dut.record.cut_off, *dut.erased]))
        ]
        missed = [one for figure in self.figures for one in figure.judgements if one.verdict == FAIL]
        return list(dict.fromkeys([*found, *(("fail", one.sentence) for one in missed)]))

    def unreported(self) -> list[tuple[str, str]]:
        """Return what is bad and was not returned before."""
        new = [each for each in self.bad if each not in self._reported]
        self._reported.update(new)
        return new

    @property
    def judged(self) -> list[str]:
        """What the verdict of a test that passed rests on; empty if nothing was compared, judged or looked at."""
        said = [each.summary().sentence for each in self.comparisons]
        said += [sentence for each in self.learning for sentence in each.judged]
        said += [one.sentence for figure in self.figures for one in figure.judgements if one.verdict == PASS]
        said += self._said(lambda dut: [each.sentence for each in dut.record.reports if each.passed])
        _, matches, reads = self._counts()
        if matches:
            times = "once" if matches == 1 else f"{matches:,} times"
            said.append(f"the device printed what was expected, {times}.")
        said += self._said(_how_it_ended)
        if not said and self._trials:
            said.append(TRIALS)
        if not said and (reads or any(map(_answered, self.duts))):
            said.append(ASSERTED)
        return said

    def _counts(self) -> tuple[int, int, int]:
        """Return bytes received, patterns matched, and reads through the probe, of all devices."""
        ports = [dut.opened_serial for dut in self.duts]
        matches = sum(port.matches for port in ports if port is not None)
        return sum(map(_received, self.duts)), matches, sum(dut.record.reads for dut in self.duts)

    # The record.

    def record(self, test: AskedTest, stage: str, seconds: float) -> DeviceTest:
        """Write the files of the test and return its entry.

        Args:
            test: its entry, with the verdict.
            stage: at which it was blocked.
            seconds: that this attempt took.

        Raises:
            OSError: the disk is full.
            Blocked: a value does not fit the record.
        """
        for kept in self._tensors:
            kept.close()
        files: dict[int, str] = {}
        for number, comparison in enumerate(self.comparisons, 1):
            if len(comparison.drift):
                name = f"drift-{NOT_NAME.sub('_', comparison.name) or number}.parquet"
                name = f"drift-{number}.parquet" if name in files.values() else name
                files[number] = name
                write_drift(self.folder / name, comparison.drift.table())
        entry = self._entry(test, stage, seconds, files)
        self._item.stash[TRACKER].count(entry, self._item.config)
        write_device_test(self._writer.folder, entry)
        return entry

    @property
    def compared_so_far(self) -> str:
        """What was compared in a test that is left out after that; empty if nothing was."""
        steps = sum(comparison.steps for comparison in self.comparisons)
        return f"{steps:,} step{'' if steps == 1 else 's'} had been compared by then" if steps else ""

    @property
    def lost(self) -> list[str]:
        """Sentences that say which files of the test the disk did not take."""
        return [f"{self.folder.name}/{each.path.name}: {each.dropped}." for each in self._tensors if each.lost]

    def record_so_far(self, test: AskedTest) -> None:
        """Write the entry of a test that is interrupted, without files; arguments and errors as those of `record`."""
        for kept in self._tensors:
            kept.close()
        write_device_test(self._writer.folder, self._entry(test, "", 0.0, {}))

    def _entry(self, test: AskedTest, stage: str, seconds: float, files: Mapping[int, str]) -> DeviceTest:
        device: dict[str, Any] = {"core": None, "reality": None, "image": None}
        if self.dut is not None:
            found = self.dut.record
            device = {
                "core": self.dut.board.core or None, "reality": found.reality, "place": found.place or None,
                "image": {
                    "file": found.image, "sha256": found.image_sha256, "own": found.own,
                    "compilers": _compilers(self.dut.image) if found.own and test.outcome is not None else [],
                },
                "flash": found.flash, "flash_cycles": found.flash_cycles, "resets": found.resets,
                "power_cycles": found.power_cycles, "baud": found.baud, "clock_hz": found.clock_hz,
                "probe": found.probe or None,
                "faults": self._said(lambda dut: dut.record.faults),
                "warnings": self._said(_warnings), "verified": found.verified,
                "command": found.command, "exit_code": found.exit_code,
                "reports": [report.to_json() for dut in self.duts for report in dut.record.reports],
                "others": [_other(dut) for dut in self.duts[1:]],
            }  # fmt: skip
        received, matches, reads = self._counts()
        entry = self._bench.find(self.board) if self.board is not None else None
        open_gates = [one.sentence for each in self.figures for one in each.judgements if one.verdict == INCONCLUSIVE]
        dropped = [
            DROPPED.format(each.path.name, each.dropped) for each in self._tensors if each.dropped and not each.lost
        ]
        caught = (
            [*self._before(), *(each for dut in self.duts for each in _caught(dut))] if test.verdict == "pass" else []
        )
        device["warnings"] = [*device.get("warnings", ()), *self.warnings, *caught, *open_gates, *dropped]
        return new_entry(
            DeviceTest, test=self._test, folder=self.folder.name, board=self.board, **device,
            attached=entry is not None and entry.run is None if self.board is not None else None,
            devices=len(self.duts), received=received, matches=matches, reads=reads,
            comparisons=[
                _compared(each, files.get(number, "")) | kept.to_json()
                for number, (each, kept) in enumerate(zip(self.comparisons, self._kept, strict=True), 1)
            ],
            learning=[each.to_json() for each in self.learning], figures=[each.to_json() for each in self.figures],
            judged=self.judged if test.verdict == "pass" else [], verdict=test.verdict, reason=test.reason,
            stage=stage, began=self._began, wall_s=seconds,
        )  # fmt: skip

    def _before(self) -> list[str]:
        """Return how the attempts of the test before this one ended that did not pass; a plugin repeats a test."""
        attempts = enumerate(self._item.stash[TRACKER].device_tests, 1)
        return [
            f"attempt {each} of the test: {one.verdict}: {one.reason}"
            for each, one in attempts
            if one.verdict != "pass"
        ]

    def _said(self, of: Callable[[Dut], list[str]]) -> list[str]:
        """Return sentences of all devices; those of others than the first say of which."""
        return [_of(number, each) for number, dut in enumerate(self.duts, 1) for each in of(dut)]


def _of(number: int, sentence: str) -> str:
    """Return a sentence about a device of the test; the first one is the only one, or is understood."""
    return sentence if number == 1 else f"{DEVICE.format(number)}: {sentence}"


def _received(dut: Dut) -> int:
    return dut.opened_serial.received if dut.opened_serial is not None else 0


def _answered(dut: Dut) -> int:
    """Return the bytes that came because of the test: the agent's greeting alone is nothing that it could judge."""
    return _received(dut) - dut.record.by_rig


def _how_it_ended(dut: Dut) -> list[str]:
    code = dut.record.exit_code
    if not dut.judges_exit or code is None:
        return []
    return [f"the test read how the {dut.what_ends} ended: {ending(code)}."]


def _other(dut: Dut) -> dict[str, Any]:
    """Return the entry of a device behind the first one."""
    found = dut.record
    return {
        "place": found.place or None, "probe": found.probe or None, "flash": found.flash, "verified": found.verified,
        "flash_cycles": found.flash_cycles, "resets": found.resets, "power_cycles": found.power_cycles,
        "exit_code": found.exit_code,
    }  # fmt: skip


def _warnings(dut: Dut) -> list[str]:
    port = dut.opened_serial
    return [*dut.record.warnings, *(port.lines_seen.warnings if port is not None else ())]


def _caught(dut: Dut) -> list[str]:
    errors = dict.fromkeys(": ".join(verdict_of(error)) for error in dut.raised)
    return [f"the test has caught an error: {each}" for each in errors]


def _compilers(image: Image) -> list[str]:
    """Return the compilers of an image; contraction of a*b+c and the like depend on their flags."""
    try:
        return [printable(text)[:LONGEST] for text in image.debug.compilers()[:MOST_COMPILERS]]
    except RigError:  # damaged debug information is said where a test needs it
        return []


def _compared(comparison: Comparison, file: str) -> dict[str, Any]:
    return comparison.summary().to_json() | {"worst": largest_errors(comparison.drift), "drift": file}


def largest_errors(drift: Drift) -> list[dict[str, Any]]:
    """Return the largest errors of each tensor over its steps; None where one is not finite."""
    found: list[dict[str, Any]] = []
    for tensor in drift.tensors:
        columns = drift.of(tensor)
        finite = not columns["nonfinite"].any()
        largest = {name: float(columns[name].max()) for name in ("max_relative", "max_abs")}
        known: dict[str, Any] = {
            name: value if finite and math.isfinite(value) else None for name, value in largest.items()
        }
        found.append({"tensor": tensor, "max_ulp": int(columns["max_ulp"].max()) if finite else None} | known)
    return found
