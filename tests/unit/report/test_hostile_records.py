"""Records that anybody may have damaged or made: one sentence that names the file, and no way out of the run's folder."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hil.errors import RigError
from hil.record import SCHEMA, read_run, schema
from hil.report import render, render_single
from tests.bombs import in_little_memory
from tests.mutate import damaged_bytes, damaged_fields
from tests.unit.report.conftest import (
    GRADIENTS,
    WHOLE,
    blocked_trial,
    make_captures,
    make_latency,
    make_steps,
    make_trial,
)

FIELDS, BYTES, DRAWN = 1500, 1000, 8
OUTSIDE = (
    "../outside",
    "..",
    ".",
    "",
    "/outside",
    "a/../../outside",
    "a/b",
    "a\0b",
    "a\nb",
    "-\x1b[2J",
    "x" * 300,
    "..\\outside",
    "\u202eabc",
)


@pytest.fixture
def run(record: Callable[..., Path]) -> Path:
    """A run with everything that a record may hold."""
    whole = make_trial(**WHOLE, latency=make_latency(), sample_gradients=GRADIENTS)
    return record((whole, make_steps(30)), (blocked_trial("it is not there."), {}), power=make_captures())


def said(make: Callable[[], object]) -> str:
    """Return the one sentence that came out, empty for none; nothing else may come out."""
    try:
        make()
    except RigError as error:
        text = str(error)
        assert text.endswith(".") and text.isprintable() and len(text) < 1000, text
        return text
    return ""


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def write(run: Path, results: object) -> None:
    (run / "results.json").write_text(json.dumps(results))


def results_of(run: Path) -> dict:
    return json.loads((run / "results.json").read_text())


def test_a_record_is_read_and_drawn(run: Path) -> None:
    assert said(lambda: render(run)) == ""


def test_damaged_fields_are_named_or_read(run: Path) -> None:
    """All of them through the reader; of those that it takes, the first through the pages too."""
    whole, rng, refused, drawn = results_of(run), random.Random(3), 0, 0
    (run / whole["trials"][0]["folder"] / "steps.parquet").unlink()  # it would be read every time
    for _ in range(FIELDS):
        write(run, damaged_fields(whole, rng))
        text = said(lambda: read_run(run))
        assert not text or str(run) in text
        refused += bool(text)
        if not text and drawn < DRAWN:
            drawn += 1
            text = said(lambda: render(run))
            assert not text or str(run) in text
    assert refused > FIELDS / 3


def test_damaged_bytes_are_named_or_read(run: Path) -> None:
    whole, rng = (run / "results.json").read_bytes(), random.Random(4)
    (run / results_of(run)["trials"][0]["folder"] / "steps.parquet").unlink()
    for _ in range(BYTES):
        (run / "results.json").write_bytes(damaged_bytes(whole, rng))
        text = said(lambda: read_run(run))
        assert not text or str(run) in text


def test_the_reader_asks_for_what_the_schema_says(run: Path) -> None:
    """The reader refuses what an independent validator refuses by the schema of what is written, but for what only a writer is held to:

    fields of a later version, fields that were not there from the beginning, and rules that bind fields to each other.
    """
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER
    integers = checker.redefine("integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool))
    oracle = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=integers)(
        _of_a_reader(schema())
    )
    whole, rng, wrong = results_of(run), random.Random(5), 0
    assert oracle.is_valid(whole)
    for _ in range(FIELDS // 5):
        value = damaged_fields(whole, rng)
        write(run, value)
        text = said(lambda: read_run(run))
        if OTHER_CHECKS.search(text) is None:
            assert (not text or AFTER_THE_SCHEMA.search(text) is not None) == oracle.is_valid(value), text
        wrong += bool(text)
    assert wrong > FIELDS / 20


@pytest.mark.parametrize(
    ("name", "many", "sentence"),
    [
        pytest.param(
            "cycles",
            lambda count: {str(number): "x" for number in range(count)},
            "trials[0].cycles has 1,500,000 entries, more than 4,096",
            marks=pytest.mark.tier("nightly"),
        ),
        ("digests", lambda count: ["x"] * count, "trials[0].digests[0] is 'x', which has the wrong form"),
    ],
)
def test_a_million_mistakes_cost_no_more_than_one(
    run: Path, name: str, many: Callable[[int], object], sentence: str
) -> None:
    """What is kept of a mistake takes far more memory than the mistake does."""
    results = results_of(run)
    results["trials"][0][name] = many(1_500_000)
    write(run, results)
    assert f"results.json is damaged (results.json.{sentence})" in in_little_memory(
        "from hil.record import read_run; read_run(path)", run
    )


OTHER_CHECKS = re.compile(
    "half of a character|has no field|no plain name|has schema|two trials are in|a test names the trial|is not a JSON number"
)
AFTER_THE_SCHEMA = re.compile("contradicts itself|the record in .* is damaged")


def _of_a_reader(part: object) -> object:
    if isinstance(part, list):
        return [_of_a_reader(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: _of_a_reader(item) for name, item in part.items() if name not in ("allOf", "if", "then", "else")}
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]
    if "required" in kept and "properties" in kept:
        kept["required"] = [name for name in part["required"] if "default" not in part["properties"][name]]
    return kept


def test_a_record_of_the_former_version_is_refused_and_nothing_is_written(run: Path) -> None:
    write(run, results_of(run) | {"schema": SCHEMA - 1})
    before = snapshot(run.parent)
    for make in (lambda: read_run(run), lambda: render(run), lambda: render_single(run)):
        assert f"has schema {SCHEMA - 1}, this trainrig reads {SCHEMA}: use the version that wrote it" in said(make)
    assert snapshot(run.parent) == before


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_folder_that_is_no_plain_name_is_refused_and_nothing_is_written(run: Path, name: str) -> None:
    outside = run.parent / "outside"
    outside.mkdir()
    results = results_of(run)
    results["trials"][0]["folder"] = name
    results["tests"] = []
    write(run, results)
    before = snapshot(run.parent)
    for make in (render, render_single):
        assert "which is no plain name: do not trust this record" in said(lambda make=make: make(run))
    assert snapshot(run.parent) == before


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_id_of_a_run_is_a_plain_name(run: Path, name: str) -> None:
    """It is in the name of the single page."""
    results = results_of(run)
    results["run"]["id"] = name
    write(run, results)
    before = snapshot(run.parent)
    assert "the run's id is" in said(lambda: render_single(run))
    assert snapshot(run.parent) == before


@pytest.mark.parametrize("name", OUTSIDE[:6])
def test_latest_as_a_text_file_names_a_run_beside_it(run: Path, name: str) -> None:
    (run.parent / "latest").unlink()
    (run.parent / "latest").write_text(f"{name}\n")
    assert "latest is a file that names no run: give the folder of a run" in said(lambda: render(run.parent / "latest"))


def test_a_folder_that_is_a_link_is_refused(run: Path) -> None:
    trial = run / results_of(run)["trials"][0]["folder"]
    outside = run.parent / "outside"
    shutil.move(trial, outside)
    trial.symlink_to(outside)
    before = snapshot(outside)
    assert "is a link, but should be the folder of a trial" in said(lambda: render(run))
    assert snapshot(outside) == before


@pytest.mark.parametrize("name", ["results.json", "steps.parquet", "power.parquet"])
def test_a_file_that_is_a_link_is_refused(run: Path, name: str) -> None:
    path = run / name if name == "results.json" else run / results_of(run)["trials"][0]["folder"] / name
    outside = run.parent / "outside"
    shutil.move(path, outside)
    path.symlink_to(outside)
    assert f"{name} is a link" in said(lambda: render(run))


def test_what_a_link_leads_to_is_in_no_page(run: Path) -> None:
    """A record that is rendered and sent on must not carry files of whoever renders it."""
    secret = run.parent / "secret"
    secret.mkdir()
    (secret / "key.log").write_text("BEGIN PRIVATE KEY")
    trial = run / results_of(run)["trials"][1]["folder"]
    (trial / "bench.log").symlink_to(secret / "key.log")
    (trial / "log").symlink_to(secret)
    (run / "other").symlink_to(secret)
    pages = [render(run), trial / "index.html", render_single(run)]
    for page in pages:
        assert "PRIVATE KEY" not in page.read_text() and "key.log" not in page.read_text()


def test_a_page_replaces_a_link_and_does_not_write_through_it(run: Path) -> None:
    victim = run.parent / "victim"
    victim.write_text("mine")
    trial = run / results_of(run)["trials"][0]["folder"]
    for place in (run, trial):
        (place / "index.html").symlink_to(victim)
    render(run)
    assert victim.read_text() == "mine" and not (trial / "index.html").is_symlink()


def test_two_trials_in_one_folder_and_a_test_with_a_trial_that_is_none(run: Path) -> None:
    results = results_of(run)
    results["tests"][0]["trials"] = ["nowhere"]
    write(run, results)
    assert "a test names the trial 'nowhere', which is missing" in said(lambda: render(run))
    results["tests"], results["trials"][1]["folder"] = [], results["trials"][0]["folder"]
    write(run, results)
    assert "two trials are in the folder" in said(lambda: render(run))


@pytest.mark.parametrize("name", ["steps.parquet", "power.parquet"])
def test_damaged_tables(run: Path, name: str) -> None:
    path = run / results_of(run)["trials"][0]["folder"] / name
    whole, rng = path.read_bytes(), random.Random(6)
    for number in range(80):
        path.write_bytes(damaged_bytes(whole, rng))
        text = said(lambda number=number: render(run) if number < 3 else read_run(run))
        assert not text or name in text or str(run) in text


def test_a_table_that_unpacks_to_more_than_it_should(run: Path) -> None:
    """A hundred million times the same number: a few kilobytes in the file."""
    path = run / results_of(run)["trials"][0]["folder"] / "steps.parquet"
    with pq.ParquetWriter(path, pa.schema([("step", pa.int64())])) as out:
        piece = pa.table({"step": np.zeros(10_000_000, np.int64)})
        for _ in range(10):
            out.write_table(piece, row_group_size=10_000_000)
    assert path.stat().st_size < 1 << 20
    assert "steps.parquet is damaged (more than 67,108,864 values" in in_little_memory(
        "from hil.record import read_run; read_run(path)", run
    )


def test_a_table_of_words_is_refused(run: Path) -> None:
    path = run / results_of(run)["trials"][0]["folder"] / "steps.parquet"
    pq.write_table(pa.table({"step": ["x"]}), path)
    assert "its column 'step' is of string" in said(lambda: read_run(run))


def test_a_run_that_was_killed_is_read_with_the_same_care(run: Path) -> None:
    results = results_of(run)
    results["run"] |= {"state": "running", "ended": None, "exit_code": None, "whole": False}
    write(run, results)
    (run / "results.csv").unlink()  # written at the end, as the sums are
    (run / "SHA256SUMS").unlink()
    trial = run / results["trials"][0]["folder"] / "trial.json"
    whole, rng = json.loads(trial.read_text()), random.Random(7)
    assert said(lambda: read_run(run)) == ""
    for _ in range(100):
        trial.write_text(json.dumps(damaged_fields(whole, rng)))
        text = said(lambda: read_run(run))
        assert not text or str(run) in text
    whole["folder"] = "../outside"
    trial.write_text(json.dumps(whole))
    assert "not the record of a trial in this folder" in said(lambda: read_run(run))
    trial.unlink()
    os.mkfifo(trial)
    assert "not a regular file" in said(lambda: read_run(run))
