"""The other files of a run that repeat its record: results.csv, since_last_good.json, SHA256SUMS."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from hil import __version__
from hil.bounded_read import MB, read_text
from hil.number_text import number
from hil.record.checks.entries import close
from hil.record.checks.junit import JUNIT
from hil.record.checks.recorded import LATENCY, POWER, RESULTS, STEPS, RecordedRun
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.coverage import EXECUTED, LINES, SOURCES
from hil.record.csv_table import flat_rows
from hil.record.device_quantities import SCOPE, device_quantities, scope_of, values_of
from hil.record.device_test import DEVICE_TEST, DeviceTest
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import RERUN, safe_file, safe_folder
from hil.record.since_last_good import FILE as SINCE
from hil.record.since_last_good import (
    NO_GOOD_NIGHT,
    NOTHING_KNOWN,
    ChangedWord,
    SinceLastGood,
    changes_in_words,
    read_since,
)
from hil.record.sums import SUMS, FileSums, files_of, is_page, sha256_of
from hil.record.trial_writer import BEGUN, ENDED, NETWORK, TRAINED

CSV = "results.csv"
READ = {  # names of files that readers of a record look for
    RESULTS, CSV, JUNIT, SINCE, SOURCES, ENDED, BEGUN, STEPS, LATENCY, POWER, NETWORK, TRAINED, EXECUTED, DEVICE_TEST,
}  # fmt: skip
PATTERNS = (LINES.format("*"), "drift-*.parquet")  # of such names too
LARGEST = 64 * MB
FEWEST_DIGITS = 1e-9
LONGEST_KNOWN = 200  # characters of words from the history, which cuts longer names


def check_folders(run: RecordedRun) -> Iterator[Contradiction]:
    """Every folder with the record of a trial or of a device test is one of results.json."""
    if run.results["run"]["state"] == RUNNING:
        return
    known = {trial.name for trial in run.trials}
    devices = {record.folder for record in run.results.get("device_tests", ())}
    for folder in sorted(path for path in run.folder.iterdir() if path.is_dir() and not path.is_symlink()):
        for name, listed, what in (
            (ENDED, known, "trial"), (BEGUN, known, "trial"), (DEVICE_TEST, devices, "device test")
        ):  # fmt: skip
            if folder.name not in listed and (folder / name).is_file():
                yield differ(
                    f"{folder.name}/{name}", f"a {what}", "there", RESULTS, f"no {what} in this folder", folder.name
                )


def check_csv(run: RecordedRun) -> Iterator[Contradiction]:
    """results.csv has the columns of results.json, a row for each trial and each test without one, and their values."""
    path = safe_file(run.folder, CSV)
    if path is None:
        return
    if run.results["run"]["state"] == RUNNING:
        yield differ(RESULTS, "run.state", RUNNING, CSV, "the table of a run that ended")
        return
    header, *rows = [*csv.reader(io.StringIO(read_text(path, LARGEST, RERUN), newline=""))] or [[]]
    wanted = list(flat_rows(run.results["tests"], run.results["trials"]))
    wrong = list(_columns(header, wanted))
    yield from wrong
    if wrong:
        return  # which cell is of which column is not known
    if len(rows) != len(wanted):
        yield differ(CSV, "the number of rows", len(rows), RESULTS, f"{len(wanted)} trials and tests without one")
        return
    for line, (row, right) in enumerate(zip(rows, wanted, strict=True), start=2):
        trial = str(right.get("folder") or "")
        if len(row) != len(header):
            yield differ(CSV, f"the number of cells in row {line}", len(row), CSV, f"{len(header)} columns", trial)
            continue
        for column, cell in zip(header, row, strict=True):
            if not _is_cell(cell, right.get(column)):
                yield differ(CSV, f"{column} in row {line}", cell, RESULTS, right.get(column), trial)


def _columns(header: Sequence[str], wanted: Sequence[Mapping[str, Any]]) -> Iterator[Contradiction]:
    """Each column of results.json is there once, and no other."""
    # An empty object has no column (pandas.json_normalize).
    columns = {column for row in wanted for column, value in row.items() if value != {}}
    times = Counter(header if wanted else [name for name in header if name])
    for name in sorted(columns - times.keys()):
        yield differ(CSV, f"the column {name}", NOTHING, RESULTS, "it")
    for name, count in times.items():
        if name not in columns:
            yield differ(CSV, f"the column {name!a}", "there", RESULTS, NOTHING)
        elif count > 1:
            yield differ(CSV, f"the number of columns {name}", count, RESULTS, 1)


def _is_cell(cell: str, value: Any) -> bool:
    """Return whether a cell holds a value: pandas writes 2.0 as 2 in a column of whole numbers."""
    if value is None or value == {}:
        return not cell
    if cell == str(value):
        return True
    try:
        return not isinstance(value, (bool, str)) and close(number(cell), float(value))
    except (ValueError, OverflowError):
        return False


def check_since(run: RecordedRun) -> Iterator[Contradiction]:
    """What since_last_good.json says of this run is in results.json; its counts and sentence follow from its rows."""
    since = read_since(run.folder)
    if since is None:
        return
    yield from _since_itself(run, since)
    verdicts = {(test.test, test.board or ""): test.verdict for test in run.results["tests"]}
    trials = {trial.name: trial for trial in run.trials}
    devices = {device.folder: device for device in run.results.get("device_tests", ())}
    for word in since["words"]:
        trial = trials.get(word["folder"])
        here: Any = verdicts.get((word["test"], word["board"]), "") if word["what"] == "verdict" else NOTHING
        if trial is not None and word["what"] != "verdict":
            image = trial.record.image
            here = trial.record.final_digest if word["what"] == "trained tensors" else image and image["digest"]
        if (device := devices.get(word["folder"])) is not None:
            here = _of_device(word, device)
        if here is not NOTHING and here != word["after"]:
            yield differ(SINCE, f"{word['what']} of {word['test']} after", word["after"], RESULTS, here)
    for figure in since["figures"]:
        trial, device = trials.get(figure["folder"]), devices.get(figure["folder"])
        given = values_of(device) if device is not None else {}
        found = None if trial is None else trial.figures.get(figure["name"])
        value: Any = given.get(figure["name"], NOTHING) if found is None else found.value
        if value is NOTHING or not close(value, figure["after"]):
            yield differ(SINCE, f"{figure['name']} of {figure['folder']} after", figure["after"], RESULTS, value)


def _of_device(word: ChangedWord, device: DeviceTest) -> Any:
    """Return what a device test has in the place of a word; NOTHING if it says nothing of it."""
    what, after = word["what"], word["after"]
    if what == "image":
        return device.image and device.image["sha256"][:8]
    if what not in SCOPE or len(word["before"] + after) > LONGEST_KNOWN:
        return NOTHING
    texts = scope_of(sorted(device_quantities(device)))[what].values()
    if after:
        return after if after in texts else f"no such {what}"
    return word["before"] if word["before"] in texts else ""


def _since_itself(run: RecordedRun, since: SinceLastGood) -> Iterator[Contradiction]:
    good, words, figures, compared = since["good"], since["words"], since["figures"], since["compared"]
    if good is None:
        for name, count in {"compared": compared, "words": len(words), "figures": len(figures)}.items():
            if count:
                yield differ(SINCE, f"{name} (its number)", count, f"{SINCE} (good is null)", 0)
        if since["commits"]:
            yield differ(SINCE, "commits", since["commits"], f"{SINCE} (good is null)", "")
    elif compared > (ours := len(run.trials) + len(run.results.get("device_tests", ()))):
        yield differ(SINCE, "compared", compared, RESULTS, f"{ours} trials")
    if run.results["run"]["versions"].get("trainrig") != __version__:
        return  # another version may have other words
    sentence = since["sentence"]
    if good is not None and sentence != changes_in_words(compared, words, figures):
        yield differ(SINCE, "sentence", sentence, f"{SINCE} (its rows)", changes_in_words(compared, words, figures))
    if good is None and sentence not in NOTHING_KNOWN:
        yield differ(SINCE, "sentence", sentence, f"{SINCE} (good is null)", NO_GOOD_NIGHT)


def check_sums(run: RecordedRun, pages: bool = False) -> Iterator[Contradiction]:
    """SHA256SUMS lists every file of the record, and these have its digests; pages count only in a signed run."""
    facts = run.results["run"]
    if facts["state"] == RUNNING:
        return
    sums = run.sums
    if sums is None:
        if facts.get("sums"):
            yield differ(RESULTS, "run.sums", facts["sums"], SUMS, NOTHING)
        return
    if facts["id"] != sums.run:
        yield differ(RESULTS, "run.id", facts["id"], SUMS, sums.run)
    if facts.get("uid", "-") != sums.uid:
        yield differ(RESULTS, "run.uid", facts.get("uid", "-"), SUMS, sums.uid)
    for path, digest in sums.digests.items():
        if is_page(path) and not pages:
            continue
        *folders, name = path.split("/")
        place = run.folder
        for folder in folders:
            place = safe_folder(place, folder)
        file = safe_file(place, name) if place.is_dir() else None
        found = NOTHING if file is None else sha256_of(file)
        if found != digest:
            yield differ(path, "its SHA-256", found, SUMS, digest, folders[0] if folders else "")
    yield from unlisted(run, sums, pages, every=pages)


def unlisted(run: RecordedRun, sums: FileSums, pages: bool, every: bool) -> Iterator[Contradiction]:
    """Yield the files that SHA256SUMS does not list: `every` one, or those that readers of a record look for."""
    for path, _ in files_of(run.folder, pages):
        name = path.rpartition("/")[2]
        if path not in sums.digests and (every or name in READ or any(fnmatch(name, each) for each in PATTERNS)):
            yield differ(path, "the file", "there", SUMS, NOTHING, path.partition("/")[0] if "/" in path else "")
