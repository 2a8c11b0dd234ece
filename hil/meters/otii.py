"""Qoitech Otii Arc and Ace through otii_tcp_client, which connects to the Otii program or server on any computer.

The instrument records by itself: current and voltage at their own rates, and edges on its input GPI1 with their times.
It feeds the board. Its automatic low range would change within a window, so the high range is forced
(`set_range("high")`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked
from hil.meters.arrivals import Arrivals, with_unseen
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.optional_library import library

PORT = 1905
CURRENT, VOLTAGE, MARKER = "mc", "mv", "i1"
POLL_S = 0.1
IDLE_KEPT = 0.95  # of the sleep after the second edge
RESOLUTION_S = 0.25e-3  # of an edge's time: one interval of the Arc's 4 kS/s


def open_otii(host: str = "127.0.0.1", port: int = PORT) -> Any:
    """Connect to an Otii program and return the connection.

    Its library reads licences and log-in by itself (`credentials.json`, OTII_USERNAME, OTII_PASSWORD).

    Raises:
        RigError: otii_tcp_client is not installed.
        Blocked: nothing answers, or no licence for automation is free.
    """
    client = library("otii_tcp_client.otii_client", "Qoitech Otii", "otii")
    try:
        return client.OtiiClient().connect(host=host, port=port, try_for_seconds=1)
    except Exception as error:  # the library raises plain Exception of several kinds
        raise Blocked(
            "meter",
            f"the Otii program at {host}:{port} is not reached ({error}): start it with its TCP server, "
            "and log in to an automation licence.",
        ) from error


class Otii(Meter):
    """An Otii Arc or Ace.

    Args:
        server: what `open_otii` returned.
        name: of the instrument, or the end of its id; empty for the only one.
        sheet: its data sheet; `identity` is the type that the server reports.
        host: clock and sleep.

    Raises:
        Blocked: not exactly one instrument matches.
    """

    def __init__(self, server: Any, name: str, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._server = server
        with self._blocked("list its instruments"):
            found = [arc for arc in server.get_devices() if arc.name == name or arc.id.endswith(name)]
        if len(found) != 1:
            raise Blocked(
                "meter",
                f"the Otii program has {len(found)} instruments {name!r}: plug one in, and name it in rig.toml.",
            )
        self._arc = found[0]
        self.identity = f"{self._arc.type} {self._arc.name} {self._arc.id}"
        if sheet.identity != self._arc.type:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: correct rig.toml.")
        with self._blocked("make a project"):
            self._project = server.create_project()
            self._arc.add_to_project()
        self._recording: Any = None

    def configure(self, setting: Setting) -> None:
        """Feed the board, on the high range. Other channels, if switched on, do no harm."""
        self._setting, self._range = setting, self.sheet.range_for(setting.range_a)
        self.rate = min(int(self.sheet.fastest_hz), max(1, round(1 / setting.interval_s)))
        with self._blocked("accept its settings"):
            self._arc.set_main_voltage(setting.volt)
            self._arc.set_range("high")
            for channel in (CURRENT, VOLTAGE, MARKER):
                self._arc.enable_channel(channel, True)
            if self.sheet.apertures_s[0] != self.sheet.apertures_s[1]:  # the Arc's rates are fixed
                for channel in (CURRENT, VOLTAGE):
                    self._arc.set_channel_samplerate(channel, self.rate)
            self._arc.set_main(True)

    def arm(self) -> None:
        """Start recording."""
        with self._blocked("begin to record"):
            if self._recording is not None:
                self._recording.delete()
            self._project.start_recording()
            self._watched = 0
            self._arrivals = Arrivals(self.identity, self.sheet.timebase)
            self._recording = self._project.get_last_recording()
        if self._recording is None:
            raise Blocked("meter", f"the {self.sheet.name} does not record: check the Otii program.")

    def capture(self, deadline_s: float) -> Capture:
        """Wait for the end of the sleep after the second edge, stop the recording, and fetch it."""
        until = self._host.now() + deadline_s
        try:
            while True:
                edges, recorded_s = self._edges(), self._recorded_s()
                self._arrivals.add(recorded_s, self._host.now())
                if len(edges) >= 2 and recorded_s >= edges[1].t_s + IDLE_KEPT * self._setting.idle_s:
                    break
                if self._host.now() > until:
                    raise self._no_edges(len(edges), deadline_s, "wire the board's marker pin to its input GPI1")
                self._host.sleep(POLL_S)
        finally:
            with self._blocked("end the recording"):
                self._project.stop_recording()
        return self._capture(tuple(edges))

    def _edges(self) -> list[Edge]:
        """Return the edges so far; a low level at the start is not an edge."""
        values = self._fetch(MARKER).get("values", [])
        levels = [(float(one["timestamp"]), bool(one["value"])) for one in values]
        while levels and not levels[0][1]:
            levels.pop(0)
        return [Edge(at, RESOLUTION_S, high) for at, high in levels]

    def _recorded_s(self) -> float:
        with self._blocked("return the length of its recording"):
            count = self._recording.get_channel_data_count(self._arc.id, CURRENT)
            if not count:
                return 0.0
            return float(self._recording.get_channel_data(self._arc.id, CURRENT, count - 1, 1)["timestamp"])

    def _fetch(self, channel: str, begin: int = 0) -> dict[str, Any]:
        """Return samples with `timestamp` and `interval`, or edges with `timestamp` and `value`; empty without any."""
        with self._blocked(f"return {channel}"):
            count = self._recording.get_channel_data_count(self._arc.id, channel)
            if count == begin:
                return {}
            data: dict[str, Any] = self._recording.get_channel_data(self._arc.id, channel, begin, count - begin)
            return data

    def _capture(self, edges: tuple[Edge, ...]) -> Capture:
        if [edge.high for edge in edges] != [True, False]:
            raise InvalidWindow(f"the marker changed {len(edges)} times instead of up and down.")
        times, amps, interval = self._samples(CURRENT)
        volt_times, volts, _ = self._samples(VOLTAGE)
        chosen = times <= edges[1].t_s + IDLE_KEPT * self._setting.idle_s
        times, amps = times[chosen], amps[chosen]
        # The Arc reads its voltage, which it regulates itself, at a quarter of the rate.
        volts = np.interp(times, volt_times, volts)
        if not (np.isfinite(amps).all() and np.isfinite(volts).all()):
            raise InvalidWindow(f"a sample of the {self.sheet.name} is not a number.")
        self._require_on_range(amps, self._range.amperes)
        found = Capture(times, amps * volts, amps, volts, interval, interval, edges, self._range.amperes, None)
        return with_unseen(found, self._arrivals.unseen(edges[0].t_s, edges[1].t_s))

    def _samples(self, channel: str) -> tuple[np.ndarray, np.ndarray, float]:
        data = self._fetch(channel)
        if len(data.get("values", [])) < 2:
            raise InvalidWindow(f"the {self.sheet.name} recorded nothing on channel {channel}.")
        values = np.array(data["values"], np.float64)
        interval = float(data["interval"])
        return float(data["timestamp"]) + interval * np.arange(len(values)), values, interval

    def watch(self) -> np.ndarray:
        """Return the power of the samples since the last call, float64[n] in watts; call `arm` first."""
        data = self._fetch(CURRENT, self._watched)
        with self._blocked("return its samples"):
            amps = data["values"] if data else []
        self._watched += len(amps)
        return np.array(amps, np.float64) * self._setting.volt

    def close(self) -> None:
        """Disconnect. The board stays powered."""
        with contextlib.suppress(Exception):  # the server may be gone
            if self._recording is not None:
                self._recording.delete()
            self._server.disconnect()

    @contextlib.contextmanager
    def _blocked(self, what: str) -> Iterator[None]:
        try:
            yield
        except Blocked:
            raise
        except Exception as error:  # the library raises Otii_Exception, OSError and plain Exception
            raise Blocked(
                "meter",
                f"the {self.sheet.name} did not {what} ({error}): check the Otii program, its licence and the cable.",
            ) from error
