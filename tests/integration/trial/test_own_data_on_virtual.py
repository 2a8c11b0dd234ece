"""Own data train on a virtual board bit for bit, and their card is in the record and on the page of the trial."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from hil.rig import Rig
from hil.training.data import load
from hil.training.data.own import NetworkInput
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, run_trial

RNG = np.random.Generator(np.random.PCG64(21))


def test_a_folder_of_images(virtual_rig: Rig, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="images need the extra `images`")
    for name, level in (("dark", 60), ("light", 190)):
        (tmp_path / "secret/photos" / name).mkdir(parents=True)
        for number in range(40):
            pixels = RNG.integers(level - 60, level + 60, (30 + number, 40, 3), np.uint8)
            image.fromarray(pixels).save(tmp_path / "secret/photos" / name / f"{number}.png")
    (tmp_path / "secret/photos/card.toml").write_text('licence = "CC0"\n')
    spec = TrialSpec("stm32h7b3", "cls1", data=tmp_path / "secret/photos", steps=2, evaluate=8)
    outcome = run_trial(spec, virtual_rig, tmp_path / "trial")
    assert outcome.verdict == "pass" and outcome.bit_exact and len(outcome.steps) == 2, outcome.reason
    record = trial_record(outcome)
    written = json.dumps(record.model_dump())
    assert record.data == "photos" and "secret" not in written and str(tmp_path) not in written
    assert record.data_card is not None and record.data_card["licence"] == "CC0"
    assert record.data_card["shape"] == [28, 28, 1]
    assert [(one["name"], one["train"] + one["test"]) for one in record.data_card["classes"]] == [
        ("dark", 40),
        ("light", 40),
    ]


def test_series_of_an_npz(virtual_rig: Rig, tmp_path: Path) -> None:
    """Series of 512 samples in binary32, whose classes have words for names; the range is that of the whole training part."""
    time = np.arange(512)
    values = [np.sin(time / (5 + 10 * (n % 2)) + n) + RNG.normal(0, 0.1, 512) for n in range(80)]
    with (tmp_path / "series.npz").open("wb") as file:
        np.savez(file, x=np.float32(values), y=np.array(["fast", "slow"] * 40))
    data = f"{tmp_path}/series.npz@40-20"
    spec = TrialSpec("stm32h7b3", "uint8", "mbednet-vibration-uint8", "fqt", data=data, batch=2, steps=2, evaluate=8)
    outcome = run_trial(spec, virtual_rig, tmp_path / "trial")
    assert outcome.verdict == "pass" and outcome.bit_exact and len(outcome.steps) == 2, outcome.reason
    card = trial_record(outcome).data_card
    assert card is not None and card["changes"] == "@40-20" and card["shape"] == [512, 1, 1]
    assert card["range"] is not None and len(card["range"]["scale"]) == 1
    whole = load(f"{tmp_path}/series.npz", NetworkInput((512, 1, 1))).card
    assert card["range"]["zero"] == list(asdict(whole)["range"]["zero"])
