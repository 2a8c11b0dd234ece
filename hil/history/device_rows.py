"""The rows of a device test in the history: it is kept as a trial is, with its figures."""

from __future__ import annotations

from hil.history.rows import Row, TrialFigure, TrialRows, canonical, digest_of, name_of, number, text_of, time_of
from hil.record.device_quantities import device_quantities
from hil.record.device_test import DeviceTest
from hil.record.trial_writer import json_fields

METHOD = "device test"  # in place of a training method of this project
KEPT = ("pass", "fail", "blocked", "interrupted")  # verdicts; of others nothing is known of the device
SETTINGS = "{}"


def device_rows(record: DeviceTest) -> TrialRows | None:
    """Return the rows of a device test; None without a board, or if the request was wrong or the test skipped.

    The subject of its series is the test (`device_subject`).
    """
    if record.board is None or record.verdict not in KEPT:
        return None
    row: Row = device_subject(record.test, record.board, record.reality) | {
        "folder": name_of(record.folder),
        "test": name_of(record.test),
        "verdict": record.verdict,
        "stage": name_of(record.stage),
        "reason": text_of(record.reason),
        "final_digest": None,
        "image": record.image["sha256"][:8] if record.image is not None else None,
        "content": digest_of(canonical(json_fields(record)))[:32],
        "began": time_of(record.began),
        "attached": record.attached,
        "place": name_of(record.place) if record.place is not None else None,
        "programmed": record.flash == "programmed" if record.flash != "none" else None,
    }
    found = [
        TrialFigure(
            name_of(each.name), name_of(each.unit), each.provenance, number(each.value), number(each.uncertainty)
        )
        for each in device_quantities(record)
    ]
    figures = {figure.kind: figure for figure in found}
    return TrialRows(row, SETTINGS, tuple(figures[kind] for kind in sorted(figures)))


def device_subject(test: str, board: str, reality: str | None) -> Row:
    """Return the columns that say of which series a device test is: its name without the board stands for a network."""
    name = test.replace(f"[{board}]", "").replace(f"[{board}-", "[")
    return {
        "board": name_of(board),
        "reality": reality,
        "network": name_of(name),
        "method": METHOD,
        "variant": "",
        "data": "",
        "settings": digest_of(SETTINGS)[:16],
    }
