"""One side of a comparison: a run, a trial or a test of a device, or those of some runs that selectors name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.errors import RigError, close_matches
from hil.record import Run, TrialRecord, read_run, read_trial
from hil.record.device_test import DEVICE_TEST, DeviceTest
from hil.record.device_tests import read_device_test
from hil.record.parquet import Columns, read_columns
from hil.record.run_reader import NAME
from hil.record.safe_paths import safe_file, safe_folder
from hil.record.trial_writer import ENDED

FIELDS = (
    "board", "reality", "network", "method", "variant", "data", "batch", "seed", "steps", "verdict", "folder", "test",
)  # fmt: skip
COMMIT = "commit"
WRITE = "write KEY=VALUE,KEY=VALUE, such as board=rp2040,variant=cls1"


@dataclass(frozen=True)
class ComparedResult:
    """A trial, or a test of a device, with the facts of its run, which are empty if its run is not there.

    Attributes:
        trial: its record.
        steps: of a trial; None of a test of a device.
        facts: of the run.
        folder: of a test of a device; None of a trial.
    """

    trial: TrialRecord | DeviceTest
    steps: Columns | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None


@dataclass(frozen=True)
class Side:
    """The trials of one side: its name without private folders, and the selectors that chose the trials, by key."""

    name: str
    trials: list[ComparedResult]
    selectors: Mapping[str, str] = field(default_factory=dict)


def read_side(text: str, within: Sequence[Path]) -> Side:
    """Return the trials of a side.

    Args:
        text: the folder of a run or of a trial, or selectors such as `board=rp2040,commit=02882664`.
        within: folders of the runs in which selectors select.

    Raises:
        RigError: there is no such folder, a record is damaged, a selector has an unknown key, or nothing is selected.
    """
    folder = Path(text)
    if folder.exists() or "=" not in text:
        return _in_folder(folder)
    selectors = _selectors(text)
    found = [one for run in within for one in _of_run(read_run(run))]
    _check_keys(selectors, found)
    chosen = [one for one in found if all(_is(one, key, value) for key, value in selectors.items())]
    if not chosen:
        runs = ", ".join(str(run) for run in within)
        raise RigError(f"no trial of {runs} has {text}: it has {_there(selectors, found)}.")
    return Side(text, chosen, selectors)


def run_of(text: str) -> Path | None:
    """Return the folder of the run that a side names by its path, None of selectors."""
    folder = Path(text)
    if not folder.exists():
        return None
    return folder.resolve().parent if _is_of_one(folder) else folder


def _is_of_one(folder: Path) -> bool:
    """Return whether a folder is that of a trial or of a test of a device."""
    return (folder / ENDED).is_file() or (folder / DEVICE_TEST).is_file()


def _in_folder(folder: Path) -> Side:
    if not _is_of_one(folder):
        run = read_run(folder)
        return Side(run.facts["id"], _of_run(run))
    whole = folder.resolve()
    if (whole.parent / NAME).is_file():
        run = read_run(whole.parent)
        found = [one for one in _of_run(run) if one.trial.folder == whole.name]
        if found:
            return Side(f"{run.facts['id']}/{whole.name}", found)
    return Side(whole.name, [_alone(whole)])


def _alone(folder: Path) -> ComparedResult:
    """Return a trial whose run is not there."""
    if (folder / DEVICE_TEST).is_file():
        return ComparedResult(read_device_test(folder.parent, folder.name), None, folder=folder)
    table = safe_file(folder, "steps.parquet")
    return ComparedResult(read_trial(folder), {} if table is None else read_columns(table))


def _of_run(run: Run) -> list[ComparedResult]:
    trials = [ComparedResult(trial, steps, run.facts) for trial, steps in zip(run.trials, run.steps, strict=True)]
    return trials + [
        ComparedResult(each, None, run.facts, safe_folder(run.folder, each.folder)) for each in run.device_tests
    ]


def _selectors(text: str) -> dict[str, str]:
    found = {}
    for word in text.split(","):
        key, separator, value = word.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise RigError(f"{text!r} is no folder, and {word!r} in it is no selector: {WRITE}.")
        found[key.strip()] = value.strip()
    return found


def settings_of(one: ComparedResult) -> Mapping[str, Any]:
    """Return the settings of the method of a trial; a test of a device has none."""
    return one.trial.settings if isinstance(one.trial, TrialRecord) else {}


def _check_keys(selectors: Mapping[str, str], found: Sequence[ComparedResult]) -> None:
    known = [*FIELDS, COMMIT, *dict.fromkeys(name for one in found for name in settings_of(one))]
    for key in selectors:
        if key not in known:
            raise RigError(f"there is no selector {key!r}: {close_matches(key, known)}")


def _value(one: ComparedResult, key: str) -> str:
    if key == COMMIT:
        return str(one.facts.get("commit") or "")
    value = getattr(one.trial, key, "") if key in FIELDS else settings_of(one).get(key, "")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is(one: ComparedResult, key: str, wanted: str) -> bool:
    value = _value(one, key)
    return value.startswith(wanted) if key == COMMIT else value == wanted


def _there(selectors: Mapping[str, str], found: Sequence[ComparedResult]) -> str:
    """Return the values that the runs do have, a few of each key."""
    values = {key: list(dict.fromkeys(_value(one, key)[:40] for one in found)) for key in selectors}
    return "; ".join(f"{key} {', '.join(one or 'none' for one in has[:6]) or 'none'}" for key, has in values.items())
