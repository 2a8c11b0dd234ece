"""A record of a real run, edited: every reader names what does not fit, and none says that the run is fine."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from forging import Forged, Place, at, changed, kind, leaves, put

from hil.commands.main import main
from hil.errors import RigError
from hil.record import read_entries, read_run
from hil.record.contradiction import Contradicted
from hil.record.sums import files_of, read_sums
from hil.report import render, render_single

DOCS = Path(__file__).parents[3] / "docs/verify.md"
MEASURED, INTEGERS, GRAPH = "cls1-b2-latency", "int8star", "resnet-tiny"
SAMPLE, SEED = 8, 45


def read(run: Path) -> str:
    """Return the one sentence that a reader says; empty if it reads."""
    try:
        read_entries(run)
    except RigError as error:
        said = str(error)
        assert said.endswith(".") and said.isprintable() and len(said) < 1200, said
        return said
    return ""


def test_the_run_as_it_is_reads(run: Path) -> None:
    assert read(run) == ""
    found = read_run(run)
    assert {trial.reality for trial in found.trials} == {"virtual"} and found.facts["sums"] == "SHA256SUMS"
    assert any(trial.energy and trial.latency for trial in found.trials)


# What a forger of a result would want, in results.json alone.
WANTED: dict[str, tuple[str, Callable[[Forged], Any], str]] = {
    "verdict": (MEASURED, lambda f: f.trial(MEASURED).update(verdict="fail", reason="x."), "verdict of .* is 'fail', but .*trial.json has 'pass'"),
    "reality": (MEASURED, lambda f: f.trial(MEASURED).update(reality="hardware"), "reality of .* is 'hardware', but .*trial.json has 'virtual'"),
    "steps": (INTEGERS, lambda f: f.trial(INTEGERS).update(steps_compared=300), "steps_compared of .* is 300, but .*trial.json has 3"),
    "figure": (GRAPH, lambda f: f.trial(GRAPH)["sram"].update(total=1), "sram.total of .* is 1, but .*trial.json has"),
    "time": (MEASURED, lambda f: f.trial(MEASURED).update(step_time_s=1e-3), "step_time_s of .* is 0.001, but"),
    "energy": (MEASURED, lambda f: f.trial(MEASURED)["energy"]["per_step"].update(value=1e-9), "energy.per_step.value of .* is 1e-09, but"),
    "totals": (MEASURED, lambda f: f.results["totals"]["tests"].update({"pass": 99}), "totals.tests.pass is 99, but .*has"),
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_an_edit_of_results_json_is_named_with_both_values(run: Path, name: str) -> None:
    _, edit, said = WANTED[name]
    forged = Forged(run)
    edit(forged)
    assert re.search(said, read(forged.write(seal=True))), read(run)


def test_the_verdict_of_a_test_is_no_better_than_its_trials_or_its_outcome(run: Path) -> None:
    forged = Forged(run)
    test = next(test for test in forged.results["tests"] if "test_asserts" in test["test"])
    test.update(verdict="pass", reason="")
    assert re.search(r"verdict of .*test_asserts.* is 'pass', but", read(forged.write(seal=True)))
    test.update(outcome="passed")
    forged.write(everywhere=True, seal=True)
    assert re.search(r"verdict of .*test_asserts.* is 'pass', but junit.xml has 'fail'", read(run))


@pytest.mark.parametrize("outcome", ["xpassed", "xfailed", "skipped"])
def test_the_outcome_of_a_test_that_passed_is_that_of_its_case(run: Path, outcome: str) -> None:
    forged = Forged(run)
    test = next(test for test in forged.results["tests"] if test["verdict"] == "pass")
    test.update(outcome=outcome)
    assert re.search(f"outcome of .* is '{outcome}', but junit.xml has 'passed'", read(forged.write(seal=True)))


def readers(run: Path, good: Path) -> dict[str, list[str]]:
    """Every command that reads a run, as a command line."""
    place = str(run.parent / "packed")
    return {
        "report": ["report", str(run)], "single file": ["report", "--single-file", str(run)],
        "summary": ["summary", str(run)], "summary in JSON": ["summary", "--format=json", str(run)],
        "badge": ["summary", "--format=badge", str(run)], "compare": ["compare", str(good), str(run)],
        "a trial": ["compare", str(next(run.glob(f"*{MEASURED}*"))), str(next(run.glob(f"*{GRAPH}*")))],
        "tail": ["tail", "--once", str(run)], "verify": ["verify", str(run)],
        "history": ["history", "rebuild", "--reports", str(run.parent)],
        "import": ["import", str(run), "--reports", str(run.parent / "other")], "pack": ["pack", str(run), "--out", f"{place}.zip"],
    }  # fmt: skip


NAMES = ("report", "single file", "summary", "summary in JSON", "badge", "compare", "a trial", "tail", "verify", "history", "import", "pack")  # fmt: skip


def command(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    try:
        code = main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    out = capsys.readouterr()
    return code, out.out + out.err


@pytest.mark.parametrize("name", NAMES)
def test_every_reader_refuses(name: str, run: Path, made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run.parent / "other").mkdir()
    code, said = command(readers(run, (made / "reports/latest").resolve())[name], capsys)
    assert code == 0, said
    forged = Forged(run)
    forged.trial(MEASURED)["reality"] = "hardware"
    forged.write(seal=True)
    for page in run.glob("*.html"):
        page.unlink()
    code, said = command(readers(run, (made / "reports/latest").resolve())[name], capsys)
    assert code in (1, 2), said
    assert re.search(r"reality of .* is 'hardware', but .*trial.json has 'virtual'", said), said
    assert "Fine" not in said and not list(run.glob("*.html"))


# What a forger of every copy would have to know: the same edit in results.json, trial.json, results.csv and SHA256SUMS.
EVERYWHERE: dict[str, tuple[Callable[[Forged], Any], str]] = {
    "reality": (lambda f: f.trial(MEASURED).update(reality="hardware"), "reality of .* is 'hardware', but .*warnings. has 'virtual board"),
    "reality in all words": (lambda f: real(f.trial(MEASURED)), "bench.log has 'the output of a stand-in'|junit.xml has"),
    "provenance": (lambda f: f.trial(MEASURED).update(cycles_provenance="measured"), "cycles_provenance .* is 'measured', but .*reality virtual.* has 'modelled'"),
    "provenance of energy": (lambda f: f.trial(MEASURED)["energy"]["per_step"].update(provenance="measured"), "energy.per_step.* is 'measured'"),
    "steps": (lambda f: f.trial(INTEGERS).update(steps=4, steps_compared=4), "steps_compared is 4, but .*steps.parquet .rows. has 3"),
    "bit exact": (lambda f: f.trial(GRAPH).update(bit_exact=None), "bit_exact"),
    "digest": (lambda f: f.trial(GRAPH).update(final_digest="00000000"), "final_digest .* is '00000000', but"),
    "digest of a tensor": (lambda f: f.trial(GRAPH)["digests"].__setitem__(0, "00000000"), "final_digest .*of its digests"),
    "cycles": (lambda f: f.trial(GRAPH)["cycles"].update(total=5), "cycles.total is 5, but .*mean of cycles_total"),
    "step time": (lambda f: f.trial(GRAPH).update(step_time_s=1e-6), "step_time_s .* is 1e-06, but .*cycles.total / clock_hz"),
    "signs": (lambda f: f.trial(INTEGERS)["signs"].update(right=3 - f.trial(INTEGERS)["signs"]["right"]), "signs.right is ., but .*right_sign"),
    "accuracy": (lambda f: f.trial(MEASURED)["accuracy"].update(after=0.95, reference_after=0.95), "accuracy.after .* is 0.95, but .*evaluations"),
    "energy": (lambda f: f.trial(MEASURED)["energy"]["per_step"].update(value=1e-9), "energy.per_step.value .* is 1e-09, but .*windows"),
    "uncertainty": (lambda f: f.trial(MEASURED)["energy"]["per_step"].update(uncertainty=1e-12), "energy.per_step.uncertainty .*, but .*budget"),
    "duration": (lambda f: [w.update(duration=9.0) for w in f.trial(MEASURED)["energy"]["windows"]], "duration"),
    "meter": (lambda f: f.trial(MEASURED)["energy"]["meter"].update(identity="a real one"), "energy.meter.identity .*power.parquet"),
    "latency": (lambda f: f.trial(MEASURED)["latency"]["phases"]["total"].update(p99=1.0), "latency.phases.total.p99 is 1.0, but .*latency.parquet"),
    "limit": (lambda f: [g.update(limit=1.0) for g in f.trial(MEASURED)["gates"] if g["name"] == "sram"], "budget of sram of .* is 'pass', but .*'fail for"),
    "unit of a budget": (lambda f: [g.update(unit="J") for g in f.trial(MEASURED)["gates"] if g["name"] == "sram"], "unit of the budget of sram .* is 'J', but .*'B'"),
    "figure of a budget": (lambda f: [g.update(value=1) for g in f.trial(MEASURED)["gates"] if g["name"] == "sram"], "value of the budget of sram .* is 1, but"),
    "judgement": (lambda f: [g.update(verdict="pass") for g in f.trial(MEASURED)["gates"] if g["name"] == "step_time"], "budget of step_time of .* is 'pass', but .*'not judged for"),
    "memory": (lambda f: f.trial(GRAPH)["sram"].update(total=10), "sram.total .* is 10, but"),
    "plan": (lambda f: f.trial(GRAPH)["sram"].update(planned=10), "sram.planned .* is 10, but .*memory_plan"),
    "wrong figure": (lambda f: f.trial(GRAPH).update(wrong_figures={"cycles": "they differ."}), "wrong_figures"),
    "probe": (lambda f: f.trial(GRAPH).update(probe_checks=5), "probe_agreed"),
    "exit code": (lambda f: f.results["run"].update(exit_code=0), "run.exit_code is 0, but"),
    "running": (lambda f: f.results["run"].update(state="running", ended=None, exit_code=None), "run.state is 'running', but results.csv"),
    "test without its trial": (lambda f: f.results["tests"][0].update(trials=[]), "the test of .* is missing|no trial of it|names"),
}  # fmt: skip


def real(trial: dict[str, Any]) -> None:
    """Say everywhere that a trial ran on hardware."""
    trial.update(reality="hardware", cycles_provenance="measured", attached=True)
    trial["warnings"] = [text for text in trial["warnings"] if "board" not in text]
    trial["latency"]["provenance"] = "measured"
    trial["energy"]["meter"]["identity"] = "Keithley 2450"


@pytest.mark.parametrize("name", EVERYWHERE)
def test_an_edit_of_every_copy_is_named_by_what_it_follows_from(run: Path, name: str) -> None:
    edit, said = EVERYWHERE[name]
    forged = Forged(run)
    edit(forged)
    forged.write(everywhere=name not in ("running", "test without its trial"), seal=True)
    try:
        read_run(run)
        found = ""
    except Contradicted as error:
        found = " ".join(one.sentence for one in error.found)
    assert re.search(said, found), found


# Edits of fields: some of them in the quick tier, each kind of field once in the nightly tier.
SWEEP = pytest.mark.parametrize("most", [SAMPLE, pytest.param(None, marks=pytest.mark.tier("nightly"))], ids=["sample", "all"])  # fmt: skip


def kinds(value: Any, most: int | None, ignored: str = "") -> list[Place]:
    """Return a place of each kind of field; if `most` is given, so many of them, drawn by a fixed seed."""
    found: dict[str, Place] = {}
    for place, _ in leaves(value):
        if not ignored or not kind(place).startswith(ignored):
            found.setdefault(kind(place), place)
    assert len(found) > 20
    return list(found.values()) if most is None else random.Random(SEED).sample(list(found.values()), most)


def edited(value: Any, place: Place) -> Any:
    """Return a copy with another value in one place."""
    found = copy.deepcopy(value)
    put(found, place, changed(at(found, place)))
    return found


@SWEEP
def test_any_single_edit_of_results_json_is_named(run: Path, most: int | None) -> None:
    """The file is no longer the one that SHA256SUMS lists."""
    forged = Forged(run)
    whole = forged.results
    for place in kinds(whole, most):
        forged.results = edited(whole, place)
        assert read(forged.write()), kind(place)


@SWEEP
@pytest.mark.parametrize("part", [MEASURED, INTEGERS])
def test_any_single_edit_of_trial_json_is_named(run: Path, part: str, most: int | None) -> None:
    path = next(run.glob(f"*{part}*")) / "trial.json"
    whole = json.loads(path.read_text())
    for place in kinds(whole, most):
        path.write_text(json.dumps(edited(whole, place)))
        assert read(run), kind(place)


@SWEEP
def test_what_only_sha256sums_contradicts_is_the_list_of_the_documentation(run: Path, most: int | None) -> None:
    """Edits of results.json by somebody who also makes SHA256SUMS again: the fields that nothing else repeats."""
    forged, free = Forged(run), set()
    whole = forged.results
    for place in kinds(whole, most, ignored="trials."):
        forged.results = edited(whole, place)
        if not read(forged.write(seal=True)):
            free.add(re.sub(r"^run\.(host|versions)\..*", r"run.\1", kind(place)).replace("tests.*.", "tests[]."))
    listed = DOCS.read_text().partition("<!-- free -->")[2].partition("<!-- end -->")[0]
    known = set(re.findall(r"`((?:run\.|tests\[\])[^`]*)`", listed))
    assert free <= known
    if most is None:
        # a run outside a checkout and without a name has no such values; a name with a space is refused as no name
        assert known - free <= {"run.id", "run.uid", "run.bench", "run.after", "run.commit"}


@SWEEP
def test_every_field_of_a_trial_in_results_json_has_a_second_place(run: Path, most: int | None) -> None:
    forged = Forged(run)
    whole = forged.results
    number = next(n for n, trial in enumerate(whole["trials"]) if MEASURED in trial["folder"])
    for place in kinds(whole["trials"][number], most):
        forged.results = edited(whole, ("trials", number, *place))
        assert read(forged.write(seal=True)), kind(place)


def test_rows_of_a_table_that_are_missing_or_edited(run: Path) -> None:
    path = next(run.glob(f"*{MEASURED}*")) / "steps.parquet"
    table = pq.read_table(path)
    forged = Forged(run)
    pq.write_table(table.slice(0, table.num_rows - 1), path)
    assert "steps.parquet (rows) has 3" in read(run)
    pq.write_table(table.take([0, 2, 1, 3]), path)
    assert re.search(r"step in row 1 .*is 2, but", read(run)) or "step in row 1" in read(run)
    frame = table.to_pandas()
    frame.loc[1, "digest"] ^= 1
    frame.to_parquet(path)
    assert re.search(r"steps.parquet: its SHA-256 is '.*', but SHA256SUMS has", read(run))
    frame.loc[1, "match"] = False
    frame.to_parquet(path)
    forged.seal()
    assert "bit_exact" in read(run), "a digest that differs beside a pass"
    path.unlink()
    assert "steps.parquet" in read(run)


def test_folders_that_come_and_go(run: Path) -> None:
    trial = next(run.glob(f"*{GRAPH}*"))
    shutil.copytree(trial, run / "another")
    assert re.search(
        r"another/trial.json: a trial is 'there', but results.json has 'no trial in this folder'", read(run)
    )
    shutil.rmtree(run / "another")
    (trial / "trial.json").rename(trial / "kept.json")
    assert f"{trial.name}" in read(run) and "missing" in read(run)
    shutil.rmtree(trial)
    assert f"{trial.name}" in read(run)


def test_a_trial_that_could_not_be_written_costs_no_other_record(run: Path) -> None:
    """Without memory or disk space begun.json stays beside the whole entry, and the run says what is missing."""
    forged = Forged(run)
    folder = run / forged.trial(INTEGERS)["folder"]
    begun = json.loads((folder / "trial.json").read_text()) | {"verdict": "interrupted", "reason": "it did not end."}
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "begun.json").write_text(json.dumps(begun))
    forged.write(seal=True)
    assert "only begun.json, of a trial that did not end" in read(run)
    forged.results["run"].update(missing=[f"{folder.name}: no space left on device."], whole=False)
    forged.write(seal=True)
    assert read(run) == "" and len(read_run(run).trials) == len(forged.results["trials"])


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("results.csv", ",virtual,", ",hardware,"),
        ("junit.xml", 'name="verdict" value="fail"', 'name="verdict" value="pass"'),
    ],
)
def test_an_edit_of_a_copy_is_named(run: Path, name: str, old: str, new: str) -> None:
    path = run / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    Forged(run).seal()
    assert name in read(run) and "contradicts itself" in read(run)


def test_sha256sums_lists_every_file_that_the_session_wrote(run: Path) -> None:
    sums = read_sums(run)
    assert sums is not None and set(sums.digests) == {path for path, _ in files_of(run, pages=False)}
    assert {"results.json", "junit.xml", "sources.npz"} < set(sums.digests)
    assert any(path.startswith("lines-") for path in sums.digests)


def test_sha256sums_that_is_not_there(run: Path) -> None:
    (run / "SHA256SUMS").unlink()
    assert "run.sums is 'SHA256SUMS', but SHA256SUMS has missing" in read(run)


def test_a_page_may_be_rendered_again(run: Path) -> None:
    render(run)
    render_single(run)
    assert read(run) == "" and read_entries(run).facts["state"] == "ended"
