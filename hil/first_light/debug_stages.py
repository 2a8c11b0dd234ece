"""Stages that only look: the probe, the debug port and its locks, the chip; and reset and halt."""

from __future__ import annotations

from hil.dut import ChipUnreachable
from hil.errors import Blocked, DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.stage import Danger, NotPossible, Seen, Stage

CPUID = 0xE000_ED00  # ARM DDI 0403E.e, B3.2.3
IDENTITY = "identity"  # stage of `Blocked` by which hil.targets.probe refuses another chip


class ProbeAnswers(Stage):
    """The debug probe, without a look at the chip."""

    name = "probe"
    assumes = "the probe that rig.toml names is attached and speaks"
    expected = "its vendor, its product and the version of its firmware"
    danger = Danger.READS
    gate = True

    def run(self, on: BringUp) -> Seen:
        """Ask the probe what it is."""
        if not on.dut.has_probe:
            raise NotPossible(f"{on.board.name} has no debug probe here: name one in rig.toml (`probe`).")
        about = on.dut.about_probe()
        on.figures["probe"] = {"vendor": about.vendor, "product": about.product, "firmware": about.firmware}
        by_hand = not about.firmware and not on.is_simulated
        old = " Look its version up by hand: old ones corrupt data (docs/boards.md)." if by_hand else ""
        return Seen(str(about), f"the probe answers.{old}")


class DebugPort(Stage):
    """The debug port, and the protections that are read through it or beside it."""

    name = "debug port"
    assumes = "the chip has power, the probe is wired to it, and no protection is on"
    expected = "the debug port answers, and every lock reads as open"
    danger = Danger.READS
    gate = True
    needs = ("probe",)

    def run(self, on: BringUp) -> Seen:
        """Connect, and read the locks."""
        try:
            self._connect(on)
        except Blocked as blocked:
            if blocked.stage != IDENTITY:
                raise
            on.refused = blocked
            return Seen("the debug port answers", "whose chip it is, the next stage says; its locks were not read.")
        read = [self._read(on, lock.register, lock.address, lock.mask, lock.open) for lock in on.facts.locks]
        if not read:
            return Seen("the debug port answers", "it is not locked: it was not refused, and no lock is to be read.")
        return Seen("; ".join(read), "the debug port answers, and nothing that was read protects the chip.")

    @staticmethod
    def _connect(on: BringUp) -> None:
        if on.dut.endpoints.probe is not None:
            on.dut.connect()
        else:
            _ = on.probe.look()

    @staticmethod
    def _read(on: BringUp, register: str, address: int, mask: int, is_open: int) -> str:
        data = on.probe.read_ram(address, 4)
        if data is None:
            return f"{register} cannot be read"
        word = int.from_bytes(data, "little") & mask
        if word != is_open:
            raise DeviceFault(
                f"{register} is 0x{word:X}, and 0x{is_open:X} is open: the chip is protected. Nothing was erased. "
                "Lifting the protection erases the flash, and the highest level can never be lifted: decide it by hand "
                "with the vendor's tool."
            )
        return f"{register} is 0x{word:X}, open"


class TargetIdentity(Stage):
    """The chip is the board's."""

    name = "target identity"
    assumes = "the chip at the probe is the one of the catalogue"
    expected = "the identity register has the value of the catalogue; which revision it is, is told"
    danger = Danger.READS
    gate = True
    needs = ("debug port",)

    def run(self, on: BringUp) -> Seen:
        """Read identity, core and revision."""
        if on.refused is not None:
            raise on.refused
        cpuid = on.registers.word(CPUID)
        said = [f"CPUID 0x{cpuid:08X}"]
        identity, revision = on.board.identity, on.facts.revision
        if identity is not None:
            word = on.registers.word(identity.address)
            said.append(f"{identity.register} 0x{word & identity.mask:X}")
            if word & identity.mask != identity.value:
                raise DeviceFault(
                    f"{identity.register} reads 0x{word & identity.mask:X} instead of 0x{identity.value:X} of "
                    f"{on.board.chip}: name the right board; nothing was erased."
                )
        if revision is not None:
            name = revision.of(on.registers.word(revision.address))
            on.figures["revision"] = name
            said.append(f"revision {name}")
        return Seen(
            ", ".join(said), f"the chip is the {on.board.chip} of the catalogue; compare its revision with the errata."
        )


class ResetAndHalt(Stage):
    """A reset through the probe, and a halt before the program."""

    name = "reset and halt"
    assumes = "the probe can reset the chip and halt its core"
    expected = "the core is halted after the reset, and the program counter can be read"
    danger = Danger.READS
    gate = True
    needs = ("target identity",)

    def run(self, on: BringUp) -> Seen:
        """Reset, and look at the halted core."""
        try:
            on.probe.halt_at_reset()
            halted, sample = on.probe.is_halted(), on.probe.look()
        except ChipUnreachable as error:
            raise Blocked(error.stage, f"{error.said}: check the reset line, and {error.cure}") from error
        if not halted:
            raise DeviceFault("the core runs although it was halted at its reset: check the reset line of the probe.")
        return Seen(f"halted at 0x{sample.pc:08X}, sp 0x{sample.registers[13]:08X}", "reset and halt work.")


STAGES = (ProbeAnswers, DebugPort, TargetIdentity, ResetAndHalt)
