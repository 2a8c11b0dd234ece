"""The results of a run in the format of Allure (allurereport.org), with the model that Allure publishes for Python.

A result for each test, a step for each of its trials. The files are named after run and test: exported twice, a run
replaces its own results; several runs may share a folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attr
from allure_commons.model2 import (
    ATTACHMENT_PATTERN,
    Attachment,
    Label,
    Parameter,
    Status,
    StatusDetails,
    TestResult,
    TestStepResult,
)
from allure_commons.types import AttachmentType, LabelType

from hil.bounded_read import SMALL_TEXT, read_text
from hil.record import AskedTest, Run, TrialRecord, atomic_file, write_atomic
from hil.record.safe_paths import safe_file, safe_folder
from hil.report.run_files import files_in
from hil.report.sparkline import sparkline
from hil.summary.summary import reality_words
from hil.summary.words import one_line

ENVIRONMENT = "environment.properties"
STATUSES = {"pass": Status.PASSED, "fail": Status.FAILED, "skipped": Status.SKIPPED}  # any other verdict: broken
CATEGORIES = [  # in the order in which Allure tries them
    {"name": "Rig: blocked, it could not tell", "matchedStatuses": ["broken"], "messageRegex": "blocked: .*"},
    {"name": "Request: refused", "matchedStatuses": ["broken"], "messageRegex": "refused: .*"},
    {"name": "Run: the test did not end", "matchedStatuses": ["broken"], "messageRegex": "interrupted: .*"},
    {"name": "Device or test: failed", "matchedStatuses": ["failed"]},
]
TYPES = {
    ".json": AttachmentType.JSON,
    ".html": AttachmentType.HTML,
    ".log": AttachmentType.TEXT,
    ".svg": AttachmentType.SVG,
}


def write_results(run: Run, folder: Path) -> int:
    """Write results, attachments, `categories.json` and `environment.properties`; return the number of results.

    Raises:
        RigError: the record leads outside of its folder.
        OSError: the disk is full or not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trials = {trial.folder: (trial, steps) for trial, steps in zip(run.trials, run.steps, strict=True)}
    for test in run.tests:
        mine = [trials[name] for name in test.trials]
        result = _result(run, test, [trial for trial, _ in mine])
        for trial, steps in mine:
            step = _step(trial)
            step.attachments = [_attached(source, name, trial, run, folder) for source, name in _files(run, trial)]
            drawn = sparkline(steps, trial)
            if drawn is not None:
                step.attachments.append(_attached(_standalone(str(drawn)), "loss.svg", trial, run, folder))
            result.steps.append(step)
        _dump(
            folder / f"{result.uuid}-result.json", attr.asdict(result, filter=lambda _, value: value or value is False)
        )
    _dump(folder / "categories.json", CATEGORIES)
    _write_environment(run, folder)
    return len(run.tests)


def _result(run: Run, test: AskedTest, trials: Sequence[TrialRecord]) -> TestResult:
    file, _, name = test.test.partition("::")
    history = hashlib.md5(test.test.encode(), usedforsecurity=False).hexdigest()  # the same in every run
    start = _milliseconds(run.facts["time"])
    spent = round(1e3 * sum(trial.wall_s for trial in trials))
    return TestResult(
        uuid=_id(run, test.test),
        name=_text(name or file),
        fullName=_text(test.test),
        testCaseId=history,
        historyId=history,
        titlePath=[_text(part) for part in file.split("/")],
        stage="finished",
        status=Status.SKIPPED if test.expected else _status(test.verdict),
        statusDetails=StatusDetails(message=f"{test.verdict}: {_text(test.reason)}") if test.reason else None,
        labels=list(_labels(run, test, trials, file)),
        parameters=_parameters(trials[0]) if len(trials) == 1 else [],
        # The record has no start of a test: all begin with the run, and last as long as their trials took.
        start=start,
        stop=None if start is None else start + spent,
    )


def _status(verdict: str) -> str:
    return STATUSES.get(verdict, Status.BROKEN)


def _labels(run: Run, test: AskedTest, trials: Sequence[TrialRecord], file: str) -> Iterator[Label]:
    boards = [test.board] if test.board else [trial.board for trial in trials]
    host: dict[str, Any] = dict(run.facts["host"])
    values: dict[str, list[str]] = {
        LabelType.FRAMEWORK: ["pytest"],
        LabelType.HOST: [f"{host.get('system')} {host.get('machine')}"],  # a record names no computer
        LabelType.PARENT_SUITE: [boards[0]] if boards else [],
        LabelType.SUITE: [file],
        "board": boards,
        "reality": [reality_words(trial.reality) for trial in trials],
        "method": [trial.method for trial in trials],
        "network": [trial.network for trial in trials],
    }
    for name, found in values.items():
        for value in dict.fromkeys(found):
            yield Label(name=name, value=_text(value))


def _parameters(trial: TrialRecord) -> list[Parameter]:
    shown = {
        "board": trial.board,
        "reality": reality_words(trial.reality),
        "network": trial.network,
        "method": trial.method,
        "variant": trial.variant,
        "data": trial.data,
        "batch": trial.batch,
        "seed": trial.seed,
        "steps": trial.steps,
    }
    return [Parameter(name=name, value=_text(str(value))) for name, value in shown.items()]


def _step(trial: TrialRecord) -> TestStepResult:
    stage = f" (stage {trial.stage})" if trial.stage else ""
    return TestStepResult(
        name=_text(trial.folder),
        status=_status(trial.verdict),
        statusDetails=StatusDetails(message=f"{trial.verdict}: {_text(trial.reason + stage)}")
        if trial.reason
        else None,
        stage="finished",
        parameters=_parameters(trial),
    )


def _files(run: Run, trial: TrialRecord) -> Iterator[tuple[Path, str]]:
    """Yield the files of a trial that people read: its record, its page, its logs."""
    folder = safe_folder(run.folder, trial.folder)
    page = safe_file(folder, "index.html")
    if page is not None:
        yield page, page.name
    for file in files_in(folder, deep=True) if folder.is_dir() else ():
        if Path(file.path).suffix in TYPES:
            yield folder / file.path, file.path


def _attached(source: Path | bytes, name: str, trial: TrialRecord, run: Run, folder: Path) -> Attachment:
    """Copy a file, or write bytes, into the folder of the results."""
    kind = TYPES[Path(name).suffix]
    file = ATTACHMENT_PATTERN.format(prefix=_id(run, f"{trial.folder}/{name}"), ext=kind.extension)
    with atomic_file(folder / file) as partial:
        if isinstance(source, bytes):
            partial.write_bytes(source)
        else:
            shutil.copyfile(source, partial)
    return Attachment(name=_text(name), source=file, type=kind.mime_type)


def _standalone(svg: str) -> bytes:
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" color="#1f4e9e" ', 1).encode()


def _write_environment(run: Run, folder: Path) -> None:
    """Write the facts of a run into `environment.properties`, beside those of other runs in this folder."""
    path, mine = folder / ENVIRONMENT, f"{_property(run.facts['id'])}{_property(' ')}"
    before = read_text(path, SMALL_TEXT, "give another folder with --out") if path.exists() else ""
    others = [line for line in before.splitlines(keepends=True) if not line.startswith(mine)]
    write_atomic(path, "".join([*others, *(f"{mine}{fact}" for fact in _environment(run))]))


def _environment(run: Run) -> Iterator[str]:
    """Yield lines in the format of Java (java.util.Properties): on what the run was made."""
    realities: dict[str, list[str]] = {}
    for board, reality in dict.fromkeys((trial.board, trial.reality) for trial in run.trials):
        realities.setdefault(f"board {board}", []).append(reality_words(reality))
    shown = {name: " and ".join(found) for name, found in realities.items()}
    shown |= {"commit": run.facts["commit"] or "none", "trainrig": run.facts["versions"].get("trainrig", "unknown")}
    for name, value in shown.items():
        yield f"{_property(name)}={_property(value)}\n"


def _text(text: str) -> str:
    """Return the text as one line. Allure leaves out what is empty, also the name of a test."""
    return one_line(text) or "–"


def _property(text: str) -> str:
    """Return text as a key or a value: what is not a letter, a digit or one of `.-_` is `\\uXXXX` in UTF-16."""
    units = (
        each if each.isascii() and (each.isalnum() or each in ".-_") else _units(each) for each in one_line(text) or " "
    )
    return "".join(units)


def _units(character: str) -> str:
    data = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(data[at : at + 2], 'big'):04x}" for at in range(0, len(data), 2))


def _id(run: Run, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"trainrig:{run.facts['id']}:{name}"))


def _milliseconds(time: str) -> int | None:
    try:
        return round(1e3 * datetime.fromisoformat(time).timestamp())
    except (ValueError, OverflowError):  # a record that was made by hand
        return None


def _dump(path: Path, content: object) -> None:
    write_atomic(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
