"""Read the coverage of runs and trials from their records, and join it board by board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.coverage.excluded import read_exclusions, without_excluded
from hil.coverage.source_file import FileCoverage, merged
from hil.errors import RigError
from hil.images.executed import Executed, union
from hil.images.images import Image, image_of, read_elf
from hil.images.line_map import LineMap, line_map
from hil.record import TrialRecord, read_entries, read_trial
from hil.record.coverage import EXECUTED, read_executed, read_lines, read_sources
from hil.record.safe_paths import RERUN, safe_folder
from hil.record.trial_writer import ENDED

VIRTUAL = "virtual"


@dataclass(frozen=True)
class BoardCoverage:
    """The coverage of one board: of all its trials, and of all images that they ran."""

    board: str
    trials: int
    images: tuple[str, ...]
    files: list[FileCoverage]


@dataclass(frozen=True)
class Coverage:
    """The coverage of runs and trials.

    Attributes:
        boards: each board that recorded coverage.
        without: number of trials that recorded none, by the reason.
        files: the union over all boards.
        sources: the lines of the source files, by name, as far as the runs kept them.
        wrong: a sentence for each entry of the list of excluded lines that is wrong.
    """

    boards: list[BoardCoverage]
    without: dict[str, int]
    files: list[FileCoverage]
    sources: dict[str, list[str]]
    wrong: list[str]


@dataclass(frozen=True)
class _Trial:
    run: Path
    record: TrialRecord
    uid: str = ""  # of the run, if it was read


def read_coverage(folders: Sequence[Path], elfs: Sequence[Path] = ()) -> Coverage:
    """Return the coverage of runs and of trials. A trial counts once, also if its run is named by two paths or copied.

    Args:
        folders: of runs or trials.
        elfs: images of which a run does not hold the lines.

    Raises:
        RigError: a record is damaged; no trial recorded coverage; an image is not there, was not run, or has no debug
            lines.
    """
    trials: list[_Trial] = []
    seen: set[tuple[str, str]] = set()
    for trial in (trial for folder in folders for trial in _trials(folder)):
        names = {(name, trial.record.folder) for name in (str(trial.run.resolve()), trial.uid) if name}
        if not names & seen:
            trials.append(trial)
        seen |= names
    given = {image.sha256: image for image in map(read_elf, elfs)}
    _check_given(given, trials)
    found = _joined(trials, given)
    if not found.boards:
        raise RigError(_nothing(folders, found.without))
    return found


def coverage_of(run: Path, trials: Iterable[TrialRecord]) -> Coverage:
    """Return the coverage of the trials of a run, whose records are read; without boards if none recorded coverage.

    Raises:
        RigError: a file is damaged, or an image has no debug lines or is not there.
    """
    return _joined([_Trial(run, trial) for trial in trials], {})


def _joined(trials: Sequence[_Trial], given: Mapping[str, Image]) -> Coverage:
    parts: dict[str, dict[str, list[Executed]]] = {}
    counts: dict[str, int] = {}
    without: dict[str, int] = {}
    homes: dict[str, _Trial] = {}
    ran: list[tuple[_Trial, Executed]] = []
    for trial in trials:
        record = trial.record
        executed = read_executed(safe_folder(trial.run, record.folder), record.image_sha256)
        if executed is None or record.image_sha256 is None:
            reason = _reason(record)
            without[reason] = without.get(reason, 0) + 1
            continue
        ran.append((trial, executed))
        homes.setdefault(record.image_sha256, trial)
        counts[record.board] = counts.get(record.board, 0) + 1
        parts.setdefault(record.board, {}).setdefault(record.image_sha256, []).append(executed)
    lines = {sha256: _lines(trial, given) for sha256, trial in homes.items()}
    for trial, executed in ran:
        _check_reached(trial, executed, lines[str(trial.record.image_sha256)])
    sources: dict[str, list[str]] = {}
    for run in dict.fromkeys(trial.run for trial in homes.values()):
        sources = read_sources(run) | sources
    exclusions = read_exclusions()
    boards, joined = [], []
    for board, images in sorted(parts.items()):
        files = merged(file for sha256, each in images.items() for file in _files(lines[sha256], union(each)))
        joined += files
        boards.append(
            BoardCoverage(board, counts[board], tuple(images), without_excluded(files, exclusions, sources)[0])
        )
    files, wrong = without_excluded(merged(joined), exclusions, sources)
    return Coverage(boards, without, files, sources, wrong)


def _check_reached(trial: _Trial, executed: Executed, lines: LineMap) -> None:
    """Refuse a coverage of other code than the image: a trial with steps, or any block, reaches a line."""
    record = trial.record
    reached = executed.touches(lines.first.astype(np.int64), lines.end.astype(np.int64)).any()
    if not reached and (len(executed.blocks) or record.steps_compared):
        what = f"{len(executed.blocks):,} blocks of code" if len(executed.blocks) else "no code"
        raise RigError(
            f"{trial.run / record.folder / EXECUTED} is damaged (it has {what}, and none of the lines of the image, "
            f"but its trial compared {record.steps_compared:,} steps): {RERUN}."
        )


def _files(lines: LineMap, executed: Executed) -> list[FileCoverage]:
    branches = lines.branches(executed)
    return [FileCoverage(name, found, branches.get(name, {})) for name, found in lines.reached(executed).items()]


def _trials(folder: Path) -> list[_Trial]:
    if (folder / ENDED).is_file():
        return [_Trial(folder.resolve().parent, read_trial(folder))]
    run = read_entries(folder)
    return [_Trial(run.folder, trial, run.facts.get("uid", "")) for trial in run.trials]


def _check_given(given: Mapping[str, Image], trials: Sequence[_Trial]) -> None:
    ran = {trial.record.image_sha256 for trial in trials}
    for sha256, image in given.items():
        if sha256 not in ran:
            raise RigError(
                f"{image.path} is another build (sha256 {sha256[:12]}) than the images of these trials "
                f"({', '.join(sorted(each[:12] for each in ran if each)) or 'none'}): give the ELF file that they ran."
            )


def _reason(record: TrialRecord) -> str:
    """Return why a trial recorded no coverage, as the end of a sentence about it."""
    if record.reality is None:
        return "reached no board"
    if record.flash is None:
        return "ended before the image was started"
    if record.reality == VIRTUAL:
        return "ran on a virtual board that has ended, or an older trainrig recorded it"
    return f"ran on {record.reality}, which records none"


def _nothing(folders: Sequence[Path], without: Mapping[str, int]) -> str:
    reasons = "; ".join(f"{trials:,} {reason}" for reason, trials in without.items()) or "there is no trial"
    return f"{' '.join(map(str, folders))} has no coverage (trials: {reasons}): run them with --reality=virtual."


def _lines(trial: _Trial, given: Mapping[str, Image]) -> LineMap:
    """Return the lines of the image of a trial: from an ELF file that was given, the run's folder, or the package."""
    record = trial.record
    sha256 = record.image_sha256 or ""
    name = record.image["file"] if record.image is not None else "its image"
    found = line_map(given[sha256]) if sha256 in given else read_lines(trial.run, sha256)
    if found is None:
        image = image_of(record.board)
        if image.sha256 != sha256:
            raise RigError(
                f"the trials on {record.board} ran {name} of another build (sha256 {sha256[:12]}) than "
                f"{image.path.name} of this trainrig ({image.sha256[:12]}): give the ELF file that they ran (--elf)."
            )
        found = line_map(image)
    if not len(found.first):
        raise RigError(f"{name} of the trials on {record.board} has no debug lines: compile it with -g and run again.")
    return found
