"""USB_OTG1 of i.MX RT1062 as a device at full and high speed (IMXRT1060RM, USB; MIMXRT1062.xml).

It is a controller that LPC43xx has too; UM10503, chapter "USB0 Host/Device/OTG controller", describes it and could be
read in parts. What that leaves open is modelled as follows (`unverified`): a bus reset keeps ENDPTCTRL and the data
toggles, ENDPTCOMPLETE is set by a descriptor without IOC too, a packet that is too long gets NAK. Not modelled: host
mode, isochronous endpoints, NYET, test modes, timers, the low-power clock of the PHY, wake-up by the cable.
"""

from __future__ import annotations

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.usb_device import Device
from hil.standins.virtual.chip.imxrt1062.usb_port import DEVICE_MODE, RS, UsbPort, UsbWiring
from hil.standins.virtual.chip.imxrt1062.usb_registers import ENDPOINTS
from hil.standins.virtual.usb.wire import Handshake, Packet, Speed, Token

RESET_PS = 1_000_000  # of a reset by USBCMD.RST; modelled
RST, ATDTW, SUTW = 1 << 1, 1 << 12, 1 << 13
UI, UEI, PCI, URI, SLI = 1 << 0, 1 << 1, 1 << 2, 1 << 6, 1 << 8
_MODE, _TOGGLE_RESETS = 3, (1 << 6, 1 << 22)
LIST_ALIGNMENT = 2048
ADVANCE, ADDRESS_LOW = 1 << 24, 25
SLOM = 1 << 3
_READABLE_WITHOUT_PHY = 0x80  # offsets below are identification


class UsbController(UsbPort):
    """The controller; it is a `UsbFunction`, and a source of events (`EventSource`).

    Args:
        wiring: what the chip connects to it.
    """

    def __init__(self, wiring: UsbWiring) -> None:
        super().__init__(wiring)
        self._clock = wiring.clock
        self._device = Device(wiring.memory, self)
        self._lists = False  # whether ENDPTLISTADDR was written
        self._reset_ends: int | None = None  # of a reset by USBCMD.RST
        self._staged = 0  # address that is taken at the next acknowledged IN of endpoint 0
        for number in range(ENDPOINTS):
            self._writers[f"ENDPTCTRL{number}"] = lambda _old, new, acting, number=number: self._control(
                number, new, acting
            )

    def reset(self) -> None:
        self._forget()
        self._reset_ends = None
        self._changed()

    def _forget(self) -> None:
        """Set the registers and all state to what they are after a reset of the controller."""
        super().reset()
        self._device.reset()
        self._lists = False
        self._staged = 0

    # time

    def update(self, now: int) -> None:
        if self._reset_ends is not None and now >= self._reset_ends:
            self._reset_ends = None
            self.value["USBCMD"] &= ~RST
        if self._device.settle(now) and self._bus is not None:
            self._bus.changed()

    def next_event(self) -> int | None:
        return self._device.next_event if self._reset_ends is None else self._reset_ends

    # the cable (UsbFunction)

    def token(self, kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        self.update(self._clock.now)
        if not self.pulls_up or self._in_reset or address != self.value["DEVICEADDR"] >> ADDRESS_LOW:
            self._device.abandon()
            return None
        return self._device.token(kind, endpoint)

    def data(self, packet: Packet) -> Handshake | None:
        return self._device.data(packet)

    def handshake(self, acked: bool) -> None:
        self._device.handshake(acked)

    def bus_reset(self, on: bool, speed: Speed) -> None:
        self._in_reset = on
        if on:
            self._suspended, self._staged = False, 0
            self.value["DEVICEADDR"] = 0
            self.value["USBSTS"] |= URI
            self._device.cancel_all()
        else:
            self._speed = speed
            self.value["USBSTS"] |= PCI
        self._refresh()

    def suspend(self, on: bool) -> None:
        self._suspended = on
        self.value["USBSTS"] |= SLI if on else PCI
        self._refresh()

    # the device (DeviceRegisters)

    @property
    def heads(self) -> int:
        return self.value["ENDPTLISTADDR"]

    @property
    def holds_setup(self) -> bool:
        return bool(self.value["ENDPTSETUPSTAT"] & 1)

    @property
    def locks_out(self) -> bool:
        return not self.value["USBMODE"] & SLOM

    @property
    def now(self) -> int:
        return self._clock.now

    def lane(self, number: int, is_in: bool) -> int:
        return self.value[f"ENDPTCTRL{number}"] >> (16 if is_in else 0) & 0xFFFF

    def take_setup(self) -> None:
        self.value["ENDPTSETUPSTAT"] |= 1
        self.value["ENDPTCTRL0"] &= ~0x10001
        self.value["USBCMD"] &= ~SUTW
        self._unstage(False)
        self.flag(UI)

    def took_endpoint_0(self, is_in: bool) -> None:
        self._unstage(is_in)

    def _unstage(self, taken: bool) -> None:
        """End a staged address: it is taken when an IN of endpoint 0 is acknowledged (DEVICEADDR, USBADRA)."""
        staged = self.value["DEVICEADDR"] & ADVANCE
        if staged and taken:
            self.value["DEVICEADDR"] = self._staged << ADDRESS_LOW
        self.value["DEVICEADDR"] &= ~ADVANCE

    def retired(self, bit: int, interrupts: bool) -> None:
        self.value["ENDPTCOMPLETE"] |= bit
        self.value["USBCMD"] &= ~ATDTW
        self.flag(UI if interrupts else 0)

    def failed(self) -> None:
        self.flag(UEI)

    def refused(self, bit: int) -> None:
        self.value["ENDPTNAK"] |= bit
        self._refresh()

    # registers

    def read(self, offset: int, size: int) -> int:
        self._check(offset, "read")
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._check(offset, "write")
        if size != 4:
            register = self._register(offset, size, "write")
            raise self._fault(register, "write", f"{size} bytes wide; write a word")
        super().write(offset, size, value)
        self._after(offset, value)

    def _check(self, offset: int, access: str) -> None:
        """Fault if the registers have no clock from the PHY, and settle what is due."""
        if offset >= _READABLE_WITHOUT_PHY and self.clocked and (why := self._wiring.no_clock()):
            raise self._fault(self._register(offset, 4, access), access, f"the controller has no clock: {why}")
        self.update(self._clock.now)
        if self._reset_ends is not None and access == "write":
            raise self._fault(
                self._register(offset, 4, access), access, "the controller is in reset; wait until USBCMD.RST reads 0"
            )

    def write_usbcmd(self, old: int, new: int, _acting: int) -> None:
        if new & RST:
            if old & new & RS and self._bus is not None and self.pulls_up:
                raise ModelFault(
                    "USB1_USBCMD.RST is set while the device is attached, whose effect on the host is undefined; flush "
                    "the endpoints and clear RS first"
                )
            self._forget()
            self.value["USBCMD"] |= RST
            self._reset_ends = self._clock.now + RESET_PS
            self._changed()
            return
        if new & ~old & RS and self.field("USBMODE", "CM") == DEVICE_MODE and not self._lists:
            raise ModelFault("USB1_USBCMD.RS is set before USB1_ENDPTLISTADDR is written")
        self.value["USBCMD"] = new
        if (old ^ new) & RS:
            self._device.cancel_all()
            self._changed()

    def write_deviceaddr(self, old: int, new: int, _acting: int) -> None:
        if new & ADVANCE:
            self._staged = new >> ADDRESS_LOW
            new = old | ADVANCE
        self.value["DEVICEADDR"] = new

    def write_endptlistaddr(self, _old: int, new: int, _acting: int) -> None:
        if new % LIST_ALIGNMENT:
            raise ModelFault(f"USB1_ENDPTLISTADDR is 0x{new:08X}, which is not aligned to {LIST_ALIGNMENT} bytes")
        self.value["ENDPTLISTADDR"] = new
        self._lists = True

    def write_usbmode(self, old: int, new: int, _acting: int) -> None:
        mode = new & _MODE
        if old & _MODE and mode != old & _MODE:
            raise ModelFault("USB1_USBMODE.CM is written twice; reset the controller (USBCMD.RST) in between")
        if mode not in (0, DEVICE_MODE):
            raise ModelFault(f"USB1_USBMODE.CM is {mode}: this model has device mode (2) alone")
        self.value["USBMODE"] = new
        self._changed()

    def write_endptprime(self, _old: int, _new: int, acting: int) -> None:
        if acting and not (self._lists and self.field("USBMODE", "CM") == DEVICE_MODE):
            raise ModelFault("USB1_ENDPTPRIME is written before USBMODE.CM and ENDPTLISTADDR")
        self._device.prime(acting)

    def read_endptprime(self, _value: int) -> int:
        return self._device.priming

    def write_endptflush(self, _old: int, _new: int, acting: int) -> None:
        self._device.flush(acting)

    def read_endptflush(self, _value: int) -> int:
        return self._device.flushing

    def read_endptstat(self, _value: int) -> int:
        return self._device.ready

    def _control(self, number: int, new: int, acting: int) -> None:
        """Write ENDPTCTRLn."""
        for side, reset in enumerate(_TOGGLE_RESETS):
            if acting & reset:
                self._device.endpoints[2 * number + side].toggle = 0
        self.value[f"ENDPTCTRL{number}"] = new if number else new | self._named["ENDPTCTRL0"].reset
        self._changed()
