"""Nordic Power Profiler Kit II through ppk2_api (GPL-2.0, installed only by the extra `ppk2`).

It is a source meter (it feeds the board) or an ampere meter (in the board's supply). In both it reads only the current,
100,000 times a second, and the levels of its logic port; D0 is the marker. It changes its range by itself, so the range
that is set is the largest one that a sample may come from. A reading is the mean of the samples of its interval.

The library ignores errors when it writes, and sets a voltage beyond the meter's to the nearest one; both are checked
here.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked, RigError
from hil.meters.arrivals import Arrivals, with_unseen
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.ppk2_stream import BLIND_S, RANGES, RATE_HZ, READING, Reader, Recording, currents, ranges
from hil.meters.reading_checks import require_complete
from hil.optional_library import library

VOLTS = (0.8, 5.0)
CALIBRATION_TRIES = 3
POLL_S = 0.02
SILENCE_S = 2.0
QUIET_READS = 100
IDLE_KEPT = 0.95  # of the sleep after the second edge
KEPT_BEFORE = 1.05  # of the sleep before the first edge
WIRING = "wire the board's marker pin to D0 of its logic port, and VCC of that port to the board's supply"
RANGE_CHANGED = (
    "the PPK2 changed its current range within the window: gain and offset may differ between sleep and work, and the "
    "budget takes them to be the same."
)
SMOOTHED = 0.01  # of the energy: a larger share that is in doubt is noted
SMOOTHING = (
    "Nordic's filter smooths the samples after each change of range, here by up to {:.0%} of the energy, which is in "
    "the uncertainty: bursts of some 10 us are not measured well."
)
OPENING: tuple[type[Exception], ...] = (*READING, ValueError)
NOT_CALIBRATED = "the PPK2 reports that it is not calibrated (Calibrated: 0)."


def open_ppk2(port: str) -> Any:
    """Open a PPK2 on a serial port and return the library's `PPK2_API`.

    Raises:
        RigError: ppk2_api is not installed.
        Blocked: the port is missing, or another program holds it.
    """
    module = library("ppk2_api.ppk2_api", "Nordic PPK2", "ppk2")
    try:
        return module.PPK2_API(port, timeout=1, write_timeout=1, exclusive=True)
    except OPENING as error:
        raise Blocked(
            "meter",
            f"the port {port} of the Nordic PPK2 cannot be opened ({error}): plug the meter in, switch it on, "
            "or end the program that holds the port.",
        ) from error


class Ppk2(Meter):
    """A PPK2; a source meter if its data sheet says that it feeds the board, else an ampere meter.

    Args:
        device: what `open_ppk2` returned; closing the meter closes its port.
        sheet, host: as in Meter.

    Raises:
        Blocked: it does not answer with its calibration.
    """

    def __init__(self, device: Any, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._device = device
        self._reader: Reader | None = None
        with self._attached():
            self._stop()
            self._read_calibration()
        self.identity = f"PPK2, hardware {str(device.modifiers['HW']).strip()}"
        self._notes = (NOT_CALIBRATED,) if str(device.modifiers["Calibrated"]).strip() == "0" else ()

    def configure(self, setting: Setting) -> None:
        """Set mode and voltage, and switch the board's supply on.

        Raises:
            RigError: the voltage is beyond the meter's.
        """
        if not VOLTS[0] <= setting.volt <= VOLTS[1]:
            raise RigError(
                f"the {self.sheet.name} works with {VOLTS[0]:g} to {VOLTS[1]:g} V, not {setting.volt:g} V: "
                "measure with another meter."
            )
        self._setting, self._range = setting, self.sheet.range_for(setting.range_a)
        self._samples = max(1, math.ceil(setting.interval_s * RATE_HZ - 0.01))  # of a reading
        device = self._device
        with self._attached():
            self._stop()
            # Before the mode too: an earlier program may have left another voltage. The library needs the voltage of
            # an ampere meter to correct the current.
            device.set_source_voltage(round(1000 * setting.volt))
            (device.use_source_meter if self.sheet.feeds else device.use_ampere_meter)()
            device.set_source_voltage(round(1000 * setting.volt))
            device.toggle_DUT_power("ON")

    def arm(self) -> None:
        """Start reading."""
        with self._attached():
            self._stop()
            self._recording = Recording(math.ceil(KEPT_BEFORE * self._setting.idle_s * RATE_HZ))
            self._arrivals = Arrivals(self.identity, self.sheet.timebase, BLIND_S)
            self._device.start_measuring()
            self._reader = Reader(self._device, self._host.now)

    def capture(self, deadline_s: float) -> Capture:
        """Read until the end of the sleep after the second edge, and stop."""
        recording, since = self._recording, self._host.now()
        until = since + deadline_s
        try:
            while not self._over():
                now = self._host.now()
                if self._read():
                    since = now
                elif now - since > SILENCE_S:
                    raise self._silent(SILENCE_S)
                if now > until:
                    raise self._no_edges(len(recording.edges), deadline_s, WIRING)
                self._host.sleep(POLL_S)
        finally:
            with self._attached():
                self._stop()
        return self._capture(recording)

    def _over(self) -> bool:
        edges = self._recording.edges
        return len(edges) >= 2 and self._recording.reached >= self._end(edges[1].t_s)

    def _end(self, edge_s: float) -> int:
        """Return the number of the sample that ends a window whose second edge is at a time."""
        return round((edge_s + IDLE_KEPT * self._setting.idle_s) * RATE_HZ)

    def _read(self) -> int:
        """Add what has arrived to the recording, and return how many bytes that were."""
        assert self._reader is not None
        with self._attached():
            pieces = self._reader.take()
        for now, data in pieces:
            self._recording.add(data)
            self._arrivals.add(self._recording.reached / RATE_HZ, now)
        return sum(len(data) for _, data in pieces)

    def _capture(self, recording: Recording) -> Capture:
        edges, (words, numbers) = recording.edges, recording.drain()
        inside = numbers < self._end(edges[1].t_s)
        edges = [edge for edge in edges if edge.t_s * RATE_HZ < self._end(edges[1].t_s)]
        if [edge.high for edge in edges] != [True, False]:
            raise InvalidWindow(f"the marker changed {len(edges)} times instead of up and down.")
        amps, plain, lost = self._amperes(words[inside], numbers[inside])
        work = (numbers[inside] >= edges[0].t_s * RATE_HZ) & (numbers[inside] < edges[1].t_s * RATE_HZ)
        smoothed_j = float(np.sum(np.abs(plain - amps)[work])) / RATE_HZ * self._setting.volt
        share = smoothed_j / max(abs(float(np.sum(amps[work]))) / RATE_HZ * self._setting.volt, 1e-30)
        cells, amps = _means(numbers[inside], amps, self._samples)
        interval_s = self._samples / RATE_HZ
        notes = self._notes if len(np.unique(ranges(words[inside]))) == 1 else (*self._notes, RANGE_CHANGED)
        if share > SMOOTHED:
            notes = (*notes, SMOOTHING.format(share))
        volts = np.full(len(amps), self._setting.volt if self.sheet.feeds else np.nan)
        capture = Capture(
            cells * interval_s, amps * self._setting.volt, amps, volts, interval_s, interval_s, tuple(edges),
            self._range.amperes, math.ceil(lost / self._samples), notes=notes, smoothed_j=smoothed_j,
        )  # fmt: skip
        return with_unseen(capture, self._arrivals.unseen(edges[0].t_s, edges[1].t_s))

    def _amperes(self, words: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the currents of samples, float64[n], also without smoothing, and how many are missing among them.

        Raises:
            InvalidWindow: too many are missing, a word is no sample, or a range is beyond the one that was set.
        """
        lost = int(numbers[-1] - numbers[0]) + 1 - len(numbers)
        require_complete(lost, len(numbers), self.sheet.name)
        used = ranges(words)
        if np.max(used) >= RANGES:
            raise InvalidWindow(f"{np.sum(used >= RANGES)} samples of the {self.sheet.name} arrived garbled.")
        largest = self.sheet.ranges[int(np.max(used))].amperes
        amps, plain = currents(self._device, words)
        if not np.isfinite(amps).all():
            raise InvalidWindow(f"the {self.sheet.name} has no calibration of its range of {largest:g} A.")
        if largest > self._range.amperes:
            raise InvalidWindow(
                f"the {self.sheet.name} used its range of {largest:g} A, beyond the {self._range.amperes:g} A that "
                "were set",
                beyond_range=True,
            )
        self._require_on_range(amps, self._range.amperes)
        return amps, plain, lost

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; call `arm` first."""
        self._read()
        words, numbers = self._recording.drain()
        if not len(words):
            return np.empty(0)
        amps, _, _ = self._amperes(words, numbers)
        return _means(numbers, amps, self._samples)[1] * self._setting.volt

    def close(self) -> None:
        """Close the port. A board that it feeds stays powered."""
        with contextlib.suppress(Blocked), self._attached():
            self._stop()
        with contextlib.suppress(*READING):
            self._device.ser.close()

    def _read_calibration(self) -> None:
        """Read the calibration. The library may read only the end of it, and then uses defaults for the rest."""
        modifiers = self._device.modifiers
        for _ in range(CALIBRATION_TRIES):
            with contextlib.suppress(UnicodeDecodeError):  # samples of a measurement that had not stopped
                if self._device.get_modifiers() and None not in (modifiers["Calibrated"], modifiers["HW"]):
                    return
            self._stop()
        raise Blocked(
            "meter",
            f"the {self.sheet.name} did not return its calibration: check that the port is that of a PPK2 (the first "
            "of its two), and plug it in again.",
        )

    def _stop(self) -> None:
        """Stop the measurement, and discard what is in transit.

        Raises:
            Blocked: it does not stop.
        """
        self._device.stop_measuring()
        if self._reader is not None:
            self._reader.stop()
            self._reader = None
        for _ in range(QUIET_READS):
            self._host.sleep(POLL_S)
            if not self._device.get_data():
                return
        raise Blocked("meter", f"the {self.sheet.name} does not stop sending: plug it in again.")

    @contextlib.contextmanager
    def _attached(self) -> Iterator[None]:
        try:
            yield
        except READING as error:
            raise Blocked(
                "meter", f"the {self.sheet.name} is gone ({error}): check its cable, and that it is switched on."
            ) from error


def _means(numbers: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means over `size` consecutive sample numbers: numbers of the groups int64[m], and means float64[m].

    A group may lack samples that were lost. The first and the last group are left out if they are cut off.
    """
    groups, begins, counts = np.unique(numbers // size, return_index=True, return_counts=True)
    means = np.add.reduceat(values, begins) / counts
    whole = np.ones(len(groups), bool)
    whole[0], whole[-1] = numbers[0] % size == 0, numbers[-1] % size == size - 1
    if len(groups) == 1:
        whole[0] = counts[0] == size
    return groups[whole], means[whole]
