"""MLPerf Tiny's serial commands on boards with LeNet-5, beside the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import serial
from mlperf_command import exchange
from mlperf_runner import Runner, expected_results

from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.commands.mlperf_tiny import make_ready
from hil.training.data import load
from hil.training.trial.board import opened_board
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

TOLERANCE = 0.0011  # the board rounds a float32 to three decimals, the oracle a float64


@pytest.mark.parametrize(
    "board",
    ["stm32f746", *(pytest.param(name, marks=pytest.mark.tier("nightly")) for name in ("rp2040", "mps2-an386"))],
)
def test_a_board_with_lenet5_classifies_as_the_reference_does(board: str, tmp_path: Path) -> None:
    """The port is closed by our host and opened anew by a runner that talks first and knows nothing of what was before."""
    if not board.startswith("mps2"):
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    prepared = prepare(TrialSpec(board, "full-zo", batch=2, seed=4))
    images = load("fashion-mnist-1k").test_images[:4]
    with Rig(Bench()) as rig, opened_board(rig, prepared.board, prepared.image, tmp_path) as dut:
        path = make_ready(prepared, dut, "lenet5", energy=False, task="images")
        with serial.Serial(path, prepared.board.baud, timeout=0.1) as port:
            runner = Runner(lambda data: exchange(port, data))
            assert runner.command("name") == [f"m-name-dut-[trainrig {board}]"]
            assert runner.command("profile")[1] == "m-model-[lenet5]"
            found = []
            for image in images:
                runner.load(image.tobytes())
                (start, end), results = runner.infer(2, 1)
                assert results == pytest.approx(
                    expected_results(prepared.method.network, image.tobytes()), abs=TOLERANCE
                )
                found.append((end - start, results))
        assert len({tuple(results) for _, results in found}) > 1
        assert all(microseconds > 500 for microseconds, _ in found)
        assert np.ptp([microseconds for microseconds, _ in found]) < 0.5 * found[0][0]
        again = make_ready(prepared, dut, "again", energy=True, task="images")  # the link is there as ever
        with serial.Serial(again, prepared.board.baud, timeout=0.1) as port:
            assert Runner(lambda data: exchange(port, data)).command("profile")[1] == "m-model-[again]"
