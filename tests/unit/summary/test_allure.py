"""Results for Allure: only fields of the model that Allure publishes, every attachment there, every verdict a status."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import attr
import pytest
from hypothesis import given

from hil.commands.main import main
from hil.record import Run, read_run
from tests.unit.report.conftest import blocked_trial, make_steps, make_trial
from tests.unit.summary.runs import DRAWN, hostile_runs, make_test, run_of

allure = pytest.importorskip("hil.summary.allure", reason="needs the extra `allure`")
model = pytest.importorskip("allure_commons.model2")

PARTS = {
    "statusDetails": model.StatusDetails, "labels": model.Label, "parameters": model.Parameter, "attachments": model.Attachment,
    "steps": model.TestStepResult, "links": model.Link,
}  # fmt: skip
STATUSES = {value for name, value in vars(model.Status).items() if name.isupper()}


def checked(found: object, kind: type) -> object:
    """Return an object of Allure's model; a field that the model does not have is an error."""
    assert isinstance(found, dict)
    fields = {}
    for name, value in found.items():
        part = PARTS.get(name)
        assert name in {field.name for field in attr.fields(kind)}, name
        if part is None:
            fields[name] = value
        else:
            fields[name] = [checked(each, part) for each in value] if isinstance(value, list) else checked(value, part)
    return kind(**fields)


def results(folder: Path) -> dict[str, object]:
    """Return the results of a folder by the names of their tests, each checked against the model."""
    found = {}
    for path in folder.glob("*-result.json"):
        result = checked(json.loads(path.read_text()), model.TestResult)
        assert path.name == f"{uuid.UUID(result.uuid)}-result.json"
        assert result.status in STATUSES and result.stage == "finished" and result.name
        assert all(each.name and each.value for each in [*result.labels, *result.parameters])
        assert result.start is None or (isinstance(result.start, int) and result.stop >= result.start)
        for step in result.steps:
            assert step.status in STATUSES and step.name
            for attached in step.attachments:
                assert re.fullmatch(r"[0-9a-f-]{36}-attachment\.\w+", attached.source), attached.source
                assert (folder / attached.source).is_file() and attached.type
        found[result.fullName] = result
    return found


def properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values of a file of Java's properties that has no comments and no continued lines."""
    for line in text.splitlines():
        key, value = line.split("=")
        yield tuple(
            re.sub(
                r"(\\u[0-9a-f]{4})+", lambda units: bytes.fromhex(units[0].replace("\\u", "")).decode("utf-16-be"), each
            )
            for each in (key, value)
        )


@pytest.fixture
def night(record: Callable[..., Path]) -> Path:
    """A run with every verdict, and a page for each trial."""
    trials = [(make_trial(test="t.py::good[stm32h7b3]", wall_s=2.5), make_steps(30))]
    trials += [(make_trial(test="t.py::bad", verdict="fail", reason="conv2 differs."), make_steps(30))]
    trials += [(blocked_trial("the probe is gone.").model_copy(update={"test": "t.py::rig"}), make_steps(0))]
    tests = [make_test("interrupted", f"t.py::{name}", board="stm32h7b3") for name in ("good[stm32h7b3]", "bad", "rig")]
    tests[0].verdict, tests[0].reason, tests[1].verdict, tests[2].verdict = "pass", "", "fail", "blocked"
    tests += [make_test(word, f"sub/t.py::{word}") for word in ("refused", "skipped", "interrupted")]
    tests += [make_test("fail", "t.py::known", expected=True)]
    folder = record(*trials, tests=tests)
    trial = next(path for path in folder.iterdir() if path.is_dir())
    (trial / "log").mkdir()
    (trial / "log/flash.log").write_text("programmed")
    (trial / "index.html").write_text("<p>a page</p>")
    return folder


def test_verdicts_become_statuses_and_a_blocked_test_is_no_failed_one(night: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["summary", str(night), "--format=allure", f"--out={out}"]) == 0
    found = results(out)
    assert {name.rpartition("::")[2]: result.status for name, result in found.items()} == {
        "good[stm32h7b3]": "passed", "bad": "failed", "rig": "broken", "refused": "broken", "skipped": "skipped",
        "interrupted": "broken", "known": "skipped",
    }  # fmt: skip
    messages = {result.statusDetails.message for result in found.values() if result.status == "broken"}
    for category in json.loads((out / "categories.json").read_text()):
        if "messageRegex" in category:
            assert sum(bool(re.fullmatch(category["messageRegex"], each, re.S)) for each in messages) == 1
    good = found["t.py::good[stm32h7b3]"]
    assert good.stop - good.start == 2500
    labels = {(label.name, label.value) for label in good.labels}
    assert {
        ("board", "stm32h7b3"),
        ("reality", "virtual board, a stand-in"),
        ("method", "elasticzo-int8"),
        ("network", "lenet5"),
    } <= labels
    assert ("framework", "pytest") in labels and {name for name, _ in labels} >= {"host", "suite", "parentSuite"}
    assert {each.name: each.value for each in good.parameters}["seed"] == "1"


def test_what_people_read_of_a_trial_is_attached(night: Path, tmp_path: Path) -> None:
    allure.write_results(read_run(night), tmp_path / "out")
    (step,) = results(tmp_path / "out")["t.py::good[stm32h7b3]"].steps
    attached = {each.name: (tmp_path / "out" / each.source).read_bytes() for each in step.attachments}
    assert {"trial.json", "loss.svg"} <= set(attached)
    assert json.loads(attached["trial.json"])["verdict"] == "pass" and attached["loss.svg"].startswith(b"<svg xmlns=")
    every = [
        each.name for result in results(tmp_path / "out").values() for step in result.steps for each in step.attachments
    ]
    assert {"log/flash.log", "index.html"} <= set(every) and not [name for name in every if name.endswith(".parquet")]


def test_a_run_that_is_exported_twice_is_there_once_and_another_run_beside_it(
    night: Path, tmp_path: Path, record: Callable[..., Path]
) -> None:
    for _ in range(2):
        allure.write_results(read_run(night), tmp_path / "out")
    before = set(tmp_path.glob("out/*"))
    assert len(results(tmp_path / "out")) == 7
    other = record((make_trial(test="t.py::good[stm32h7b3]", reality="hardware"), make_steps(3)))
    for _ in range(2):
        allure.write_results(read_run(other), tmp_path / "out")
    assert set(tmp_path.glob("out/*")) > before and len(list(tmp_path.glob("out/*-result.json"))) == 8
    histories = [json.loads(path.read_text())["historyId"] for path in tmp_path.glob("out/*-result.json")]
    assert len(set(histories)) == 7, "a test has one history over all runs"


def test_a_link_in_a_record_is_not_followed(night: Path, tmp_path: Path) -> None:
    secret = tmp_path / "key.log"
    secret.write_text("BEGIN PRIVATE KEY")
    trial = next(path for path in night.iterdir() if path.is_dir())
    (trial / "log/link.log").unlink(missing_ok=True)
    (trial / "log/link.log").symlink_to(secret)
    allure.write_results(read_run(night), tmp_path / "out")
    assert not [path for path in (tmp_path / "out").iterdir() if b"PRIVATE KEY" in path.read_bytes()]


@DRAWN
@given(run=hostile_runs())
def test_hostile_text_stays_text(run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.mktemp("out")
    assert allure.write_results(run, out) == len(run.tests)
    for result in results(out).values():
        texts = [result.name, result.fullName, result.statusDetails.message, *(label.value for label in result.labels)]
        assert all(text.isprintable() for text in texts)
    for key, value in properties((out / "environment.properties").read_text()):
        assert key.isprintable() and value.isprintable()


def test_the_environment_tells_runs_and_realities_apart(tmp_path: Path) -> None:
    trials = (
        make_trial(folder="a"),
        make_trial(folder="b", reality="hardware"),
        make_trial(folder="c", board="rp2040"),
    )
    for name, its in (("night-1", trials[:1]), ("night-2", trials), ("night-1", trials[:1])):
        allure.write_results(run_of(trials=its, id=name), tmp_path)
    found = dict(properties((tmp_path / "environment.properties").read_text()))
    assert {key: value for key, value in found.items() if " board " in key} == {
        "night-1 board stm32h7b3": "virtual board, a stand-in",
        "night-2 board stm32h7b3": "virtual board, a stand-in and attached board",
        "night-2 board rp2040": "virtual board, a stand-in",
    }
