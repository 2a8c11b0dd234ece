"""Answers of an instrument that are cut, empty or no numbers, each query in turn: the window is right, spoiled or blocked, and never an error of another kind."""

from __future__ import annotations

import pytest

from hil.errors import Blocked
from hil.meters.meter import InvalidWindow

pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
from tests.unit.meters.faulty import KINDS, SHORT_MS, Scene

CUTS = {
    "half": lambda answer: answer[: len(answer) // 2], "empty": lambda answer: b"", "noise": lambda answer: b"\xff;,x", "nan": lambda answer: b"nan",
    "less one": lambda answer: answer[:-1],
}  # fmt: skip

READINGS = (
    ":TRAC:DATA?",
    "R?",
    "DATA:REM?",
    "FETC:ELOG?",
    "MEAS:CURR?",
    ":MEAS:ALL?",
    "FLOG:DATA?",
    ":NUM:NORM:VAL?",
)  # a single number that lost digits may look whole


def queries_of(key: str) -> list[str]:
    """Return what the driver asks in a window, each query once."""
    asked: list[str] = []
    scene = Scene(key)
    scene.line.fault = lambda command, answer: asked.append(command) or answer
    with scene.open(SHORT_MS):
        scene.window()
    return list(dict.fromkeys(command.split("?")[0] + "?" for command in asked if "?" in command))


@pytest.mark.parametrize("key", KINDS)
def test_an_answer_out_of_shape_is_blocked_or_spoils_the_window(key):
    queries = queries_of(key)
    assert len(queries) > 2
    for query in queries:
        for name, cut in CUTS.items():
            scene = Scene(key)
            scene.once(query, cut)
            try:
                with scene.open(SHORT_MS):
                    right = scene.is_right(scene.window())
            except (Blocked, InvalidWindow) as error:
                assert "\n" not in str(error)
            else:
                assert right or query not in READINGS, (query, name)
