"""docs/verify.md says of every field of a trial what protects it: edits of a real run show that it is so."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import fields
import pytest
from fields import COMPUTED, HELD, REFUSED, SIGNED

from hil.record.run_reader import read_recorded

SAMPLE, SEED = 40, 45
STRONGEST = (HELD, COMPUTED, SIGNED, REFUSED)


def test_every_field_of_the_schema_is_in_one_table() -> None:
    """A new field must be classified: is it told twice, can the reference compute it, or is it the board's own word?"""
    tables, known = fields.of_docs(), fields.of_schema()
    listed = [path for paths in tables.values() for path in paths]
    assert len(known) > 400 and len(listed) == len(set(listed))
    assert set(listed) - known == set() and known - set(listed) == set()


@pytest.mark.parametrize("most", [SAMPLE, pytest.param(None, marks=pytest.mark.tier("nightly"))], ids=["sample", "all"])
def test_an_edit_of_every_copy_is_named_as_the_tables_say(
    run: Path, hil: Callable[..., object], made: Path, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)  # the user's own network and data are there
    recorded, known, tables = read_recorded(run), fields.of_schema(), fields.of_docs()
    found: dict[str, set[str]] = {}
    edits = [
        (trial, path, place)
        for trial in recorded.trials
        for path, place in fields.places(trial.entry or {}, known).items()
    ]
    if most is not None:
        chosen = set(random.Random(SEED).sample(sorted({path for _, path, _ in edits}), most))
        edits = [edit for edit in edits if edit[1] in chosen]
    for trial, path, place in edits:
        if HELD not in found.get(path, ()):  # one trial that shows it is enough
            found.setdefault(path, set()).add(fields.named_by(recorded, trial, place, again=most is None))
    assert len(found) >= (most or 300)
    wrong = {}
    for path, ways in found.items():
        strongest = min(ways, key=STRONGEST.index)
        said = next(name for name, paths in tables.items() if path in paths)
        if strongest != REFUSED and strongest != (SIGNED if most is not None and said == COMPUTED else said):
            wrong[path] = (said, strongest)
    assert not wrong
