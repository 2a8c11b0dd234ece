import copy
import json
import math
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from hil import record
from hil.errors import Blocked, RigError
from hil.record import TrialRecord, new_entry, read_run, schema
from hil.record.generate import texts
from hil.training.trial.recording import trial_record


@pytest.fixture
def results(recorded):
    return json.loads((recorded.folder / "results.json").read_text())


def test_results_json_fits_its_schema(results):
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(results, schema())
    assert [trial["verdict"] for trial in results["trials"]] == ["pass", "fail", "blocked"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "passed"),
        (("reason",), "but why"),
        (("bit_exact",), False),
        (("cycles_provenance",), "measured"),
        (("cycles_provenance",), "guessed"),
        (("sram_provenance", "total"), "estimated"),
        (("sram", "total"), "158 KB"),
        (("image_sha256",), "abc"),
        (("accuracy", "after"), "66%"),
    ],
)
def test_the_schema_refuses_what_must_not_be_said(results, path, value):
    wrong = copy.deepcopy(results)
    place = wrong["trials"][0]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema())


def test_every_promised_field_is_required():
    promised = [
        "board",
        "core",
        "reality",
        "network",
        "method",
        "variant",
        "data",
        "batch",
        "seed",
        "steps",
        "bit_exact",
        "steps_compared",
        "first_difference",
        "final_digest",
        "accuracy",
        "sram",
        "cycles",
        "cycles_provenance",
        "clock_hz",
        "step_time_s",
        "image_sha256",
        "network_sha256",
        "data_sha256",
        "verdict",
        "reason",
    ]
    assert set(promised) <= set(schema()["$defs"]["TrialRecord"]["required"])


def test_csv_has_a_row_a_trial(recorded):
    table = pd.read_csv(recorded.folder / "results.csv")
    assert list(table["verdict"]) == ["pass", "fail", "blocked"]
    assert table.loc[0, "sram.total"] == 18_704 + 138_000 + 1_200


def test_latest_points_to_the_run_and_the_run_reads_back(recorded):
    latest = recorded.folder.parent / "latest"
    assert latest.resolve() == recorded.folder.resolve()
    run = read_run(latest)
    assert run.trials == recorded.trials
    assert list(run.steps[0]["step"]) == list(range(30))


def test_nothing_of_this_machine_is_recorded(recorded, results):
    assert set(results["run"]["host"]) == {"system", "machine", "cpus"}
    assert str(recorded.folder.parent) not in json.dumps(results)


def test_no_half_written_file_is_left_when_writing_fails(recorded, monkeypatch):
    before = (recorded.folder / "results.json").read_text()
    recorded.facts["host"] = {"cpus": object()}  # cannot be written as JSON
    with pytest.raises(TypeError):
        recorded.finish()
    assert (recorded.folder / "results.json").read_text() == before


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RigError, match="latest holds no results.json: no run has ended there yet, give the folder"):
        read_run(tmp_path / "latest")
    with pytest.raises(RigError, match="holds no results.json"):
        read_run(tmp_path)


@pytest.mark.parametrize("name", ["results.schema.json", "trial.schema.json", "since_last_good.schema.json"])
def test_the_committed_schemas_are_those_of_the_models(name):
    kept = (Path(record.__file__).parent / name).read_text(encoding="utf-8")
    assert texts()[name] == kept, "run: python -m hil.record.generate"
    jsonschema.Draft202012Validator.check_schema(json.loads(kept))


def test_trial_json_fits_its_schema(recorded, results):
    for entry in results["trials"]:
        trial = json.loads((recorded.folder / entry["folder"] / "trial.json").read_text())
        jsonschema.validate(trial, schema("trial"))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(trial | {"stages": ""}, schema("trial"))
        del trial["quantities"]["sram.budget"]["unit"]
        with pytest.raises(jsonschema.ValidationError, match="'unit' is a required property"):
            jsonschema.validate(trial, schema("trial"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wall_s": math.nan}, "the trial.wall_s is nan, not a valid integer or a finite number"),
        ({"batch": 0}, "the trial.batch is 0, not greater than or equal to 1"),
        ({"schedule": [{"b_bp": 4}]}, "the trial.schedule[0] has no step"),
        ({"schedule": [{"step": 1.5, "eta": 0.1}]}, "the trial.schedule[0] has the step 1.5, which is no integer"),
        ({"stages": ""}, "the trial has no field 'stages', did you mean stage"),
    ],
)
def test_what_no_reader_would_take_is_blocked_before_it_is_written(outcomes, change, said):
    fields = trial_record(outcomes[0]).model_dump()
    assert new_entry(TrialRecord, **fields).model_dump() == fields
    with pytest.raises(Blocked) as error:
        new_entry(TrialRecord, **fields | change)
    assert said in error.value.reason and error.value.stage == "record"
