"""The program that executes all cases on one set of inputs: assembled, and run on QEMU and on a virtual core."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Machine, Pace

from .classes import CLASSES, Class

HERE = Path(__file__).parent
BASE, STACK = 0x20000000, 0x2000FF00  # RAM of 64 KB on every virtual chip and QEMU machine of the tests
WORDS, FLOAT_WORDS = 17, 9
ARMV6M, ARMV7EM = ".arch armv6s-m", ".arch armv7e-m\n.fpu fpv5-d16"
FAULT = 1 << 31
UNDEFINED_INSTRUCTION, NO_COPROCESSOR = 1 << 16, 1 << 19  # CFSR


@dataclass(frozen=True)
class Core:
    """A kind of core: QEMU's machine with such a core (or the option that puts it there), and what it has."""

    name: str
    machine: str
    has: frozenset[str]
    cpu: tuple[str, ...] = ()

    @property
    def float_registers(self) -> bool:
        return "sp" in self.has


M0PLUS = Core("cortex-m0plus", "lm3s6965evb", frozenset({"v6m"}), ("-cpu", "cortex-m0"))
M4 = Core("cortex-m4", "mps2-an386", frozenset({"v6m", "v7m", "dsp", "sp"}))
M7 = Core("cortex-m7", "mps2-an500", M4.has | {"fpv5", "dp"})
M33 = Core("cortex-m33", "lm3s6965evb", M4.has | {"fpv5", "v8m"}, ("-cpu", "cortex-m33"))
M7_SINGLE = Core("cortex-m7 with a single-precision FPU", "mps2-an500", M4.has | {"fpv5"})


@dataclass(frozen=True)
class Inputs:
    """Contents of r0 to r5, of 32 bytes of memory and of s0 to s7 as words, and the flags."""

    registers: tuple[int, ...]
    memory: tuple[int, ...]
    floats: tuple[int, ...]
    flags: int


def draw(seed: int) -> Inputs:
    """Return inputs: corners in every second set, random words else. Doubles lie in pairs of single registers."""
    rng = np.random.default_rng(seed)
    corners = [0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    singles = [0, 0x80000000, 0x3F800000, 0xBF000000, 0x3FC00000, 0x4F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FA00001,
               1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x40200000, 0xC0200000]  # fmt: skip

    def words(count: int, special: list[int]) -> tuple[int, ...]:
        drawn = rng.integers(0, 1 << 32, count, dtype=np.uint64)
        return tuple(int(v) for v in (rng.choice(np.array(special, np.uint64), count) if seed % 2 else drawn))

    floats = words(8, singles)
    if seed % 4 == 2:  # ordinary numbers, in which single and double precision both round
        doubles = rng.normal(0, 100, 4)
        floats = struct.unpack("<8I", doubles.astype("<f8").tobytes())
    if seed % 4 == 0:
        floats = struct.unpack("<8I", rng.normal(0, 100, 8).astype("<f4").tobytes())
    return Inputs(
        words(6, corners), words(8, corners), floats, int(rng.integers(32)) << 27 | int(rng.integers(16)) << 16
    )


def cases() -> tuple[tuple[Class, str], ...]:
    """Return all cases in the order of the results."""
    return tuple((each, case) for each in CLASSES for case in each.cases)


def assemble(core: Core, inputs: Inputs, folder: Path) -> tuple[Path, dict[str, int]]:
    """Return the ELF file of the program, and its symbols."""
    listing = "\n".join(f".word case_{i} + 1" for i in range(len(cases())))
    code = "\n".join(
        f"{ARMV6M if each.needs == 'v6m' else ARMV7EM}\n.balign 4\n.thumb_func\ncase_{i}:\n {case}\n"
        " ldr r7, =done + 1\n bx r7\n .ltorg"
        for i, (each, case) in enumerate(cases())
    )
    words = {"inputs": inputs.registers, "data": inputs.memory, "floats": inputs.floats, "flags": (inputs.flags,)}
    tables = "\n".join(f"{name}: .word {', '.join(map(str, values))}" for name, values in words.items())
    source = folder / "program.S"
    source.write_text(
        f"{ARMV7EM if core.float_registers else ARMV6M}\n.equ stack, {STACK}\n"
        + (HERE / "harness.S").read_text().replace("APSR_FLAGS", "APSR_nzcvqg" if "dsp" in core.has else "APSR_nzcvq")
        + f"\n.balign 4\n{code}\n.balign 4\ncases:\n{listing}\n.word 0\n{tables}\n.balign 8\nout:\n"
    )
    defined = [f"-Wa,--defsym,{name}=1" for name, on in (
        ("FPU", core.float_registers), ("CFSR", "v7m" in core.has),
    ) if on]  # fmt: skip
    elf = folder / "program.elf"
    subprocess.run(
        ["arm-none-eabi-gcc", "-nostdlib", "-mthumb", "-march=armv7e-m", *defined, "-Wl,--section-start=.boot=0",
         f"-Wl,-Ttext={BASE:#x}", "-Wl,-e,start", "-o", elf, source],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    symbols = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True).stdout
    return elf, {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()}


def on_qemu(core: Core, inputs: Inputs, folder: Path) -> np.ndarray:
    """Return the results of QEMU, (cases, words) uint32."""
    elf, _ = assemble(core, inputs, folder)
    command = ["qemu-system-arm", "-M", core.machine, *core.cpu, "-nographic", "-monitor", "none", "-serial", "none",
               "-semihosting-config", "enable=on,target=native", "-kernel", elf]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return _table(core, done.stdout)


def on_virtual(core: Core, chip: Machine, inputs: Inputs, folder: Path) -> np.ndarray:
    """Return the results of a virtual chip that is on, (cases, words) uint32."""
    elf, symbols = assemble(core, inputs, folder)
    binary = folder / "program.bin"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", elf, binary], check=True)
    chip.core.poke(BASE, binary.read_bytes())
    chip.core.poke(symbols["semihosting"], bytes(4))
    chip.bus.write(0xE000ED08, 4, BASE)  # VTOR
    chip.core.set(c.SP, STACK)
    chip.core.set(c.PC, symbols["start"] | 1)
    chip.asleep = False
    for _ in range(10_000):
        if chip.advance() is Pace.WAIT:
            break
    assert chip.fault is None and not chip.lockup, chip.fault
    return _table(core, chip.core.peek(symbols["out"], 4 * len(cases()) * _words(core)))


def _words(core: Core) -> int:
    return WORDS + FLOAT_WORDS * core.float_registers


def _table(core: Core, data: bytes) -> np.ndarray:
    assert len(data) == 4 * len(cases()) * _words(core), f"{len(data)} bytes of results"
    return np.frombuffer(data, "<u4").reshape(len(cases()), -1)
