"""Stages of the serial port and the pins, before an image: UART, marker, a measured window, the clock by a pin."""

from __future__ import annotations

import time

import numpy as np

from hil.errors import DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.counter import Counter
from hil.first_light.facts import MarkerFacts
from hil.first_light.lines import Line
from hil.first_light.stage import Danger, NotPossible, Seen, Stage
from hil.first_light.stub import Command

RATES = (9_600, 115_200, 230_400, 460_800, 921_600, 1_000_000)
BYTES = 512  # of one direction at one rate
FEWER_BYTES = 128  # on a stand-in, whose core asks its UART some hundred times for each
SLACK_S = 5.0  # beside the time of the bytes: of a busy computer
SEED = 921
PULSE_S, IDLE_S = 0.3, 0.2  # of the core's clock, about: what a round of the stub takes depends on the core
ROUND_CYCLES = 2
UNKNOWN_HZ = 200_000_000  # of a core whose clock out of reset no manual gives
WINDOW_WITHIN_S = 30.0


class UartRates(Stage):
    """The serial port without firmware, at rising rates, in both directions."""

    name = "UART"
    assumes = "pins, adapter and clock of the serial port are those of the catalogue"
    expected = f"at every rate, {BYTES} random bytes ({FEWER_BYTES} on a stand-in) arrive in both directions"
    danger = Danger.RAM
    needs = ("stub from RAM",)

    def run(self, on: BringUp) -> Seen:
        """Move bytes at each rate that the UART can make."""
        line = on.new_line()
        on.probe.halt_at_reset()
        on.registers.do(on.facts.supply)
        line.prepare()
        found = {
            baud: (100 * (made / baud - 1), self._at(on, line, baud))
            for baud in self._rates(on)
            if (made := line.rate(baud)) is not None
        }
        if not found:
            raise NotPossible(
                f"the UART of {on.board.name} makes none of the rates without its PLL: the image tries it."
            )
        each = [f"{baud:,} baud (made {off:+.2f} %): {wrong or 'no error'}" for baud, (off, wrong) in found.items()]
        said, first = "; ".join(each), next((wrong for _, wrong in found.values() if wrong), "")
        if first:
            raise DeviceFault(f"{said}: {_cause(first)}.")
        on.line = line
        return Seen(said, f"the line works in both directions up to {max(found):,} baud.")

    @staticmethod
    def _rates(on: BringUp) -> tuple[int, ...]:
        """Rising rates up to that of the catalogue; of a stand-in only that one, which its line has."""
        if on.is_simulated:
            return (on.board.baud,)
        return tuple(sorted({rate for rate in RATES if rate < on.board.baud} | {on.board.baud}))

    def _at(self, on: BringUp, line: Line, baud: int) -> str:
        """Return what was wrong at a rate, counted in both directions; empty if nothing was."""
        serial = on.dut.serial
        serial.baudrate = baud
        line.open(baud)
        time.sleep(0.02)
        serial.reset_input_buffer()
        size = FEWER_BYTES if on.is_simulated else BYTES
        sent = np.random.default_rng([SEED, baud]).integers(0, 256, size, np.uint8).tobytes()
        within_s = 10 * size / baud + SLACK_S
        line.receive(size)
        serial.write(sent)
        to_board = _errors(sent, line.received(size, within_s))
        back = bytes(reversed(sent))
        line.send(back)
        to_host = _errors(back, _read(on, size, within_s))
        found = {"to the board": to_board, "to the host": to_host}
        return ", ".join(f"{words} {way}" for way, words in found.items() if words)


def _read(on: BringUp, size: int, within_s: float) -> bytes:
    """Return what came of so many bytes when nothing has come for so many seconds."""
    on.dut.serial.timeout = within_s
    found = b""
    while len(found) < size and (more := on.dut.serial.read(size - len(found))):
        found += bytes(more)
    return found


def _errors(sent: bytes, came: bytes) -> str:
    """Return how bytes that came differ from those that were sent; empty if they do not."""
    if came == sent:
        return ""
    if not came:
        return f"none of {len(sent)} bytes"
    if len(came) < len(sent):
        return f"{len(sent) - len(came)} of {len(sent)} bytes lost"
    wrong = sum(one != other for one, other in zip(sent, came, strict=False))
    return f"{wrong} of {len(sent)} bytes wrong"


def _cause(wrong: str) -> str:
    if "none of" in wrong:
        return "a pin, the adapter or the port in rig.toml is wrong: no byte passes"
    if "lost" in wrong:
        return "bytes are lost: the adapter, its buffer, a hub, or a receiver that the core is too slow for"
    return "bytes arrive damaged: the rates of both ends differ (the clock of the UART), or the line is disturbed"


class MarkerPin(Stage):
    """The marker pin as its own input reads it."""

    name = "marker pin"
    assumes = "the marker pin of the catalogue can be driven high and low"
    expected = "its input reads high when it is raised, and low when it is lowered"
    danger = Danger.RAM
    needs = ("reset and halt",)

    def run(self, on: BringUp) -> Seen:
        """Raise and lower the pin."""
        marker = _marker(on)
        on.probe.halt()
        on.registers.do(marker.steps)
        for store, high in ((marker.on, True), (marker.off, False)):
            on.registers.put(*store)
            if marker.level is not None:
                address, mask = marker.level
                if bool(on.registers.word(address) & mask) != high:
                    word = ("low", "high")
                    raise DeviceFault(
                        f"{on.board.marker} reads {word[not high]} after it was driven {word[high]}: it is shorted, "
                        "held by something on the board, or another pin."
                    )
        if marker.level is None:
            return Seen(f"{on.board.marker} was driven", "its level cannot be read back here: the meter sees it.")
        return Seen(f"{on.board.marker} reads high and low", "the pin follows; that the meter is wired to it, is next.")


def _marker(on: BringUp) -> MarkerFacts:
    if on.facts.marker is None:
        raise NotPossible(f"the registers of the marker pin of {on.board.name} are not known, or it has none.")
    return on.facts.marker


class EnergyWindow(Stage):
    """A pulse of the marker while the probe is away, as the power meter sees it."""

    name = "energy window"
    assumes = "the meter measures the board, sees the marker pin, and the debug port is off meanwhile"
    expected = "one pulse of the marker, with an energy and a duration"
    danger = Danger.RAM
    needs = ("UART", "marker pin")

    def run(self, on: BringUp) -> Seen:
        """Let the stub wait for a byte, and pulse the marker while the probe is away."""
        if not on.dut.has_meter:
            raise NotPossible(f"{on.board.name} has no power meter here: name one in rig.toml (`meter`).")
        marker, line = _marker(on), on.line
        assert line is not None  # `needs` names the stage that opens it
        stub, counter = on.stub(), Counter(on.board, on.registers)
        on.registers.do(marker.steps)
        line.open(on.board.baud)
        counter.start()
        on.probe.halt()
        rounds = int((_core_clock(on)[0] or UNKNOWN_HZ) / ROUND_CYCLES * PULSE_S)
        stub.start(
            Command.PULSE, limit=rounds, settle=int(rounds * IDLE_S / PULSE_S), counter=counter.address,
            on=marker.on[0], on_value=marker.on[1], off=marker.off[0], off_value=marker.off[1], **line.pulse_fields(),
        )  # fmt: skip
        on.dut.serial.baudrate = on.board.baud
        on.dut.serial.reset_input_buffer()
        with on.dut.energy(window_s=2 * PULSE_S, idle_s=IDLE_S) as work:
            on.dut.serial.write(b"!")
            if not _read(on, 1, WINDOW_WITHIN_S):
                raise DeviceFault(
                    "the stub did not end its pulse while the probe was away: it needs the debugger to run, or its "
                    "clock stops without one."
                )
        done = stub.look()
        on.figures["pulse_cycles"] = counter.between(done.before, done.after)
        for name in ("energy", "duration"):
            on.figures[f"window_{name}"] = dict(work.figures[name])
        flags = " ".join(f"{flag[0].upper()}{flag[1:]}" for flag in work.figures["flags"])
        energy, duration = work.energy, work.duration
        return Seen(
            f"{duration.value:.6f} s +- {duration.uncertainty or 0:.6f} s, {1000 * energy.value:.4g} mJ +- "
            f"{1000 * (energy.uncertainty or 0):.2g} mJ ({energy.provenance.value})",
            f"the meter sees the marker, and the board runs without the probe. {flags}".strip(),
        )


class ClockByPin(Stage):
    """The core's clock by the duration of the pulse and the cycles in it."""

    name = "clock by a pin"
    assumes = "the core's clock is that of the manual, also by a clock that is not the host's"
    expected = "cycles of the pulse over its duration, by the meter, are the frequency of the manual"
    danger = Danger.READS
    needs = ("energy window",)

    def run(self, on: BringUp) -> Seen:
        """Divide."""
        duration, cycles = on.figures["window_duration"], on.figures["pulse_cycles"]
        hz = cycles / duration["value"]
        share = 3 * duration["uncertainty"] / duration["value"]
        on.figures["core_hz_by_pin"] = {"value": hz, "half_width": hz * share}
        said = f"{cycles:,} cycles in {duration['value']:.6f} s: {hz / 1e6:.4f} MHz +- {100 * share:.2g} %"
        wanted, error = _core_clock(on)
        if wanted is None:
            return Seen(said, "which clock to expect is not known here.")
        if abs(hz / wanted - 1) > error + share:
            raise DeviceFault(
                f"{said}, and {wanted / 1e6:g} MHz within {100 * error:g} % is expected: the oscillator is "
                "another one, or off."
            )
        return Seen(said, f"the core's clock is {wanted / 1e6:g} MHz within {100 * error:g} %.")


def _core_clock(on: BringUp) -> tuple[int | None, float]:
    """Return the frequency of the core that the steps of the line leave, and the share by which it may be off."""
    facts = on.facts
    if facts.line is not None and facts.line.core_hz:
        return facts.line.core_hz, facts.line.core_error
    return (facts.reset_clock.hz, facts.reset_clock.error) if facts.reset_clock is not None else (None, 0.0)


STAGES = (UartRates, MarkerPin, EnergyWindow, ClockByPin)
