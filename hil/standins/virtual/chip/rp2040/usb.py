"""USB controller of the RP2040 as a device at full speed (data sheet, 4.1; registers: usb.h of pico-sdk).

Not modelled: host mode, isochronous endpoints, direct control of the lines, VBUS detection by a pin. A device that
forces VBUS_DETECT by USB_PWR is connected, as on a Raspberry Pi Pico.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.registers import WORD
from hil.standins.virtual.chip.rp2.apb import ApbBlock
from hil.standins.virtual.chip.rp2040 import usb_ram as ram
from hil.standins.virtual.chip.rp2040.usb_registers import REGISTERS
from hil.standins.virtual.chip.rp2040.usb_sie import SETUP_REC, Sie
from hil.standins.virtual.usb.wire import Handshake, Packet, Speed, Token, UsbBus

BASE = 0x50110000
USB_HZ = 48_000_000  # clk_usb (2.15.3.3)
# Bits of SIE_STATUS, and the interrupt that each raises (INTR in usb.h).
BUS_RESET, CONNECTED, RESUME, SUSPENDED, VBUS_DETECTED = 1 << 19, 1 << 16, 1 << 11, 1 << 4, 1 << 0
LINE_J = 1 << 2
_RAISED = tuple(
    (1 << bit, 1 << raised)
    for bit, raised in (
        (18, 3), (31, 5), (27, 6), (26, 7), (25, 8), (24, 9), (29, 10), (0, 11), (19, 12), (11, 15), (17, 16)
    )
)  # fmt: skip
BUFF_STATUS_INT, CONN_DIS_INT, SUSPEND_INT = 1 << 4, 1 << 13, 1 << 14
SOF_INT, ABORT_DONE_INT, STALL_NAK_INT = 1 << 17, 1 << 18, 1 << 19


@dataclass(frozen=True)
class UsbWiring:
    """What the chip connects to its USB controller.

    Attributes:
        usb_hz: returns clk_usb in Hz, 0 while it is off.
        settle: see `UsbRam`: a cycle of clk_usb in whole cycles of clk_sys.
        store_time: `now` of `UsbRam`.
        drive: called with the level of the interrupt line when it may have changed.
        powered: returns whether the chip has power.
        cable: called with whether a cable is plugged in, which brings 5 V.
    """

    usb_hz: Callable[[], int]
    settle: Callable[[], int]
    store_time: Callable[[int, bool], int]
    drive: Callable[[bool], None]
    powered: Callable[[], bool]
    cable: Callable[[bool], None]


class UsbController(ApbBlock):
    """The USB controller; it is a `UsbFunction`.

    Args:
        wiring: what the chip connects to it.
    """

    REGISTERS = REGISTERS

    def __init__(self, wiring: UsbWiring) -> None:
        super().__init__("USB", BASE)
        self._wiring = wiring
        self._bus: UsbBus | None = None
        self.memory = ram.UsbRam(self._held, wiring.store_time, wiring.settle, self._changed)
        self._sie = Sie(self.memory, self)
        self._in_reset = self._suspended = self._pulls_up = False
        self._seen_frame = -1  # number of the frame that SOF_RD has shown
        self._latched = 0  # interrupts of changes, until they are cleared
        self.on_write("MAIN_CTRL", "USB_MUXING", "USB_PWR", then=self._registers_changed)
        self.on_write("EP_STALL_ARM", "INTE", "INTF", then=self._changed)

    def reset(self) -> None:
        super().reset()
        self._latched, self._suspended = 0, False
        self._sie.reset()
        self._registers_changed()

    def _held(self) -> str:
        return "" if self.clocked else self.off.format(self.clock_name)

    def _registers_changed(self) -> None:
        self._pulls_up = not self.why_unseen()
        self._changed()

    def clock_changed(self) -> None:
        """Apply a change of clk_usb."""
        if (not self.why_unseen()) != self._pulls_up:
            self._registers_changed()

    def _changed(self) -> None:
        self._refresh()
        if self._bus is not None:
            self._bus.changed()

    # the cable (UsbFunction)

    def connect(self, bus: UsbBus | None) -> None:
        self._bus = bus
        self._in_reset = self._suspended = False
        self._wiring.cable(bus is not None)
        self._refresh()

    @property
    def pulls_up(self) -> bool:
        return self._pulls_up and self._wiring.powered()

    def why_unseen(self) -> str:
        """Return why a host does not see this device now, or an empty text."""
        if not self.field("SIE_CTRL", "PULLUP_EN"):
            return "SIE_CTRL.PULLUP_EN is 0"
        if self._wiring.usb_hz() != USB_HZ:
            return f"clk_usb is {self._wiring.usb_hz()} Hz, not {USB_HZ}"
        for register, names in (
            ("MAIN_CTRL", ("CONTROLLER_EN",)), ("USB_MUXING", ("TO_PHY", "SOFTCON")),
            ("USB_PWR", ("VBUS_DETECT", "VBUS_DETECT_OVERRIDE_EN")),
        ):  # fmt: skip
            for name in names:
                if not self.field(register, name):
                    return f"{register}.{name} is 0"
        return "SIE_CTRL.TRANSCEIVER_PD is 1" if self.field("SIE_CTRL", "TRANSCEIVER_PD") else ""

    @property
    def chirps(self) -> bool:
        return False

    @property
    def wants_frames(self) -> bool:
        return bool(self.value["INTE"] & SOF_INT)

    def token(self, kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        return self._sie.token(kind, address, endpoint)

    def data(self, packet: Packet) -> Handshake | None:
        return self._sie.data(packet)

    def handshake(self, acked: bool) -> None:
        self._sie.handshake(acked)

    def frame(self) -> None:
        self._refresh()

    def bus_reset(self, on: bool, _speed: Speed) -> None:
        self._in_reset = on
        self._latched |= CONN_DIS_INT
        if on:
            self._suspended = False
            self.value["SIE_STATUS"] |= BUS_RESET
            self._sie.abandon()
        self._refresh()

    def suspend(self, on: bool) -> None:
        self._suspended = on
        self._latched |= SUSPEND_INT
        if not on:
            self.value["SIE_STATUS"] |= RESUME
        self._refresh()

    # the engine (SieRegisters)

    def listens(self, address: int) -> bool:
        return self.pulls_up and not self._in_reset and address == self.field("ADDR_ENDP", "ADDRESS")

    def aborted(self, index: int) -> bool:
        return bool(self.value["EP_ABORT"] >> index & 1)

    def stall_armed(self, index: int) -> bool:
        return bool(self.value["EP_STALL_ARM"] >> index & 1)

    def control_of_ep0(self) -> int:
        """Return the settings of endpoint 0 as those of any other in its control word."""
        control = ram.ENABLE
        for name, bit in (
            ("EP0_DOUBLE_BUF", ram.DOUBLE), ("EP0_INT_1BUF", ram.PER_BUFFER), ("EP0_INT_2BUF", ram.PER_TWO),
            ("EP0_INT_NAK", ram.ON_NAK), ("EP0_INT_STALL", ram.ON_STALL),
        ):  # fmt: skip
            control |= bit if self.field("SIE_CTRL", name) else 0
        return control

    def take_setup(self) -> None:
        self.value["EP_STALL_ARM"] = 0
        self.flag(SETUP_REC)

    def flag(self, bits: int) -> None:
        self.value["SIE_STATUS"] |= bits
        self._refresh()

    def buffer_done(self) -> None:
        self._refresh()

    def refused(self, index: int) -> None:
        self.value["EP_STATUS_STALL_NAK"] |= 1 << index
        self._refresh()

    def ended(self) -> None:
        self._note_aborts()
        self._refresh()

    def _note_aborts(self) -> None:
        """Set EP_ABORT_DONE for every aborted endpoint that has no transaction on the bus."""
        busy = 0 if self._sie.open_index is None else 1 << self._sie.open_index
        self.value["EP_ABORT_DONE"] |= self.value["EP_ABORT"] & ~busy

    # interrupts

    def _raw(self) -> int:
        status, value = self.read_sie_status(self.value["SIE_STATUS"]), self.value
        raw = self._latched | sum(raised for bit, raised in _RAISED if status & bit)
        raw |= BUFF_STATUS_INT if any(self._sie.done) else 0
        raw |= ABORT_DONE_INT if value["EP_ABORT_DONE"] else 0
        raw |= STALL_NAK_INT if value["EP_STATUS_STALL_NAK"] else 0
        runs = self._bus is not None and self.pulls_up and not self._suspended and not self._in_reset
        return raw | (SOF_INT if runs and self._frame() != self._seen_frame else 0)

    def _refresh(self) -> None:
        asking = self._raw() & self.value["INTE"] | self.value["INTF"]
        self._wiring.drive(bool(asking and self.clocked))

    def read_intr(self, _value: int) -> int:
        return self._raw()

    def read_ints(self, _value: int) -> int:
        return self._raw() & self.value["INTE"] | self.value["INTF"]

    # registers

    def _frame(self) -> int:
        return 0 if self._bus is None else self._bus.frame_number()

    def read_sof_rd(self, _value: int) -> int:
        self._seen_frame = self._frame()
        self._refresh()
        return self._seen_frame

    def write_addr_endp(self, _old: int, new: int, _acting: int) -> None:
        self.value["ADDR_ENDP"] = new

    def write_sie_ctrl(self, _old: int, new: int, acting: int) -> None:
        self.value["SIE_CTRL"] = new
        if acting and self._suspended and self._bus is not None:
            self._bus.wake_up()
        self._registers_changed()

    def read_sie_status(self, value: int) -> int:
        """Return SIE_STATUS with the levels of the cable."""
        forced = self.field("USB_PWR", "VBUS_DETECT_OVERRIDE_EN") and self.field("USB_PWR", "VBUS_DETECT")
        here = self._bus is not None and self.pulls_up and not self._in_reset
        value |= VBUS_DETECTED if forced else 0
        value |= CONNECTED | LINE_J if here else 0
        return value | (SUSPENDED if self._suspended else 0)

    def write_sie_status(self, _old: int, new: int, acting: int) -> None:
        self.value["SIE_STATUS"] = new
        self._latched &= ~((SUSPEND_INT if acting & SUSPENDED else 0) | (CONN_DIS_INT if acting & CONNECTED else 0))
        self._refresh()

    def read_buff_status(self, _value: int) -> int:
        return sum(1 << index for index, done in enumerate(self._sie.done) if done)

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self._written(offset, value)

    def change(self, offset: int, operation: Callable[[int, int], int], bits: int) -> None:
        super().change(offset, operation, bits)
        self._written(offset, bits)

    def _written(self, offset: int, value: int) -> None:
        """Clear one completed buffer of each endpoint in BUFF_STATUS: a second one sets the bit again at once."""
        if offset == 0x58:
            for index, done in enumerate(self._sie.done):
                if value >> index & 1 and done:
                    done.popleft()
            self._refresh()

    def read_buff_cpu_should_handle(self, _value: int) -> int:
        return sum(1 << index for index, done in enumerate(self._sie.done) if done and done[0])

    def write_ep_abort(self, _old: int, new: int, _acting: int) -> None:
        self.value["EP_ABORT"] = new & WORD
        self._note_aborts()
        self._changed()

    def write_ep_abort_done(self, _old: int, new: int, _acting: int) -> None:
        self.value["EP_ABORT_DONE"] = new
        self._note_aborts()
        self._refresh()

    def write_ep_status_stall_nak(self, _old: int, new: int, _acting: int) -> None:
        self.value["EP_STATUS_STALL_NAK"] = new
        self._refresh()
