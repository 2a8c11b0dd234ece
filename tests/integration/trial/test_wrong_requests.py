"""A trial with `requests` ends with what no training sends; firmware that answers wrongly fails it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.rig import Rig
from hil.rig_toml import Bench
from hil.suite.corners.trials import CORNERS
from hil.trial import run_trial
from tests.faults.firmware_copy import build_changed, need_compiler

BOARD = "stm32h7b3"
TFLITE8 = "windows-tflite8-2-poor-mans-training-weight"
DEFECTS = {  # file, text, its replacement, and words of the sentence
    "a label of no class": ("engine/slots.c", "return label < classes ?", "return label <= classes ?", "request samples"),
    "sums of weights that stay": (
        "formats/tflite8.c", "if (kind == TENSOR_WEIGHTS) {", "if (kind == TENSOR_RANGE) {", "trace of a sample differs",
    ),
    "a weight of -128": (
        "engine/tensors.c", "value != INT8_MIN", "value != INT8_MAX", "request write_tensor",
    ),
    "a buffer that the trial's method has not": (
        "formats/tflite8_sizes.c", "layout = {.levelled = up_8(4 * inputs)}", "layout = {.levelled = up_8(8 * inputs)}",
        "of arena, but docs/memory.md gives",
    ),
}  # fmt: skip


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench(), tmp_path, "virtual") as taken:
        yield taken


def spec_of(name: str, folder: Path):
    return next(corner for corner in CORNERS if corner.name == name).spec(BOARD, folder)


def test_the_firmware_of_this_package_passes(rig: Rig, tmp_path: Path) -> None:
    outcome = run_trial(spec_of(TFLITE8, tmp_path), rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("name", DEFECTS)
def test_a_wrong_answer_fails_the_trial(
    name: str, rig: Rig, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need_compiler()
    file, old, new, words = DEFECTS[name]
    elf = build_changed(tmp_path_factory, tmp_path / "firmware", BOARD, file, old, new)
    outcome = run_trial(spec_of(TFLITE8, tmp_path), rig, tmp_path, elf)
    assert outcome.verdict == "fail" and words in outcome.reason, outcome.reason
