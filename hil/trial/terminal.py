"""The verdict table for the terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table

from hil.record import TrialRecord

HEADINGS = ("verdict", "board", "method", "steps", "accuracy", "SRAM", "cycles a step")
EXACT = {True: "bit-exact", False: "DIFFERENT", None: "-"}
STYLES = {"pass": "green", "fail": "red", "blocked": "yellow"}


def verdict_table(trials: list[TrialRecord], width: int, colour: bool = False) -> list[str]:
    """Return the lines of the table, one row a trial, every figure with its provenance.

    Args:
        trials: records of this run.
        width: columns of the terminal.
        colour: whether to write colour codes.
    """
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in ("steps", "SRAM", "cycles a step") else "left")
    for trial in trials:
        table.add_row(
            f"[{STYLES[trial.verdict]}]{trial.verdict}",
            f"{trial.board}\n{trial.reality or '-'}",
            f"{trial.method}\n{trial.variant}",
            f"{trial.steps_compared}\n{EXACT[trial.bit_exact]}",
            _accuracy(trial),
            "-" if trial.sram["total"] is None else f"{trial.sram['total']:,} B\n{trial.sram_provenance['total']}",
            "-" if not trial.cycles else f"{trial.cycles['total']:,}\n{trial.cycles_provenance}",
        )
    out = StringIO()
    Console(file=out, width=max(width, 100), force_terminal=colour, highlight=False).print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return lines + [
        f"{trial.verdict}: {trial.board} {trial.variant}: {trial.reason}" for trial in trials if trial.reason
    ]


def _accuracy(trial: TrialRecord) -> str:
    before, after, n = trial.accuracy["before"], trial.accuracy["after"], trial.accuracy["n"]
    return "-" if after is None else f"{before:.1%} -> {after:.1%}\nof n = {n}"
