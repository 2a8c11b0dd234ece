"""References from files: by step or by first axis, former runs, arrays of an ELF; damaged and oversized files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil import bounded_npz
from hil.comparison import Recorder, compare, golden, recorded, recordings
from hil.errors import Blocked, DeviceFault, RigError

STEPS = [{"fc1": np.full((2, 3), step, np.float32), "loss": np.float64(1 / (step + 1))} for step in range(4)]
STACKED = {name: np.stack([step[name] for step in STEPS]) for name in STEPS[0]}


def written(folder: Path, form: str) -> Path:
    by_step = {f"{name}@{index}": array for index, step in enumerate(STEPS) for name, array in step.items()}
    path = folder / form
    match form:
        case "steps.npz":
            np.savez(path, **by_step)
        case "axis.npz":
            np.savez_compressed(path, **STACKED)
        case "steps" | "axis":
            path.mkdir()
            (path / "README.txt").write_text("not read")
            for name, array in (by_step if form == "steps" else STACKED).items():
                np.save(path / f"{name}.npy", array)
        case "run":
            path.mkdir()
            with Recorder(path / "tensors.npz") as recorder:
                for index, step in enumerate(STEPS):
                    recorder.step(index, step)
    return path


@pytest.mark.parametrize("form", ["steps.npz", "axis.npz", "steps", "axis", "run"])
def test_every_form_gives_the_same_steps(tmp_path: Path, form: str) -> None:
    reference = recorded(written(tmp_path, form))
    assert len(reference) == 4 and reference.kind == ("run" if form == "run" else "file")
    for index, step in enumerate(STEPS):
        found = reference.step(index)
        assert found.keys() == step.keys()
        assert all(found[name].dtype == array.dtype and (found[name] == array).all() for name, array in step.items())
    run = compare(reference, exact=True)
    for index, step in enumerate(STEPS):
        run.step(index, {name: array.copy() for name, array in step.items()})
    summary = run.check()
    assert summary.steps == 4 and summary.reference == str(tmp_path / form) and summary.reference_kind == reference.kind
    with pytest.raises(RigError, match="has 4 steps, from 0: there is no step 4"):
        run.step(4, STEPS[3])


def test_an_array_of_numbers_in_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "loss.npy", STACKED["loss"])
    assert recorded(tmp_path / "loss.npy").step(1) == {"loss": 0.5}


def test_fewer_steps_of_the_device_than_recorded_do_not_pass(tmp_path: Path) -> None:
    path = written(tmp_path, "steps.npz")
    for reference, missing in ((recorded(path), True), (recorded(path, steps=2), False)):
        run = compare(reference, exact=True)
        for index in range(2):
            run.step(index, STEPS[index] | {"fc1": STEPS[index]["fc1"].copy()})
        assert run.summary().verdict == ("fail" if missing else "pass")
        if missing:
            with pytest.raises(DeviceFault, match=r"^only 2 of 4 recorded steps came from the device\.$"):
                run.check()
    with pytest.raises(RigError, match=r"steps=5: .* has 4 steps; give 1 to 4"):
        recorded(path, steps=5)
    for steps in (0, -1, 2.0, True, "2", np.float64(1)):
        with pytest.raises(RigError, match="steps=.* has 4 steps; give 1 to 4"):
            recorded(path, steps=steps)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, "has no arrays"),
        ({"fc1@0": [1], "fc1@2": [1]}, "has no step 1, but step 2: give every step from 0."),
        ({"fc1@1": [1]}, "has no step 0, but step 1"),
        ({"fc1@0": [1], "loss": [1]}, "has 'loss' beside names such as fc1@0: give all arrays as NAME@STEP."),
        ({"fc1@1": [1], "fc1@01": [1], "fc1@0": [1]}, "has step 1 of fc1 twice"),
        ({"fc1": [1, 2], "loss": [1]}, "do not agree on the number of steps (fc1 (2,), loss (1,))"),
        ({"loss": 1.0}, "do not agree on the number of steps (loss ())"),
        ({"loss": []}, "do not agree"),
    ],
)
def test_steps_that_cannot_be_told(tmp_path: Path, arrays: dict[str, Any], said: str) -> None:
    np.savez(tmp_path / "a.npz", **{name: np.asarray(array, np.float32) for name, array in arrays.items()})
    with pytest.raises(RigError) as raised:
        recorded(tmp_path / "a.npz")
    assert said in str(raised.value) and str(tmp_path / "a.npz") in str(raised.value)


def test_files_that_are_damaged_missing_or_hold_objects(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no zip")
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    whole = tmp_path / "whole.npy"
    np.save(whole, np.zeros(100))
    (tmp_path / "cut.npy").write_bytes(whole.read_bytes()[:-8])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RigError, match="'objects.npy' has the dtype object, which holds no plain numbers"):
        recorded(tmp_path / "objects.npy")
    for name in ("text.npz", "text.npy", "objects.npy", "cut.npy", "empty", "missing.npz", "missing.npy", "missing"):
        with pytest.raises(RigError, match="give an .npz or .npy file, a folder of .npy files"):
            recorded(tmp_path / name)


def test_a_torch_file_says_what_it_needs_or_gives_its_state(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    try:
        import torch
    except ImportError:
        path.write_bytes(b"")
        with pytest.raises(
            RigError, match=r"state.pt needs PyTorch to be read: pip install torch, or save its arrays as .npz"
        ):
            recorded(path)
        return
    torch.save([{"fc1.weight": torch.full((2,), step)} for step in range(3)], path)
    assert len(recorded(path)) == 3 and recorded(path).step(2)["fc1.weight"].tolist() == [2, 2]
    torch.save({"fc1.weight": torch.ones(2)}, path)
    assert len(recorded(path)) == 1
    path.write_bytes(b"damaged")
    with pytest.raises(RigError, match="cannot be read as a PyTorch state"):
        recorded(path)


def test_a_bomb_and_a_folder_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("fc1.npy", bytes(bounded_npz.LARGEST + 1))
    with pytest.raises(RigError, match="has more than 256 MB, the largest size that is read"):
        recorded(tmp_path / "bomb.npz")
    monkeypatch.setattr(recordings, "LARGEST", 4000)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in "abc":
        np.save(folder / f"{name}.npy", np.zeros(200))
    with pytest.raises(RigError, match="the largest size that is read"):
        recorded(folder)
    with (
        Recorder(tmp_path / "run.npz") as recorder,
        pytest.raises(RigError, match="exceed 0 MB at step 2: record fewer"),
    ):
        for index in range(3):
            recorder.step(index, {"a": np.zeros(100)})


def test_a_step_is_recorded_once_and_a_file_is_not_overwritten(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.npz") as recorder:
        recorder.step(0, {"loss": 0.5})
        with pytest.raises(RigError, match="tensor loss of step 0 is recorded already"):
            recorder.step(0, {"loss": 0.5})
        with pytest.raises(RigError, match="step 1 gave None"):
            recorder.step(1, None)  # type: ignore[arg-type]
    assert recorded(tmp_path / "run.npz").step(0)["loss"].dtype == np.float64
    with pytest.raises(OSError):
        Recorder(tmp_path / "run.npz")


def test_arrays_of_an_elf_by_symbol() -> None:
    inside = {"golden_fc1": STACKED["fc1"], "golden_loss": STACKED["loss"]}
    asked = []

    def read(symbol: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        asked.append((symbol, dtype, shape))
        if symbol not in inside:
            raise RigError(f"mine.elf has no symbol {symbol}.")
        return inside[symbol]

    arrays = {"fc1": ("golden_fc1", np.float32, (4, 2, 3)), "loss": ("golden_loss", np.float64, (4,))}
    reference = golden(read, arrays, source="mine.elf")
    assert asked == list(arrays.values()) and len(reference) == 4 and (reference.step(3)["fc1"] == 3).all()
    assert (reference.kind, reference.description) == ("elf", "mine.elf, golden_fc1, golden_loss")
    with pytest.raises(RigError, match="symbol golden_fc1 of mine.elf is float32"):
        golden(read, {"fc1": ("golden_fc1", np.float32, (4, 6))}, source="mine.elf")
    with pytest.raises(RigError, match="mine.elf has no symbol golden_fc2"):
        golden(read, {"fc1": ("golden_fc2", np.float32, (4, 6))})
    with pytest.raises(RigError, match="has no arrays"):
        golden(read, {})

    def silent(symbol: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        raise Blocked("probe", "no probe is attached.")

    with pytest.raises(Blocked):
        golden(silent, arrays)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_a_sentence(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name, head in (("a.npz", b""), ("b.npz", b"PK\x03\x04"), ("c.npy", b""), ("d.npy", b"\x93NUMPY\x01\x00")):
        (folder / name).write_bytes(head + data)
        with pytest.raises(RigError, match="cannot be read as"):
            recorded(folder / name)
