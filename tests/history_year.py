"""A simulated year of nights in a history: the quantities of the committed example run, with the noise of a bench.

python -m tests.history_year FILE [NIGHTS]
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, select

from hil import boards
from hil.history import models
from hil.history.address import Address, address_of
from hil.history.rows import TrialFigure, TrialRows, asked_row, digest_of, run_row, trial_rows
from hil.history.store import Store, Writer
from hil.record import AskedTest, TrialRecord

EXAMPLE = Path(__file__).parents[1] / "reports/example/results.json"
NIGHTS, TRIALS = 365, 100
FIRST = datetime(2026, 1, 1, 22, tzinfo=timezone.utc)
NOISE = 0.003  # relative, of what a bench measures
BOARDS = 5


def templates() -> list[TrialRows]:
    """Return the trials of a night: those of the example on each board, as often as they are needed."""
    records = [TrialRecord(**fields) for fields in json.loads(EXAMPLE.read_text())["trials"]]
    each = []
    for number in range(TRIALS // BOARDS):
        turn, place = divmod(number, len(records))
        record = records[place]
        again = {"folder": f"{record.folder}-{turn + 1}", "seed": record.seed + turn} if turn else {}
        each.append(trial_rows(record.model_copy(update=again)))
    found = []
    for board in boards.names()[:BOARDS]:
        for rows in each:
            names = {key: rows.row[key].replace("stm32h7b3", board) for key in ("folder", "test", "board")}
            found.append(replace(rows, row=rows.row | names))
    return found


def facts(night: int, bench: str = "") -> dict[str, Any]:
    """Return `run` of results.json of a night."""
    begun = FIRST + timedelta(days=night)
    return {
        "id": f"{begun:%Y%m%dT%H%M%SZ}-{night:04x}", "uid": digest_of(f"{bench}{night}")[:32], "bench": bench,
        "time": begun.isoformat(), "commit": digest_of(str(night // 3))[:40], "versions": {"trainrig": "0.1.0"},
        "host": {"system": "Linux", "machine": "x86_64", "cpus": 2}, "command": "pytest --board=all --tier=nightly",
        "state": "ended", "ended": (begun + timedelta(hours=5)).isoformat(), "whole": True, "exit_code": 0, "missing": [],
    }  # fmt: skip


def noisy(rows: TrialRows, night: int, random: np.random.Generator) -> TrialRows:
    """Return the trial of another night: what is measured varies, what is counted or analytic does not."""
    factors = 1 + NOISE * random.standard_normal(len(rows.figures))
    figures = tuple(
        _times(figure, factor) if figure.provenance in ("measured", "modelled") else figure
        for figure, factor in zip(rows.figures, factors, strict=True)
    )
    return replace(rows, row=rows.row | {"content": digest_of(f"{night}{rows.row['folder']}")[:32]}, figures=figures)


def _times(figure: TrialFigure, factor: float) -> TrialFigure:
    if figure.value is None:
        return figure
    value = figure.value * factor
    return replace(figure, value=float(round(value)) if figure.unit == "cycle" else value)


def simulate(address: Address, nights: int = NIGHTS, bench: str = "", seed: int = 1) -> None:
    """Write the nights: the first as a session does, the others each in one transaction, which takes a sixth."""
    random, night_of = np.random.default_rng(seed), templates()
    with Store(address) as store:
        for night in range(nights):
            found = [noisy(rows, night, random) for rows in night_of]
            with store.transaction() as writer:
                run = writer.run(run_row(facts(night, bench), None))
                if night == 0:
                    for rows in found:
                        writer.trial(run, rows)
                else:
                    _write_all(writer, run, found)
                asked = {rows.row["test"]: rows.row["board"] for rows in found}
                entries = [
                    AskedTest(test=test, board=board, verdict="pass", reason="") for test, board in asked.items()
                ]
                writer.connection.execute(
                    insert(models.tests), [{"run_id": run, **asked_row(each)} for each in entries]
                )


def _write_all(writer: Writer, run: int, found: list[TrialRows]) -> None:
    connection, trials = writer.connection, models.trials
    connection.execute(insert(trials), [{"run_id": run, **rows.row} for rows in found])
    numbers = {
        row.folder: row.id
        for row in connection.execute(select(trials.c.folder, trials.c.id).where(trials.c.run_id == run))
    }
    values = [
        {
            "kind_id": writer.kinds[each.kind],
            "trial_id": numbers[rows.row["folder"]],
            "value": each.value,
            "uncertainty": each.uncertainty,
        }
        for rows in found
        for each in rows.figures
    ]
    connection.execute(insert(models.quantities), values)


if __name__ == "__main__":
    simulate(address_of(f"sqlite:///{sys.argv[1]}", Path()), int(sys.argv[2]) if len(sys.argv) > 2 else NIGHTS)
