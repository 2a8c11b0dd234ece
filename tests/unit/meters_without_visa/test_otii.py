"""The Otii: the driver against a scripted program, directly and, where it is installed, through the real client library over TCP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from otii_twin import OtiiServer, ScriptedOtii
from wired import PS, SETTING, board, energy, host, true_energy

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.meter import InvalidWindow
from hil.meters.otii import Otii, open_otii
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime

SHEET = load_data_sheet("otii-arc")


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def otii(time: VirtualTime) -> ScriptedOtii:
    return ScriptedOtii(time, board(time, begin=0.4))


def armed(otii: ScriptedOtii) -> Otii:
    meter = Otii(otii, "", SHEET, host(otii.time))
    meter.configure(SETTING)
    meter.arm()
    return meter


def test_a_window(otii: ScriptedOtii) -> None:
    meter = armed(otii)
    capture = meter.capture(20.0)
    meter.arm()
    meter.close()
    assert meter.identity == "Arc Bench Arc0123456789"
    assert otii.said[:3] == ["add", "volt 3.3", "range high"] and otii.said[-3:] == ["delete", "delete", "disconnect"]
    assert not any(line.startswith("rate") for line in otii.said)  # the Arc's are fixed
    for edge, (when, level) in zip(capture.edges, otii.truth._edges, strict=True):
        assert abs(edge.t_s - when / PS) <= edge.half_s and edge.high == bool(level)
    assert capture.interval_s == capture.aperture_s == 0.00025 and capture.lost is None
    assert energy(capture) == pytest.approx(true_energy(otii.truth), rel=1e-3)


def test_a_window_through_the_real_client(otii: ScriptedOtii) -> None:
    pytest.importorskip("otii_tcp_client")
    server = OtiiServer(otii)
    try:
        meter = Otii(open_otii(port=server.port), "Bench", SHEET, host(otii.time))
        meter.configure(SETTING)
        meter.arm()
        capture = meter.capture(20.0)
        meter.close()
    finally:
        server.close()
    assert energy(capture) == pytest.approx(true_energy(otii.truth), rel=1e-3)
    assert "range high" in otii.said and otii.said[-1] == "disconnect"


def test_what_the_real_client_refuses_blocks(otii: ScriptedOtii) -> None:
    pytest.importorskip("otii_tcp_client")
    server = OtiiServer(otii)
    otii.refuse = "range"
    try:
        meter = Otii(open_otii(port=server.port), "", SHEET, host(otii.time))
        with pytest.raises(Blocked, match="Command failure"):
            meter.configure(SETTING)
        meter.close()
    finally:
        server.close()


def test_nobody_at_the_port() -> None:
    pytest.importorskip("otii_tcp_client")
    with pytest.raises(Blocked, match="is not reached"):
        open_otii(port=1)


def test_without_the_library_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "otii_tcp_client.otii_client", None)
    with pytest.raises(RigError, match=r'pip install "trainrig\[otii\]"'):
        open_otii()


def test_no_marker_blocks_and_ends_the_recording(time: VirtualTime) -> None:
    otii = ScriptedOtii(time, ScriptedTrace(time, np.array([0]), np.array([0.01]), []))
    with pytest.raises(Blocked, match="0 of the 2 edges.*GPI1"):
        armed(otii).capture(3.0)
    assert otii.end_ps is not None


def test_current_beyond_the_range(time: VirtualTime) -> None:
    with pytest.raises(InvalidWindow) as spoiled:
        armed(ScriptedOtii(time, board(time, begin=0.4, peak=2.9))).capture(20.0)
    assert spoiled.value.beyond_range


@pytest.mark.parametrize("value", [math.nan, None])
def test_a_sample_that_is_no_number_spoils_the_window(otii: ScriptedOtii, value: float | None) -> None:
    whole = otii.get_channel_data

    def damaged(device: str, channel: str, index: int, count: int) -> dict[str, Any]:
        data = whole(device, channel, index, count)
        if channel == "mc":
            data["values"][count // 2] = value
        return data

    otii.get_channel_data = damaged  # type: ignore[method-assign]
    with pytest.raises(InvalidWindow, match="a sample of the Qoitech Otii Arc is not a number"):
        armed(otii).capture(20.0)


def test_a_marker_that_chatters_spoils_the_window(time: VirtualTime) -> None:
    truth = board(time, begin=0.4)
    truth._edges[1:1] = [(PS * 6 // 10, 0), (PS * 7 // 10, 1)]
    with pytest.raises(InvalidWindow, match="changed 4 times"):
        otii = ScriptedOtii(time, truth)
        meter = armed(otii)
        time.sleep(1.5)
        meter.capture(20.0)


def test_another_instrument_is_refused(otii: ScriptedOtii, time: VirtualTime) -> None:
    with pytest.raises(Blocked, match="not a Qoitech Otii Ace"):
        Otii(otii, "", load_data_sheet("otii-ace"), host(time))
    with pytest.raises(Blocked, match="0 instruments 'Elsewhere'"):
        Otii(otii, "Elsewhere", SHEET, host(time))


def test_a_server_that_fails_blocks(otii: ScriptedOtii) -> None:
    otii.refuse = "main"
    with pytest.raises(Blocked, match="did not accept its settings"):
        armed(otii)


def test_it_can_be_watched(otii: ScriptedOtii) -> None:
    meter = armed(otii)
    assert len(meter.watch()) == 0
    for _ in range(3):
        otii.time.sleep(0.1)
        assert meter.watch() == pytest.approx(np.full(400, 0.033), rel=1e-6)
