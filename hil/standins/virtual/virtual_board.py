"""A virtual board: chip, debug probe, serial port, meter and power supply, each with its own thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hil import boards
from hil.errors import RigError
from hil.standins.virtual import boards as models
from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.coverage_server import coverage_server
from hil.standins.virtual.inject import Injection, schedule, stuck_marker
from hil.standins.virtual.meter.debug_power import DebugPower
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.power_supply import PowerSupply
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.supply import Activity, Supply
from hil.standins.virtual.meter.twins import find_virtual_meter
from hil.standins.virtual.probe import VirtualProbe
from hil.standins.virtual.probe_server import OwnProbeServer
from hil.standins.virtual.runner import ChipRunner
from hil.standins.virtual.serial_line import VirtualSerialLine
from hil.standins.virtual.symbols import Symbols
from hil.standins.virtual.uart import SerialPort
from hil.standins.virtual.usb.bad_host import UsbFaults
from hil.standins.virtual.usb.boot_drive import BootDrive
from hil.standins.virtual.usb.halfkay_port import HalfKayPort
from hil.standins.virtual.usb.serial_ports import SerialPorts
from hil.standins.virtual.usb.session import UsbSession


@dataclass(frozen=True)
class Wanted:
    """Which virtual board is wanted.

    Attributes:
        board: name of the board.
        meter: instrument that supplies or measures the board, as the key of its data sheet.
        seed: seed of SRAM contents, unique id, meter errors and noise.
        flash: file that keeps the flash contents between runs, or None.
        injections: faults for the project's own tests.
        usb: folder for the links to the serial port of the board's USB connector; None if no cable is plugged in.
    """

    board: str
    meter: str
    seed: int
    flash: Path | None
    injections: list[Injection]
    usb: Path | None = None


class VirtualBoard:
    """A virtual board with its endpoints.

    Args:
        wanted: which board.
        symbols: names of addresses in messages.
        log: receives one line for each event, from any thread.
        report: receives a record of each chip fault once, as `fault`, and of each USB serial port that appears, as
            `usb`, of the boot ROM's drive, as `uf2_drive`, and of HalfKay, as `halfkay`, or None there when it is gone.

    Raises:
        RigError: the board or the meter does not exist as a virtual one.
    """

    def __init__(
        self, wanted: Wanted, symbols: Symbols, log: Callable[[str], None], report: Callable[[dict[str, object]], None],
    ) -> None:  # fmt: skip
        self._board, self._model = boards.load(wanted.board), models.load(wanted.board)
        self._symbols, self._report, self._log = symbols, report, log
        self._flash_file = wanted.flash
        self._reported: object = None
        self._port = SerialPort(lambda: self._runner.notify(), log)
        self._line = VirtualSerialLine(self._port, wanted.injections)
        self._chip = self._model.build(np.random.default_rng(wanted.seed), self._line.take, self._note_edge, log)
        self._line.connect(self._chip.serial, self._chip.clock)
        self._chip.sources.insert(0, self._line)
        self._ports: SerialPorts | None = None
        self._usb: UsbSession | None = None
        self._drive: BootDrive | None = None
        self._halfkay: HalfKayPort | None = None
        if wanted.usb is None and any(one.kind.startswith("usb_") for one in wanted.injections):
            raise RigError("a fault of USB is injected, but no cable is plugged in; add --usb FOLDER")
        if wanted.usb is not None:
            self._plug_usb(wanted.usb, wanted.injections)
        self._chip.hazards.place = partial(place_in, symbols)
        schedule(self._chip, wanted.injections, log)
        self._load_flash()
        self._runner = ChipRunner(self._chip, after_slice=self._after_slice)
        debug = DebugPower(self._time, log)
        self._supply = Supply(self._model.currents, self._activity, debug)
        self._stuck_marker = stuck_marker(wanted.injections)
        if self._stuck_marker:
            self._supply.edge(0, 1)
        twin, rng = find_virtual_meter(wanted.meter), np.random.default_rng(wanted.seed)
        self._meter_model = wanted.meter
        self._meter = twin.server(twin.make(self._supply, Flaws.draw(twin.limits, rng), rng), log)
        self._rng = np.random.default_rng([wanted.seed, 1])
        self._power = InstrumentServer(PowerSupply(self._model.currents.volt, self._switch), log)
        self._coverage = coverage_server(self._runner, log)
        self._risen = 0
        ports = self._model.ports(self._runner)
        for port in ports:
            port.on_power = debug.request
        self._probe = VirtualProbe(self._runner, f"virtual-{wanted.board}", ports, self._model.reset_line)
        self._probe_server = OwnProbeServer(self._probe, log)

    def start(self) -> dict[str, object]:
        """Start all threads and return the endpoints as the server announces them."""
        self._runner.start()
        self._port.start()
        self._meter.start()
        self._power.start()
        self._coverage.start()
        self._probe_server.start()
        while not self._probe_server.is_running or self._probe_server.port == 0:
            threading.Event().wait(0.005)
        return {
            "board": self._board.name, "reality": "virtual", "probe": f"remote:127.0.0.1:{self._probe_server.port}",
            "probe_uid": self._probe.unique_id, "target": self._board.pyocd_target, "serial": self._port.path,
            "meter": self._meter.resource, "meter_model": self._meter_model, "supply": self._power.resource,
            "coverage": f"127.0.0.1:{self._coverage.port}",
        } | self._usb_endpoints()  # fmt: skip

    @property
    def failed(self) -> BaseException | None:
        """The exception that ended the chip's thread, or None."""
        return self._runner.error

    def close(self) -> None:
        """End the threads and save the flash."""
        self.keep_flash()
        self._probe_server.stop()
        self._meter.close()
        self._power.close()
        self._coverage.close()
        self._port.close()
        self.remove_ports()

    def remove_ports(self) -> None:
        """Remove what the USB connector has put into its folder."""
        if self._halfkay is not None:
            self._halfkay.remove()
        if self._ports is not None and self._drive is not None:
            self._ports.remove_links()
            self._drive.remove()

    def keep_flash(self) -> None:
        """Stop the chip and write its flash to the flash file, if there is one."""
        self._runner.close()
        if self._flash_file is not None:
            self._chip.show_main()
            self._flash_file.write_bytes(self._chip.contents.tobytes())
            cells_file(self._flash_file).write_text(json.dumps(self._chip.flash_cells.as_json()))

    def _plug_usb(self, folder: Path, injections: list[Injection]) -> None:
        """Plug the board's USB cable into this computer."""
        folder = folder.absolute()
        self._ports = SerialPorts(folder, lambda: self._runner.notify(), lambda port: self._report({"usb": port}))
        self._drive = BootDrive(folder, self._take_uf2, lambda drive: self._report({"uf2_drive": drive}))
        self._halfkay = HalfKayPort(self._take_report, lambda device: self._report({"halfkay": device}), self._log)
        chip = self._chip
        self._usb = UsbSession(chip.clock, chip.usb, chip.core.break_soon, self._ports, self._log)
        chip.sources[:0] = [self._usb, UsbFaults(self._usb, chip.clock, injections, self._log)]
        self._usb.plug()

    def _take_uf2(self, pages: dict[int, bytes]) -> None:
        with self._runner.paused():
            self._chip.take_uf2(pages)
        self._log(f"boot ROM: {len(pages)} pages of a UF2 file are programmed, and the chip restarts")

    def _take_report(self, report: bytes) -> None:
        with self._runner.paused():
            self._chip.take_report(report)

    def _usb_endpoints(self) -> dict[str, object]:
        """Return the endpoints with a USB cable, whose serial port takes the place of the UART."""
        return {} if self._ports is None else {"serial": str(self._ports.by_path), "uart": self._port.path}

    def _load_flash(self) -> None:
        if self._flash_file is None or not self._flash_file.exists():
            return
        data = np.fromfile(self._flash_file, np.uint8)
        if data.size != self._chip.contents.size:
            raise RigError(f"{self._flash_file} has {data.size} bytes, the flash {self._chip.contents.size}; delete it")
        self._chip.contents[:] = data
        load_cells(self._chip.flash_cells, cells_file(self._flash_file))
        self._chip.core.code_changed()
        self._chip.reset()

    def _note_edge(self, port: str, pin: int, level: int, time_ps: int) -> None:
        name = self._model.pin.format(port=port, pin=pin)
        self._log(f"{name} goes {'high' if level else 'low'} at {time_ps / PS_PER_S:.9f} s")
        if name == self._board.marker and self._stuck_marker is None:
            self._note_marker(level, time_ps)

    def _note_marker(self, level: int, time_ps: int) -> None:
        """Pass an edge of the marker pin to the meter; at a falling edge, log the true energy of the window."""
        self._supply.edge(time_ps, level)
        if level:
            self._risen = time_ps
        elif time_ps > self._risen:
            true = self._supply.energy(self._seen(self._chip), self._risen, time_ps)
            self._log(f"true energy while the marker was high: {true:.9f} J ({self._model.currents.source})")

    def _switch(self, on: bool) -> None:
        """Switch the power of the chip on or off."""
        with self._runner.paused() as machine:
            machine.switch(on, self._rng)
            self._line.drop_unreceived()
            if self._usb is not None:
                self._usb.look_again(machine.clock.now)
        self._log(f"the supply is switched {'on' if on else 'off'}")

    def _time(self) -> int:
        with self._runner.paused() as machine:
            return machine.clock.now

    def _activity(self) -> Activity:
        with self._runner.paused() as machine:
            return self._seen(machine)

    def _seen(self, machine: Machine) -> Activity:
        return Activity(
            machine.clock.now, tuple(machine.clock.sleeps), machine.asleep, machine.stopped, machine.clock.asleep_ps
        )

    def _after_slice(self) -> None:
        self._line.flush()
        if self._drive is not None:
            self._drive.show(self._chip.waits_for_uf2)
        if self._halfkay is not None and self._usb is not None and self._halfkay.show(self._chip.waits_for_reports):
            self._usb.look_again(self._chip.clock.now)
        fault = self._chip.fault
        if fault is not None and fault is not self._reported:
            self._report({"fault": fault_record(self._chip, fault, self._symbols)})
        self._reported = fault


def cells_file(flash: Path) -> Path:
    """Return the file beside the flash file that keeps cycles and wrong ECCs."""
    return flash.with_name(f"{flash.name}.cells.json")


def load_cells(cells: FlashCells, file: Path) -> None:
    """Take the state of a flash's cells from a file, if it is there; raise RigError if it is no such file."""
    if file.exists():
        try:
            cells.set_json(json.loads(file.read_text()))
        except (ValueError, AttributeError) as error:
            raise RigError(f"{file} does not have the state of a flash ({error}); delete it") from error


def place_in(symbols: Symbols, pc: int) -> str:
    """Return a code address in words, with function and source line if they are known."""
    symbol, line = symbols.name(pc), symbols.line(pc)
    return f"pc 0x{pc:08X}" + (f" in {symbol}" if symbol else "") + (f" ({line})" if line else "")


def fault_record(machine: Machine, fault: ModelFault, symbols: Symbols) -> dict[str, object]:
    """Return the record of a machine's fault: message, pc, symbol, source line, sp, which stack, address, access."""
    pc = machine.halting.read_register(15)
    symbol, line = symbols.name(pc), symbols.line(pc)
    of_thread = not machine.active_exception() and machine.core.get(c.CONTROL) & c.SPSEL
    where = f"at {place_in(symbols, pc)}"
    return {
        "message": f"{where}: {fault}", "pc": f"0x{pc:08X}", "symbol": symbol, "line": line,
        "sp": f"0x{machine.halting.read_register(13):08X}", "main_stack": not of_thread,
        "address": None if fault.address is None else f"0x{fault.address:08X}", "access": fault.access,
    }  # fmt: skip
