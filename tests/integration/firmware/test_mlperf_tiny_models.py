"""The published models of MLPerf Tiny, served by `hil mlperf-tiny` without options, beside LiteRT's reference kernels."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from mlperf_command import answering
from mlperf_expected import Expected, printed_as
from mlperf_modes import WINDOWS, median_throughput, performance

from hil.training.commands.network_import import import_model
from tests.unit.tflite_models.mlperf_files import mlperf_model

TOLERANCE = 0.0011  # the board rounds a binary32 number to three decimals, the oracle has binary64
NIGHTLY = pytest.mark.tier("nightly")
INFERENCES, WARM_UP = 2, 1


@dataclass(frozen=True)
class Published:
    """A model of the benchmark: its file, and what the page says of it."""

    file: str
    profile: str
    task: str
    size: int

    @property
    def path(self) -> Path:
        return mlperf_model(self.file)


MODELS = {
    one.profile: one
    for one in (
        Published("pretrainedResnet_quant", "ic01", "images", 3072),
        Published("vww_96_int8", "vww01", "images", 27648),
        Published("kws_ref_model", "kws01", "features", 490),
        Published("ad01_int8", "ad01", "reconstruction", 2560),
    )
}


def skip_without(board: str) -> None:
    if board.startswith("mps2"):
        if shutil.which("qemu-system-arm") is None:
            pytest.skip("qemu-system-arm is not installed")
    else:
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def drawn(model: Published, expected: Expected) -> list[bytes]:
    """Return five samples: bytes; of a reconstruction binary32 numbers, of which some are beyond what int8 has."""
    rng, graph = np.random.Generator(np.random.PCG64(17)), expected.graph
    if model.task != "reconstruction":
        return [rng.integers(0, 256, model.size, np.uint8).tobytes() for _ in range(WINDOWS)]
    values = rng.uniform(-140, 140, (WINDOWS, model.size // 4))
    return [(graph.scale * (row - graph.zero)).astype("<f4").tobytes() for row in values]


def imported(path: Path, folder: Path) -> Path:
    """Return the network file of a model, imported for LiteRT."""
    network = folder / f"{path.stem}.hnet"
    import_model(path, network, "litert", "")
    return network


@pytest.mark.parametrize(
    ("board", "profile"),
    [
        ("stm32h7b3", "ad01"),
        *(pytest.param("stm32h7b3", name, marks=NIGHTLY) for name in MODELS if name != "ad01"),
        *(pytest.param("mps2-an500", name, marks=NIGHTLY) for name in MODELS),
    ],
)
def test_a_model_gives_what_litert_gives_in_the_performance_mode(board: str, profile: str, tmp_path: Path) -> None:
    """What is answered to `profile`, and the task, follow from the SHA-256 in the file beside the network."""
    model = MODELS[profile]
    expected = Expected(model.path.read_bytes(), model.file)
    skip_without(board)
    samples = drawn(model, expected)
    network = imported(model.path, tmp_path)
    with answering(tmp_path, "--board", board, "--network", str(network)) as served:
        assert served.model == profile
        assert served.runner.command("name") == [f"m-name-dut-[trainrig {board}]"]
        assert served.runner.command("profile") == ["m-profile-[trainrig]", f"m-model-[{profile}]"]
        assert served.runner.command(f"db load {model.size + 1}") == [f"e-[{model.size} bytes]"]
        windows = performance(served.runner, samples, INFERENCES, WARM_UP)
    for window, sample in zip(windows, samples, strict=True):
        if model.task == "reconstruction":
            assert printed_as(window.results, expected.reconstruction(sample))
        else:
            oracle = expected.images if model.task == "images" else expected.features
            assert window.results == pytest.approx(oracle(sample), abs=TOLERANCE)
        assert window.marked and window.seconds > 0
    assert len({tuple(window.results) for window in windows}) > 1
    assert median_throughput(windows) == sorted(INFERENCES / window.seconds for window in windows)[WINDOWS // 2]


@NIGHTLY
@pytest.mark.parametrize("profile", MODELS)
def test_a_model_is_known_as_it_was_published(profile: str, tmp_path: Path) -> None:
    """By its own SHA-256, without an import and under any name."""
    model = MODELS[profile]
    copy = tmp_path / "renamed.tflite"
    shutil.copyfile(model.path, copy)
    skip_without("mps2-an500")
    with answering(tmp_path, "--board", "mps2-an500", "--network", str(copy)) as served:
        assert served.runner.command("profile")[1] == f"m-model-[{profile}]"
        assert served.runner.command(f"db load {model.size}") == [f"m-[Expecting {model.size} bytes]"]


@NIGHTLY
def test_options_replace_what_is_known_of_a_model(tmp_path: Path) -> None:
    """The task `images` has pixels where the benchmark's has binary32."""
    path = MODELS["ad01"].path
    skip_without("mps2-an500")
    options = ("--board", "mps2-an500", "--network", str(path), "--model", "mine", "--task", "images")
    with answering(tmp_path, *options) as served:
        assert served.runner.command("profile")[1] == "m-model-[mine]"
        assert served.runner.command("db load 640") == ["m-[Expecting 640 bytes]"]


@NIGHTLY
def test_the_audio_of_the_wake_word_is_not_served_as_the_benchmarks(tmp_path: Path) -> None:
    """The model is one of theirs, but its test is not one of the commands: its name may not be `sww01` unasked."""
    path = mlperf_model("str_ww_ref_model")
    skip_without("mps2-an500")
    options = ("--board", "mps2-an500", "--network", str(path), "--model", "mine")
    with answering(tmp_path, *options) as served:
        assert "sww01" not in served.said
        assert served.runner.command("profile")[1] == "m-model-[mine]"
