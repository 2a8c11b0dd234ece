"""The verdict table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hil.gates import INCONCLUSIVE
from hil.record import AskedTest, TrialRecord
from hil.record.device_test import DeviceTest

HEADINGS = ("verdict", "board", "method", "steps", "accuracy", "SRAM", "cycles a step")
EXACT = {True: "bit-exact", False: "DIFFERENT", None: "-"}
STYLES = {
    "pass": "green",
    "fail": "red",
    "blocked": "yellow",
    "refused": "red",
    "interrupted": "red",
    "skipped": "yellow",
}


def verdict_table(
    tests: Sequence[AskedTest], trials: Sequence[TrialRecord], width: int, device_tests: Sequence[DeviceTest] = ()
) -> list[str]:
    """Return the lines of the table, every figure with its provenance, and a line for every reason.

    There is a row for each trial, and one for each test that ran none. `width` is in columns of the terminal.
    """
    devices = {each.test: each for each in device_tests}  # the last of each test
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in ("steps", "SRAM", "cycles a step") else "left")
    of = {trial.folder: trial for trial in trials}
    reasons = []
    for test in tests:
        mine = [of[folder] for folder in test.trials]
        for trial in mine:
            table.add_row(*_row(trial))
            reasons += [f"{trial.verdict}: {trial.board} {trial.variant}: {trial.reason}"] if trial.reason else []
            reasons += [f"warning: {trial.board} {trial.variant}: {sentence}" for sentence in trial.still]
            open_gates = [gate for gate in trial.gates if gate["verdict"] == INCONCLUSIVE]
            reasons += [f"{INCONCLUSIVE}: {trial.board} {trial.variant}: {gate['sentence']}" for gate in open_gates]
        if not mine:
            name, device = test.test.rpartition("::")[2], devices.get(test.test)
            verdict = f"[{STYLES[test.verdict]}]{test.verdict}"
            if device is not None:
                where, steps = f"{device.board or '-'}\n{device.reality or '-'}", _compared(device)
                what = "test of a device" if device.devices or device.board is not None else "test without a device"
                table.add_row(verdict, where, escape(f"{what}\n{name}"), steps, *"---")
                budgets = [budget for each in device.figures for budget in each["budgets"]]
                open_ones = [each["sentence"] for each in budgets if each["verdict"] == INCONCLUSIVE]
                reasons += [f"{INCONCLUSIVE}: {test.test}: {sentence}" for sentence in open_ones]
                others = [each for each in device.warnings if each not in open_ones]
                reasons += [f"warning: {test.test}: {sentence}" for sentence in others]
            else:
                table.add_row(verdict, f"{test.board or '-'}\n-", escape(f"no trial of\n{name}"), *"----")
        if test.reason and test.reason not in {trial.reason for trial in mine}:
            expected = " (expected)" if test.expected else ""
            reasons.append(f"{test.verdict}{expected}: {test.test}: {test.reason}")
    out = StringIO()
    Console(file=out, width=max(width, 100), force_terminal=False, highlight=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()] + reasons


def _compared(device: DeviceTest) -> str:
    """Return how many steps were compared, and how they agree."""
    if not device.steps_compared:
        return "-"
    differ = any(each["first_difference"] is not None for each in device.comparisons)
    exact = not any(each["differing"] for each in device.comparisons)
    return f"{device.steps_compared}\n{'DIFFERENT' if differ else 'bit-exact' if exact else 'within'}"


def _row(trial: TrialRecord) -> tuple[str, ...]:
    return (
        f"[{STYLES[trial.verdict]}]{trial.verdict}",
        f"{trial.board}\n{trial.reality or '-'}",
        f"{trial.method}\n{trial.variant}",
        f"{trial.steps_compared}\n{EXACT[trial.bit_exact]}",
        _accuracy(trial),
        "-" if trial.sram["total"] is None else f"{trial.sram['total']:,} B\n{trial.sram_provenance['total']}",
        "-" if not trial.cycles else f"{trial.cycles['total']:,}\n{trial.cycles_provenance}",
    )


def _accuracy(trial: TrialRecord) -> str:
    before, after, n = trial.accuracy["before"], trial.accuracy["after"], trial.accuracy["n"]
    return "-" if after is None else f"{before:.1%} -> {after:.1%}\nof n = {n}"
