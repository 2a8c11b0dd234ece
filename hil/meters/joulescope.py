"""Joulescope JS220 through pyjoulescope_driver: current, voltage, power, and the marker on general purpose input 0.

Topics are those of the driver (its package: record.py, entry_points/measure.py, and its examples). Opening in mode
`defaults` discards earlier settings. The instrument multiplies voltage and current before it reduces the rate, so the
power stream holds means of products.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked, RigError
from hil.meters.arrivals import Arrivals, with_unseen
from hil.meters.joulescope_stream import JoulescopeSamples, Levels
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.optional_library import library

RATES_HZ = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
RANGES = {10.0: "10 A", 0.18: "180 mA", 0.018: "18 mA", 1.8e-3: "1.8 mA", 180e-6: "180 uA", 18e-6: "18 uA"}
VOLTS = ((2.0, "2 V"), (15.0, "15 V"))
SIGNALS = {"i": "s/i", "v": "s/v", "p": "s/p", "marker": "s/gpi/0"}
POLL_S = 0.05
SILENCE_S = 2.0
IDLE_KEPT = 0.95  # of the sleep after the second edge


def open_driver() -> Any:
    """Start the driver of all attached Joulescopes and return it.

    Raises:
        RigError: pyjoulescope_driver is not installed.
    """
    return library("pyjoulescope_driver", "Joulescope", "joulescope").Driver()


class Joulescope(Meter):
    """A Joulescope JS220.

    Args:
        driver: what `open_driver` returned; closing the meter stops it.
        name: end of the device path, such as a serial number; empty for the only one attached.
        sheet, host: as in Meter.

    Raises:
        Blocked: not exactly one device matches.
    """

    def __init__(self, driver: Any, name: str, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._driver = driver
        with self._blocked("list the devices"):
            paths = [path for path in driver.device_paths() if path.endswith(name)]
        if len(paths) != 1:
            listed = ", ".join(paths) or "none"
            raise Blocked(
                "meter",
                f"{len(paths)} Joulescopes {name} are attached ({listed}): plug one in, "
                "and name its serial number in rig.toml.",
            )
        self.identity = paths[0]
        if sheet.identity not in self.identity:
            raise Blocked("meter", f"the meter is {self.identity!r}, not a {sheet.name}: correct rig.toml.")
        with self._blocked("open"):
            driver.open(self.identity, "defaults")
        self._streams: dict[str, JoulescopeSamples | Levels] = {}
        self._running = False

    def configure(self, setting: Setting) -> None:
        """Set fixed ranges and the rate.

        Raises:
            RigError: the voltage is beyond the ranges of the instrument.
        """
        self._stop()
        self._setting, self._range = setting, self.sheet.range_for(setting.range_a)
        volts = next((name for limit, name in VOLTS if setting.volt <= limit), None)
        if volts is None:
            raise RigError(
                f"the {self.sheet.name} measures up to {VOLTS[-1][0]:g} V, not {setting.volt:g} V: "
                "measure with another meter."
            )
        self.rate = max((rate for rate in RATES_HZ if rate * setting.interval_s <= 1.0001), default=RATES_HZ[0])
        for topic, value in (
            ("s/i/range/select", RANGES[self._range.amperes]), ("s/i/range/mode", "manual"),
            ("s/v/range/select", volts), ("s/v/range/mode", "manual"),
            ("h/fs", self.rate),
        ):  # fmt: skip
            self._publish(topic, value)

    def arm(self) -> None:
        """Start the streams."""
        self._stop()
        self._arrivals = Arrivals(self.identity, self.sheet.timebase)
        self._streams = {name: Levels() if name == "marker" else JoulescopeSamples() for name in SIGNALS}
        self._streams["p"] = JoulescopeSamples(lambda end_s: self._arrivals.add(end_s, self._host.now()))
        self._running = True
        for name, topic in SIGNALS.items():
            with self._blocked(f"subscribe {topic}"):
                self._driver.subscribe(f"{self.identity}/{topic}/!data", "pub", self._streams[name])
            self._publish(f"{topic}/ctrl", 1)

    def capture(self, deadline_s: float) -> Capture:
        """Wait for the end of the sleep after the second edge, and stop the streams."""
        power, marker = self._streams["p"], self._streams["marker"]
        assert isinstance(power, JoulescopeSamples) and isinstance(marker, Levels)
        until = self._host.now() + deadline_s
        reached, since = -1.0, self._host.now()
        while len(marker.edges) < 2 or power.reached_s() < marker.edges[1][0] + IDLE_KEPT * self._setting.idle_s:
            now = self._host.now()
            if power.reached_s() > reached:
                reached, since = power.reached_s(), now
            elif now - since > SILENCE_S:
                raise self._silent(SILENCE_S)
            if now > until:
                cure = "wire the board's marker pin to its general purpose input 0"
                raise self._no_edges(len(marker.edges), deadline_s, cure)
            self._host.sleep(POLL_S)
        self._stop()
        return self._capture(marker)

    def _capture(self, marker: Levels) -> Capture:
        taken = {name: stream.take() for name, stream in self._streams.items() if isinstance(stream, JoulescopeSamples)}
        missing = sum(lost for _, _, lost in taken.values())
        begin, end = max(times[0] for times, _, _ in taken.values()), min(times[-1] for times, _, _ in taken.values())
        end = min(end, marker.edges[1][0] + IDLE_KEPT * self._setting.idle_s)
        half = 0.5 / self.rate
        cut = {
            name: values[(times > begin - half) & (times < end + half)] for name, (times, values, _) in taken.items()
        }
        times = taken["p"][0]
        times = times[(times > begin - half) & (times < end + half)]
        missing += sum(int(np.sum(~np.isfinite(values))) for values in cut.values())
        if missing or len({len(values) for values in cut.values()}) != 1:
            raise InvalidWindow(
                f"{missing} samples of the {self.sheet.name} are missing: choose a lower rate, or another USB port."
            )
        self._require_on_range(cut["i"], self._range.amperes)
        if len(marker.edges) != 2 or not marker.edges[0][2]:
            raise InvalidWindow(f"the marker changed {len(marker.edges)} times instead of up and down.")
        edges = tuple(Edge(*edge) for edge in marker.edges)
        found = Capture(
            times, cut["p"], cut["i"], cut["v"], 1 / self.rate, 1 / self.rate, edges, self._range.amperes, 0
        )
        if marker.missing:
            found = found.noted(
                f"{marker.missing} samples of the marker are missing: an edge in that time may be anywhere in it."
            )
        return with_unseen(found, self._arrivals.unseen(edges[0].t_s, edges[1].t_s))

    def watch(self) -> np.ndarray:
        """Return the power of the samples since the last call, float64[n] in watts; call `arm` first."""
        streams = [stream for name, stream in self._streams.items() if name in ("i", "v", "p")]
        return [stream.drain() for stream in streams if isinstance(stream, JoulescopeSamples)][-1]

    def close(self) -> None:
        """Close the device. A board that is fed through it stays powered."""
        with contextlib.suppress(Blocked):
            self._stop()
        with contextlib.suppress(Exception):  # the driver raises its own RuntimeError if the device is gone
            self._driver.close(self.identity)
            self._driver.finalize()

    def _stop(self) -> None:
        if not self._running:
            return
        self._running = False
        for name, stream in self._streams.items():
            with self._blocked(f"unsubscribe {SIGNALS[name]}"):
                self._driver.unsubscribe(f"{self.identity}/{SIGNALS[name]}/!data", stream)
            self._publish(f"{SIGNALS[name]}/ctrl", 0)

    def _publish(self, topic: str, value: Any) -> None:
        with self._blocked(f"publish {topic} {value}"):
            self._driver.publish(f"{self.identity}/{topic}", value)

    @contextlib.contextmanager
    def _blocked(self, what: str) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, TimeoutError, ValueError, OSError, KeyError) as error:
            raise Blocked("meter", f"the {self.sheet.name} did not {what} ({error}): plug it in again.") from error
