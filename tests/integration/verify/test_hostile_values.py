"""Every value of a trial's record replaced by hostile ones: one sentence, a contradiction or nothing, never a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from forging import Forged, Place, kind, put
from hil_output import Hil

from hil.errors import RigError
from hil.record.checks import OF_TRIAL
from hil.record.checks import made as made_of
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.results import TRIAL
from hil.record.run_reader import read_recorded
from hil.record.validation import validated
from hil.training.verify.recompute import recomputed
from hil.verify import thorough

MEASURED, SMALL, GRAPH = "cls1-b2-latency", "full-bp", "resnet-tiny"
VALUES: tuple[Any, ...] = (
    -1, 0, 1, 3, 4000, 500000, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"),
    "", "x", "x" * 1000, "\0", "\ud800", None, [], {}, True, [[]], {"a": 1},
)  # fmt: skip
SAMPLE, SEED = 150, 45


@pytest.mark.parametrize(
    ("n", "code", "said"),
    [(500000, 1, "evaluations[1].n"), (4000, 1, "evaluations[1].n"), (0, 1, "evaluations[1].n"), (True, 2, "evaluations[1].n"), (-1, 2, "evaluations[1].n")],
)  # fmt: skip
@pytest.mark.parametrize("everywhere", [False, True], ids=["one point", "all of them"])
def test_a_number_of_images_that_there_are_not(
    run: Path, hil: Callable[..., Hil], n: Any, code: int, said: str, everywhere: bool
) -> None:
    forged = Forged(run)
    trial = forged.trial(MEASURED)
    for point in trial["evaluations"] if everywhere else trial["evaluations"][1:2]:
        point.update(n=n)
    if everywhere:
        trial["accuracy"].update(n=n)
    path = next(run.glob(f"*{MEASURED}*")) / "trial.json"
    path.write_text(json.dumps(trial | {"quantities": json.loads(path.read_text())["quantities"]}))
    forged.write(seal=True)
    done = hil("verify", run, "--recompute")
    assert done.code == code and "Traceback" not in done.err, done.out + done.err
    assert said in done.out + done.err or (everywhere and "accuracy.n" in done.out + done.err), done.out + done.err


def nodes(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value, leaves and others."""
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield from nodes(each, (*place, name))


def outcome(run: RecordedRun, entry: Mapping[str, Any]) -> str:
    """Make all checks of a trial with this entry, compute it again, and return the one sentence that ends it, if any."""
    try:
        record = validated(TRIAL, entry, "results.json", "results.json")
        trial = RecordedTrial(run.folder, record, entry)
        trial.__dict__["file"] = {**entry, "quantities": {}}
        made_of(RecordedRun(run.folder, run.results, (trial,)), (*OF_TRIAL, *thorough.OF_TRIAL), ())
        return recomputed(trial).why
    except RigError as error:
        return str(error)


@pytest.mark.parametrize("part", [SMALL, GRAPH])
@pytest.mark.parametrize("most", [SAMPLE, pytest.param(None, marks=pytest.mark.tier("nightly"))], ids=["sample", "all"])
def test_no_value_makes_a_traceback(
    run: Path, made: Path, part: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    recorded = read_recorded(run)
    entry = dict(next(trial.entry for trial in recorded.trials if part in trial.name) or {})
    places: dict[str, Place] = {}
    for place in nodes(entry):
        places.setdefault(kind(place), place)
    edits = [(place, value) for place in places.values() for value in VALUES]
    for place, value in edits if most is None else random.Random(SEED).sample(edits, most):
        edited = copy.deepcopy(entry)
        put(edited, place, value)
        said = outcome(recorded, edited)
        assert "\n" not in said and len(said) < 1200, (place, said)


def test_a_name_of_data_that_no_file_can_have(run: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    recorded = read_recorded(run)
    entry = dict(next(trial.entry for trial in recorded.trials if SMALL in trial.name) or {})
    for name in ("x" * 1000, "\0"):
        assert "cannot compute" in outcome(recorded, entry | {"data": name}) or "are not here" in outcome(
            recorded, entry | {"data": name}
        )
