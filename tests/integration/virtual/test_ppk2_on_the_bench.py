"""A virtual board with a virtual PPK2 on a serial port of its own, driven by the published library."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest
from board_process import VirtualBoard

library = pytest.importorskip("ppk2_api.ppk2_api", reason="the tests of the virtual PPK2 need ppk2-api")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
FLASH, CODE_OFFSET, SIZE = 0x08000000, 0x400, 0x200000
AWAKE_A = 0.095  # of the virtual board's core, whatever it does
FOR_EVER = bytes.fromhex("013001300130fbe7")  # 1: adds r0, #1 three times, b 1b
COUNT = 2000


def test_the_library_measures_a_virtual_board_that_works(tmp_path: Path) -> None:
    kept = tmp_path / "flash.bin"
    vectors = struct.pack("<256I", 0x20010000, FLASH + CODE_OFFSET | 1, *[0] * 254)
    kept.write_bytes((vectors + FOR_EVER).ljust(SIZE, b"\xff"))
    board = VirtualBoard("--meter", "ppk2-source", "--flash", str(kept))
    try:
        assert board.said["meter_model"] == "ppk2-source" and board.said["meter"] != board.said["serial"]
        kit = library.PPK2_API(board.said["meter"], timeout=1)
        assert kit.get_modifiers() is True
        kit.use_source_meter()
        kit.set_source_voltage(3300)
        kit.toggle_DUT_power("ON")
        kit.start_measuring()
        data, deadline = bytearray(), time.monotonic() + 120
        while len(data) < 4 * COUNT and time.monotonic() < deadline:
            data.extend(kit.get_data())
            time.sleep(0.001)
        kit.ser.close()
        assert board.stop() == 0
    finally:
        board.process.kill()
    words = np.frombuffer(data[: 4 * COUNT], "<u4").astype(np.int64)
    amps = np.array(kit.get_samples(bytes(data[: 4 * COUNT]))[0]) * 1e-6
    assert len(words) == COUNT and np.all(np.diff(words >> 18 & 63) % 64 == 1)
    assert set(words[100:] >> 14 & 7) == {4} and not np.any(words >> 24)
    assert np.mean(amps[100:]) == pytest.approx(AWAKE_A, rel=0.15, abs=0.001)
