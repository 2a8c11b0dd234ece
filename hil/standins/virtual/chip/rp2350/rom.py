"""The RP2350's boot ROM (data sheet, 5): documented tables at their addresses, routines executed by the host.

The ROM contains tables and one undefined instruction for each routine, which the chip traps (chip.Rp2350). It has no
code of the real ROM. Modelled are the start of an image in flash and of a vector that the watchdog's scratch registers
hold, the wait for USB, and the routines that a flash algorithm and a restart call. Other routines have no entry in the
table: their look-up returns 0. The order of events is that of the published source (pico-bootrom-rp2350).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.host_routines import HostRoutines
from hil.standins.virtual.chip.rp2350 import bootram
from hil.standins.virtual.chip.rp2350.address_map import ROM_SIZE
from hil.standins.virtual.chip.rp2350.picobin import Image, NoImage, find_image
from hil.standins.virtual.chip.rp2350.usb_boot import set_usb_boot_clocks
from hil.standins.virtual.chip.rp2350.xip_setup import SIZE as SETUP_SIZE
from hil.standins.virtual.chip.rp2350.xip_setup import xip_setup

if TYPE_CHECKING:
    from hil.standins.virtual.chip.rp2350.chip import Rp2350

XIP = 0x10000000
WAIT = 0x1F0  # address at which a chip without an image waits
_ENTRIES, _TABLE, _POINTERS = 0x200, 0x300, 0x400
_INVALID_STACK = 0xF0000000  # INVALID_STACK_PTR: cores start with it
_FUNCTION, _DATA = 0x04, 0x40  # RT_FLAG_FUNC_ARM_SEC, RT_FLAG_DATA
# What is out of reset when an image starts (varm_boot_path.c, rst_mask; TRNG and SHA256 for the random numbers).
_RELEASED = ("TIMER0", "PADS_QSPI", "IO_QSPI", "IO_BANK0", "PADS_BANK0", "TRNG", "SHA256")
_FAST, _SLOW = 3, 12  # BOOTROM_SPI_CLKDIV_FLASH_BOOT_MIN, BOOTROM_SPI_CLKDIV_DEFAULT
_COMMANDS = (0x03, 0x0B, 0xBB, 0xEB)  # bootrom_xip_mode_t
_MAGIC = 0xB007C0D3  # VECTORED_BOOT_MAGIC, REBOOT_TO_MAGIC_PC
_NORMAL, _BOOTSEL, _PC_SP = 0, 2, 0xD  # types of restart
_TYPE, _NO_RETURN = 0xF, 0x100
_SHORT_MS = 10  # BOOTROM_SHORT_REBOOT_MS
_NO_USB_BOOT = 1  # BOOT_ONCE_NSBOOT_API_DISABLED, in WRITE_ONCE0
_UP_TO_ROSC = 7  # of PSM_WDSEL
_INVALID_ARGUMENT = -5 & 0xFFFFFFFF
_COPROCESSOR_7 = 3 << 14  # CPACR
_SETUP_MS = 2  # of virtual time, of the order of what the search for an image takes


class Rp2350BootRom(HostRoutines):
    """The tables and routines of the boot ROM.

    Args:
        chip: chip with this ROM.
    """

    def __init__(self, chip: Rp2350) -> None:
        super().__init__(chip.core)
        self._chip = chip
        self._serial = False  # whether execute-in-place is left, as erase and program need it
        self._named: dict[bytes, int] = {}
        for number, (code, routine) in enumerate((
            (b"", self._boot), (b"", self._look_up), (b"", self._look_up_entry), (b"IF", self._connect),
            (b"EX", self._exit_xip), (b"RE", self._erase), (b"RP", self._program), (b"FC", self._flush),
            (b"CX", self._enter_xip), (b"XM", self._select_mode), (b"RA", self.returns), (b"RB", self._reboot),
            (b"SR", lambda: self.returns(0)),
        )):  # fmt: skip
            self._routines[_ENTRIES + 4 * number] = routine
            if code:
                self._named[code] = _ENTRIES + 4 * number | 1
        self._data = {b"XF": _POINTERS, b"FD": _POINTERS + 4}

    def is_function(self, address: int) -> bool:
        """Return whether a routine that programs call stands at an address."""
        return address in self._routines and address != _ENTRIES

    def image(self) -> bytes:
        """Return the bytes of the ROM: vectors, the words at 0x10, the table, one UDF for each routine."""
        rom = bytearray(ROM_SIZE)
        boot, look_up, look_up_entry = (_ENTRIES + 4 * i | 1 for i in range(3))
        struct.pack_into("<4I", rom, 0, _INVALID_STACK, boot, WAIT | 1, WAIT | 1)
        rom[0x10:0x14] = b"Mu" + bytes([2, 2])
        struct.pack_into("<3H", rom, 0x14, _TABLE, look_up, look_up_entry)
        table = b"".join(code + struct.pack("<2H", flag, value) for code, flag, value in self._entries())
        rom[_TABLE : _TABLE + len(table)] = table
        struct.pack_into("<2I", rom, _POINTERS, bootram.BASE, bootram.BASE + bootram.SIZE - 4)
        self.put_code(rom, 0, WAIT)
        return bytes(rom)

    def _entries(self) -> list[tuple[bytes, int, int]]:
        functions = [(code, _FUNCTION, value) for code, value in self._named.items()]
        return functions + [(code, _DATA, value) for code, value in self._data.items()]

    # boot

    def _boot(self) -> None:
        """Start what is to be started after a reset of core 0 (s_varm_crit_core0_boot_path_entry_p2)."""
        chip = self._chip
        chip.bus.write(0xE000ED88, 4, _COPROCESSOR_7)
        chip.redundancy.reset(salted=True)
        vector = self._take_vector()
        self._release()
        self._connect_pads()
        chip.flash.leave_continuous()
        chip.clock.wait_until(chip.clock.now + _SETUP_MS * 10**9)
        if vector is not None and vector[0] == _BOOTSEL:
            self._wait("the program has asked for the boot loader")
        elif vector is not None:
            self._start(Image(self._chip.scb.value["VTOR"], vector[1], vector[2]))
        else:
            chip.qmi.select_read(0xEB, _FAST)
            try:
                self._start(find_image(chip.flash.array.tobytes(), XIP))
            except NoImage as why:
                self._wait(str(why))

    def _take_vector(self) -> tuple[int, int, int] | None:
        """Return (type, pc, sp) that a restart has left in the watchdog's scratch registers, and clear its magic."""
        value = self._chip.watchdog.value
        magic, check, stack, pc = (value[f"SCRATCH{i}"] for i in range(4, 8))
        value["SCRATCH4"] = 0
        if magic != _MAGIC or check != (pc ^ -_MAGIC) & 0xFFFFFFFF:
            return None
        return (stack, 0, 0) if pc == _MAGIC else (_PC_SP, pc, stack)

    def _start(self, image: Image) -> None:
        chip, core = self._chip, self._core
        setup = xip_setup(0xEB, _FAST)
        core.poke(bootram.BASE, setup.ljust(SETUP_SIZE, b"\0"))
        chip.boot_ram.value["WRITE_ONCE0"] |= _NO_USB_BOOT
        chip.scb.value["VTOR"] = image.vectors
        chip.set_stack_limit(image.limit)
        core.set(c.SP, image.stack & ~3)
        core.set(c.LR, 0)
        core.set(c.PC, image.entry | 1)

    def _wait(self, why: str) -> None:
        """Wait in USB boot, in the Non-secure state.

        After a reset that has not reset the clocks or the boot RAM, the ROM first restarts the chip by the watchdog
        (varm_boot_path.c, before s_varm_crit_nsboot_start).
        """
        chip = self._chip
        partly = chip.watchdog.value["REASON"] and not chip.psm.value["WDSEL"] & _UP_TO_ROSC
        if partly or chip.clocks.value["CLK_REF_CTRL"] or chip.boot_ram.value["WRITE_ONCE0"] & _NO_USB_BOOT:
            chip.log(f"boot ROM: {why}: the chip restarts into USB boot")
            self._arm_watchdog(_BOOTSEL, _SHORT_MS, 0, 0)
        else:
            chip.log(f"boot ROM: {why}: the chip waits in USB boot")
            set_usb_boot_clocks(
                lambda address, value: chip.bus.write(address, 4, value),
                lambda ps: chip.clock.wait_until(chip.clock.now + ps),
            )
            chip.scb.value["DSCSR"] &= ~(1 << 16)
        self._core.set(c.SP, bootram.BASE + bootram.SIZE)
        self._core.set(c.LR, WAIT)
        self._core.set(c.PC, WAIT | 1)

    def _release(self) -> None:
        for name in _RELEASED:
            self._chip.resets.pulse(name)

    def _connect_pads(self) -> None:
        """Connect the flash: function XIP and no isolation (s_varm_api_crit_connect_internal_flash)."""
        chip = self._chip
        chip.resets.pulse("IO_QSPI")
        chip.resets.pulse("PADS_QSPI")
        for register in chip.qspi_bank.REGISTERS[5::2]:
            chip.qspi_bank.value[register.name] = 0
        for register in chip.qspi_pads.REGISTERS[1:]:
            chip.qspi_pads.value[register.name] &= ~(1 << 8)
        chip.window_changed()

    # routines

    def _find(self) -> tuple[int, int] | None:
        """Return the address of the data and the data of the entry that r0 (code) and r1 (flags) ask for, or None."""
        code, flags = (self.argument(0) & 0xFFFF).to_bytes(2, "little"), self.argument(1)
        for number, (name, flag, value) in enumerate(self._entries()):
            if name == code and flag & flags:
                return _TABLE + 6 * number + 4, value
        return None

    def _look_up(self) -> None:
        found = self._find()
        self.returns(0 if found is None else found[1])

    def _look_up_entry(self) -> None:
        found = self._find()
        self.returns(0 if found is None else found[0])

    def _connect(self) -> None:
        self._connect_pads()
        self.returns()

    def _exit_xip(self) -> None:
        if self._chip.qspi_unconnected():
            raise ModelFault("flash_exit_xip of the boot ROM is called before connect_internal_flash")
        self._chip.flash.leave_continuous()
        self._chip.qmi.select_read(0x03, _SLOW)
        self._serial = True
        self.returns()

    def _need_serial(self, name: str) -> None:
        if not self._serial:
            raise ModelFault(f"{name} of the boot ROM is called before flash_exit_xip")

    def _erase(self) -> None:
        self._need_serial("flash_range_erase")
        self._chip.flash.erase(self.argument(0), self.argument(1), self.argument(2))
        self._chip.note_stale_cache(True)
        self.returns()

    def _program(self) -> None:
        self._need_serial("flash_range_program")
        data = self._core.peek(self.argument(1), self.argument(2))
        self._chip.flash.program(self.argument(0), data)
        self._chip.note_stale_cache(True)
        self.returns()

    def _flush(self) -> None:
        self._chip.note_stale_cache(False)
        self.returns()

    def _enter_xip(self) -> None:
        self._serial = False
        self._chip.qmi.select_read(0x03, _SLOW)
        self.returns()

    def _select_mode(self) -> None:
        mode = self.argument(0)
        if mode >= len(_COMMANDS):
            raise ModelFault(f"flash_select_xip_read_mode of the boot ROM is called with mode {mode}")
        self._serial = False
        self._chip.qmi.select_read(_COMMANDS[mode], self.argument(1) & 0xFF)
        self.returns()

    def _reboot(self) -> None:
        """Let the watchdog restart the chip after r1 milliseconds (s_varm_hx_reboot)."""
        flags, delay, first, second = (self.argument(i) for i in range(4))
        kind = flags & _TYPE
        if kind not in (_NORMAL, _BOOTSEL, _PC_SP) or flags & ~(_TYPE | _NO_RETURN | 0x30):
            self.returns(_INVALID_ARGUMENT)
            return
        self._arm_watchdog(kind, delay, first, second)
        self.returns(0)
        if flags & _NO_RETURN:
            self._core.set(c.PC, WAIT | 1)

    def _arm_watchdog(self, kind: int, delay: int, first: int, second: int) -> None:
        """Let the watchdog restart the chip after `delay` milliseconds, with what is to be started in its registers."""
        value, write = self._chip.watchdog.value, self._chip.bus.write
        write(0x400D8000, 4, 0)
        write(0x40018008, 4, 0x1FFFFFE)
        if kind != _PC_SP:
            value["SCRATCH2"], value["SCRATCH3"] = first, second
            first, second = _MAGIC, kind
        value["SCRATCH4"] = 0 if kind == _NORMAL else _MAGIC
        value["SCRATCH5"], value["SCRATCH6"], value["SCRATCH7"] = (first ^ -_MAGIC) & 0xFFFFFFFF, second, first
        write(0x400D8004, 4, min(delay * 1000, 0xFFFFFF))
        if not self._chip.ticks.hz("WATCHDOG"):
            write(0x40108034, 4, 12)
            write(0x40108030, 4, 1)
        write(0x400D8000, 4, 1 << 30)
