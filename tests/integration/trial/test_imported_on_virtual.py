"""A .tflite is trained on a virtual board and exported: LiteRT gives what board and reference agree on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.record import RunWriter, TrialExtras
from hil.rig import Rig
from hil.training.commands.network_export import export
from hil.training.graph.file import decode
from hil.training.tflite.importing import network_of
from hil.training.tflite.read import parse
from hil.training.trial.recording import steps_table, trial_record
from hil.trial import TrialSpec, run_trial
from tests.unit.tflite_models.made import DATA, trainable
from tests.unit.tflite_models.witness import forward, run

SAMPLES = 1000


@pytest.mark.parametrize(("method", "variant"), [("int8-bp", "qas"), ("poor-mans-training", "block4")])
def test_an_imported_model_is_trained_bit_exact_and_exported(
    virtual_rig: Rig, tmp_path: Path, method: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "private" / "gestures.tflite"
    path.parent.mkdir()
    data = trainable().bytes()
    path.write_bytes(data)
    spec = TrialSpec("stm32h7b3", variant, str(path), method, DATA, batch=4, steps=3, evaluate=20)
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    run_folder = RunWriter.begin(tmp_path / "reports")
    folder = run_folder.trial_folder(spec.name)
    record = trial_record(outcome)
    run_folder.write_trial(record, steps_table(outcome), folder, TrialExtras(trained=outcome.trained))
    run_folder.finish()
    text = (folder / "trial.json").read_text(encoding="utf-8")
    assert "private" not in text and record.network == "gestures.tflite"
    with pytest.raises(Exception, match="the model gestures.tflite that was imported is not there: give it by --model"):
        export(folder, tmp_path / "trained.tflite", None)
    other = tmp_path / "other.tflite"
    other.write_bytes(data + bytes(4))
    with pytest.raises(Exception, match="is not the model that was imported"):
        export(folder, tmp_path / "trained.tflite", other)
    monkeypatch.chdir(path.parent)  # the model by its name
    said = export(folder, tmp_path / "trained.tflite", None)
    assert "are others than in the model" in said
    exported = (tmp_path / "trained.tflite").read_bytes()
    assert len(exported) == len(data) != 0 and exported != data
    imported = network_of(parse(exported, "trained"), "trained")
    trained = decode((folder / "trained.hnet").read_bytes())
    for layer, now in zip(trained.trained, imported.graph.trained, strict=True):
        assert np.array_equal(layer.own.weights, now.own.weights) and np.array_equal(layer.own.bias, now.own.bias)
    arrays = np.load(tmp_path / "trained.npz")
    assert arrays["fc1"].shape == (10, 8) and arrays["conv1.bias"].dtype == np.int32
    litert = network_of(parse(exported, "trained"), "trained", "litert")
    samples = np.random.default_rng(1).integers(-128, 128, (SAMPLES, 8, 8, 1)).astype(np.int8)
    logits = np.stack([one[litert.tensors[-1]].reshape(-1) for one in run(exported, samples)])
    assert np.array_equal(forward(litert, samples), logits)
