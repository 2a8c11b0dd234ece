"""The port of the USB controller of i.MX RT1062: cable, speed, frames, flags and their interrupt (IMXRT1060RM, USB)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.imxrt1062.usb_endpoints import UsbMemory
from hil.standins.virtual.chip.imxrt1062.usb_registers import REGISTERS
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.usb.wire import HIGH, Speed, UsbBus

BASE, SIZE = 0x402E0000, 0x200
DEVICE_MODE = 2
RS = 1 << 0  # USBCMD
SRI, NAKI = 1 << 7, 1 << 16  # USBSTS
CCS, FPR, SUSP, PR, HSP, PFSC = 1 << 0, 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 24
_CHOSEN, _FLAGS = PFSC | 7 << 20, 1 << 1 | 1 << 3 | 1 << 5  # of PORTSC1: what a program sets, and clears by 1
_PORT_ENABLED, _PSPD_HIGH, _PTW = 1 << 2, 2 << 26, 1 << 28
_USBSTS = 0x144
_AVV, _ASV, _BSV, _BSE = (1 << bit for bit in range(9, 13))  # OTGSC; 8 bits higher their changes, 16 the interrupts
_SENSED, _CHANGE, _ENABLE = _AVV | _ASV | _BSV | _BSE, 8, 16


@dataclass(frozen=True)
class UsbWiring:
    """What the chip connects to the controller.

    Attributes:
        clock: virtual time.
        memory: memory behind the controller.
        no_clock: returns why PLL_USB1 does not clock PHY and controller, or an empty text.
        no_phy: returns why the PHY does not work, or an empty text.
        drive: called with the level of the interrupt line when it may have changed.
        powered: returns whether the chip has power.
        plugged: called when a cable is plugged in: the controller has events in virtual time from then on.
    """

    clock: Clock
    memory: UsbMemory
    no_clock: Callable[[], str]
    no_phy: Callable[[], str]
    drive: Callable[[bool], None]
    powered: Callable[[], bool]
    plugged: Callable[[], None]


class UsbPort(Block):
    """The port.

    Args:
        wiring: what the chip connects to the controller.
    """

    SIZES = (1, 2, 4)
    REGISTERS = REGISTERS

    def __init__(self, wiring: UsbWiring) -> None:
        super().__init__("USB1", BASE)
        self._wiring = wiring
        self._bus: UsbBus | None = None
        self._speed: Speed | None = None  # since the last bus reset
        self._in_reset = self._suspended = False
        self._seen_frame = -1
        self.on_write("ENDPTNAK", "ENDPTNAKEN", "OTGSC", "USBSTS", then=self._refresh)
        self.on_write("USBINTR", then=self._changed)

    def reset(self) -> None:
        super().reset()
        self._sense()
        self._suspended = False
        self._speed = None

    def clock_changed(self) -> None:
        """Apply a change of a clock, the PHY or its supply."""
        self._changed()

    def _changed(self) -> None:
        self._refresh()
        if self._bus is not None:
            self._bus.changed()

    # the cable (a part of UsbFunction)

    def connect(self, bus: UsbBus | None) -> None:
        self._bus = bus
        self._in_reset = self._suspended = False
        if bus is not None:
            self._wiring.plugged()
        self._sense()
        self.value["OTGSC"] |= _SENSED << _CHANGE
        self._refresh()

    @property
    def is_plugged(self) -> bool:
        return self._bus is not None

    def _sense(self) -> None:
        """Let OTGSC show the voltage of the cable."""
        levels = _BSE if self._bus is None else _AVV | _ASV | _BSV
        self.value["OTGSC"] = self.value["OTGSC"] & ~_SENSED | levels

    @property
    def pulls_up(self) -> bool:
        return not self.why_unseen()

    def why_unseen(self) -> str:
        """Return why a host does not see this device now, or an empty text."""
        if not self.value["USBCMD"] & RS:
            return "USBCMD.RS is 0"
        if self.field("USBMODE", "CM") != DEVICE_MODE:
            return "USBMODE.CM is not device mode"
        if not self._wiring.powered():
            return "the chip has no power"
        if not self.clocked:
            return self.off.format(self.clock_name)
        return self._wiring.no_clock() or self._wiring.no_phy()

    @property
    def chirps(self) -> bool:
        return not self.value["PORTSC1"] & PFSC

    @property
    def wants_frames(self) -> bool:
        return bool(self.value["USBINTR"] & SRI)

    def frame(self) -> None:
        self._refresh()

    # flags and the interrupt

    def flag(self, bits: int) -> None:
        """Set flags of USBSTS."""
        self.value["USBSTS"] |= bits
        self._refresh()

    def _status(self) -> int:
        value = self.value["USBSTS"]
        value |= NAKI if self.value["ENDPTNAK"] & self.value["ENDPTNAKEN"] else 0
        runs = self._bus is not None and self._speed is not None and not self._suspended and not self._in_reset
        return value | (SRI if runs and self.pulls_up and self._microframes() != self._seen_frame else 0)

    def _refresh(self) -> None:
        session = self.value["OTGSC"]
        asking = self._status() & self.value["USBINTR"] or session >> _CHANGE & session >> _ENABLE & _SENSED
        self._wiring.drive(bool(asking and self.clocked))

    def _after(self, offset: int, value: int) -> None:
        """Clear SRI, which is no stored bit."""
        if offset == _USBSTS and value & SRI:
            self._seen_frame = self._microframes()
            self._refresh()

    def read_usbsts(self, _value: int) -> int:
        return self._status()

    # registers

    def _microframes(self) -> int:
        return 0 if self._bus is None else 8 * self._bus.frame_number() + self._bus.microframe()

    def read_frindex(self, _value: int) -> int:
        return self._microframes()

    def read_portsc1(self, value: int) -> int:
        here = self._bus is not None and self.pulls_up
        value = value & (_CHOSEN | _FLAGS) | _PTW
        value |= (CCS if here else 0) | (PR if self._in_reset else 0) | (SUSP if self._suspended else 0)
        if here and self._speed is not None and not self._in_reset:
            value |= _PORT_ENABLED | (HSP | _PSPD_HIGH if self._speed is HIGH else 0)
        return value

    def write_portsc1(self, _old: int, new: int, _acting: int) -> None:
        if new & FPR and self._suspended and self._bus is not None:
            self._bus.wake_up()
        self.value["PORTSC1"] = new & (_CHOSEN | _FLAGS)
        self._changed()
