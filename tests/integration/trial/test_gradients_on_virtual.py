"""The gradients of a sample in a trial on a virtual board: in its record and on its page, if all steps agree."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from hil.record import RunWriter, schema
from hil.report import render
from hil.rig import Rig
from hil.training.data import batches, load
from hil.training.methods.fqt import Fqt
from hil.training.networks import build
from hil.training.reference.methods import reference_of
from hil.training.trial.recording import steps_table, trial_record
from hil.training.trial.sample_gradients import block_maxima
from hil.trial import TrialSpec, run_trial
from hil.trial.outcome import Outcome

SETTINGS = {"lambda_min": 0.25, "eta": 0.01}
NETWORK, STEPS, BATCH = "fqt-cnn-uint8", 3, 2


def trial(rig: Rig, folder: Path, **changes: object) -> Outcome:
    spec = TrialSpec(
        **{
            "board": "stm32h7b3", "variant": "uint8", "network": NETWORK, "method": "fqt", "batch": BATCH,
            "steps": STEPS, "evaluate": 0, "settings": SETTINGS,
        }
        | changes
    )  # fmt: skip
    return run_trial(spec, rig, folder)


def page_of(outcome: Outcome, root: Path) -> tuple[str, dict]:
    """Record the trial and render it; return its page and its trial.json."""
    run = RunWriter.begin(root)
    folder = run.trial_folder("trial")
    run.write_trial(trial_record(outcome), steps_table(outcome), folder)
    run.finish()
    found = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema("trial"))
    render(run.folder)
    return (folder / "index.html").read_text(encoding="utf-8"), found


def test_a_trial_that_passes_has_the_maps_of_its_first_and_last_step(virtual_rig: Rig, tmp_path: Path) -> None:
    outcome = trial(virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    page, record = page_of(outcome, tmp_path / "reports")
    assert 'id="gradients"' in page and page.count("data:image/png") == 6 and "left out" not in page
    found = record["sample_gradients"]
    assert found["steps"] == [0, STEPS - 1]
    assert [layer["layer"] for layer in found["layers"]] == ["conv2", "fc1", "fc2"]

    data, method = load("fashion-mnist-1k"), Fqt.on(build(NETWORK, 1), "uint8", batch=BATCH, **SETTINGS)
    reference, order = reference_of(method), batches(data, BATCH, 1)
    chosen = [next(order) for _ in range(STEPS)]
    image, label = data.train_images[chosen[0][0]], int(data.train_labels[chosen[0][0]])
    for step, samples in enumerate(chosen):
        shown = reference.sample_gradients(image, label)[-3:]
        reference.step(data.train_images[samples], data.train_labels[samples])
        if step not in found["steps"]:
            continue
        for layer, own in zip(found["layers"], shown, strict=True):
            its, kept = layer["maps"][found["steps"].index(step)], own.kept.tolist()
            assert layer["down"] == 1 and [bool(row) for row in its["rows"]] == kept and its["kept"] == sum(kept)
            cells = block_maxima(np.abs(own.weights), 1, layer["across"])
            for row, line in zip(its["rows"], cells, strict=True):
                levels = np.frombuffer(bytes.fromhex(row), np.uint8) if row else np.zeros(len(line), np.uint8)
                np.testing.assert_allclose(levels * its["largest"] / 255, line, atol=0.501 * its["largest"] / 255)


def test_a_trial_in_which_board_and_reference_differ_has_none(
    virtual_rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference counts two samples of a channel at most: the third one, of step 1, moves its statistics more."""
    monkeypatch.setattr("hil.training.reference.methods.fqt_statistics.MOST", np.float32(2))
    outcome = trial(virtual_rig, tmp_path)
    assert outcome.verdict == "fail" and outcome.difference is not None and outcome.difference.step == 1
    page, record = page_of(outcome, tmp_path / "reports")
    assert record["sample_gradients"]["left_out"] == "board and reference differ."
    assert "The maps are left out: board and reference differ." in page and "data:image/png" not in page


def test_another_method_has_none(virtual_rig: Rig, tmp_path: Path) -> None:
    outcome = trial(
        virtual_rig, tmp_path, variant="cls1", network="lenet5", method="elasticzo-int8", steps=1, settings={}
    )
    page, record = page_of(outcome, tmp_path / "reports")
    assert outcome.verdict == "pass" and record["sample_gradients"] is None and 'id="gradients"' not in page
