"""The verdict table for the terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table

from hil.record import TrialRecord

STYLES = {"pass": "green", "fail": "red", "blocked": "yellow"}


def verdict_table(trials: list[TrialRecord], width: int, colour: bool = False) -> list[str]:
    """Return the lines of the table, one row a trial, every figure with its provenance.

    Args:
        trials: records of this run.
        width: columns of the terminal.
        colour: whether to write colour codes.
    """
    table = Table(box=None, pad_edge=False)
    for heading in (
        "verdict",
        "board",
        "reality",
        "method",
        "steps",
        "bit-exact",
        "accuracy",
        "SRAM (counted)",
        "cycles/step",
    ):
        right = heading in ("steps", "SRAM (counted)", "cycles/step")
        table.add_column(heading, justify="right" if right else "left", min_width=14 if heading == "method" else None)
    for trial in trials:
        table.add_row(
            f"[{STYLES[trial.verdict]}]{trial.verdict}",
            trial.board,
            trial.reality or "-",
            f"{trial.method} {trial.variant}",
            f"{trial.steps_compared}",
            {True: "yes", False: "NO", None: "-"}[trial.bit_exact],
            _accuracy(trial),
            "-" if trial.sram["total"] is None else f"{trial.sram['total']:,} B",
            "-" if not trial.cycles else f"{trial.cycles['total']:,} ({trial.cycles_provenance})",
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
