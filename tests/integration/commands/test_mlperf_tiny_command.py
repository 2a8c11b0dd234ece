"""`hil mlperf-tiny` as a user runs it, on QEMU."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys

import pytest
import serial

from hil.errors import RigError
from hil.training.commands.mlperf_tiny import main


@pytest.mark.parametrize("model", ["seventeen-letters", "größe"])
def test_a_name_that_the_board_cannot_say_is_refused(model: str) -> None:
    with pytest.raises(RigError, match="ASCII characters"):
        main(["--board", "mps2-an386", "--model", model])


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
def test_the_command_leaves_a_port_that_answers_until_it_is_ended(tmp_path) -> None:
    command = [
        sys.executable,
        "-u",
        "-m",
        "hil.commands.main",
        "mlperf-tiny",
        "--board",
        "mps2-an386",
        "--model",
        "ic01",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests in the background has it ignored
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"at (\S+), (\d+) baud, model ic01\.", said)
        assert found, said + process.stderr.read()
        assert "(qemu)" in said and "stand-in" in process.stdout.readline()
        with serial.Serial(found[1], int(found[2]), timeout=10) as port:
            port.write(b"profile%")
            assert port.read_until(b"m-ready\r\n") == b"m-profile-[trainrig]\r\nm-model-[ic01]\r\nm-ready\r\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()
