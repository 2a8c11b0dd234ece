"""A firmware of the user's own is looked through before anything is flashed; each file here is a prebuilt one with one thing changed."""

from __future__ import annotations

import dataclasses
import io
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from hil import boards
from hil.errors import RigError
from hil.images import firmware_of, image_of, own_image, program_of
from hil.images.fpu import Needs, needs_of
from tests.foreign import build

H7 = image_of("stm32h7b3")
Change = Callable[[bytearray], None]


def at(offset: int, form: str, *values: int) -> Change:
    """Write values at an offset of the file (ELF for the Arm architecture; System V ABI, ELF header)."""
    return lambda elf: struct.pack_into("<" + form, elf, offset, *values)


def section_of(elf: ELFFile, name: str) -> Section:
    """Return a section that is there."""
    section = elf.get_section_by_name(name)
    assert section is not None
    return section


def every_load(field: int, value: int) -> Change:
    """Write a word to every program header: 12 is p_paddr, 16 p_filesz."""

    def change(elf: bytearray) -> None:
        start, size, count = (*struct.unpack_from("<I", elf, 28), *struct.unpack_from("<2H", elf, 42))
        for number in range(count):
            struct.pack_into("<I", elf, start + size * number + field, value)

    return change


def renamed(old: bytes, new: bytes) -> Change:
    """Give a symbol another name of the same length, also in the debug information."""

    def change(elf: bytearray) -> None:
        assert len(old) == len(new) and b"\0" + old + b"\0" in elf
        elf[:] = elf.replace(b"\0" + old + b"\0", b"\0" + new + b"\0")

    return change


def architecture(value: int) -> Change:
    """Write Tag_CPU_arch (6, ULEB128) where Armv7E-M (13) stands."""

    def change(elf: bytearray) -> None:
        section = section_of(ELFFile(io.BytesIO(elf)), ".ARM.attributes")
        start = section["sh_offset"]
        place = elf.index(b"\x06\x0d", start, start + section["sh_size"])
        elf[place + 1] = value

    return change


@pytest.mark.parametrize("name", boards.names())
def test_an_image_that_was_built_for_the_board_is_taken_as_the_users_own(name: str, tmp_path: Path) -> None:
    prebuilt = image_of(name)
    mine = tmp_path / "mine.elf"
    mine.write_bytes(prebuilt.path.read_bytes())
    image = image_of(name, mine)
    assert (image.own, prebuilt.own) == (True, False)
    assert (image.path, image.sha256, image.digest) == (mine, prebuilt.sha256, prebuilt.digest)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (at(18, "H", 62), r"for another processor \(x64, 32 bits, little-endian\): compile it with arm-none-eabi-gcc"),
        (at(16, "H", 1), r"is not linked for fixed addresses \(ET_REL\)"),
        (architecture(14), "compiled for Armv8-A, which the cortex-m7 of stm32h7b3 cannot execute: compile it with -mcpu=cortex-m7"),
        (architecture(99), "compiled for Tag_CPU_arch 99"),
        (every_load(16, 0), "has no loadable segment"),
        (every_load(12, 0x2400_0000), r"bytes at 0x24000000, outside the flash of stm32h7b3 \(0x08000000\.\.0x081FFFFF\)"),
        (every_load(12, 0x081F_FFF0), "bytes at 0x081FFFF0, outside the flash"),
        (renamed(b"__arena_end", b"__arena_eng"), r"does not define __arena_end: link it with ports/common/sections\.ld"),
        (at(32, "I", 0), "has no symbol table: build it without `strip`"),
    ],
)  # fmt: skip
def test_what_is_not_for_the_board_is_refused_with_a_sentence(change: Change, said: str, tmp_path: Path) -> None:
    elf = bytearray(H7.path.read_bytes())
    change(elf)
    mine = tmp_path / "mine.elf"
    mine.write_bytes(elf)
    with pytest.raises(RigError, match=said) as refused:
        image_of("stm32h7b3", mine)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("board", "of"), [("stm32h7b3", "stm32f746"), ("mps2-an385", "mps2-an386"), ("rp2040", "imxrt1062")]
)
def test_another_boards_image_is_named(board: str, of: str) -> None:
    with pytest.raises(
        RigError, match=f"is built for {of}, not for {board}: give the image of this board, or --board={of}"
    ):
        image_of(board, image_of(of).path)


def test_a_port_of_ones_own_need_not_say_whose_it_is(tmp_path: Path) -> None:
    elf = bytearray(H7.path.read_bytes())
    renamed(b"__board_stm32h7b3", b"__own_board_of_me")(elf)
    (tmp_path / "mine.elf").write_bytes(elf)
    assert image_of("stm32h7b3", tmp_path / "mine.elf").own


@pytest.mark.parametrize(
    "change", [renamed(b"__arena_end", b"__arena_eng"), at(32, "I", 0)], ids=["renamed", "stripped"]
)
def test_firmware_that_is_no_trials_needs_no_symbols(change: Change, tmp_path: Path) -> None:
    elf = bytearray(H7.path.read_bytes())
    change(elf)
    (tmp_path / "mine.elf").write_bytes(elf)
    assert firmware_of("stm32h7b3", tmp_path / "mine.elf").segments == H7.segments


def test_firmware_for_another_board_or_core_is_refused_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="is built for stm32f746"):
        firmware_of("stm32h7b3", image_of("stm32f746").path)
    elf = bytearray(H7.path.read_bytes())
    every_load(12, 0x2400_0000)(elf)
    (tmp_path / "mine.elf").write_bytes(elf)
    with pytest.raises(RigError, match="outside the flash"):
        firmware_of("stm32h7b3", tmp_path / "mine.elf")


@pytest.mark.parametrize(("core", "of", "ok"), [
    ("cortex-m0", 11, True), ("cortex-m0", 13, False), ("cortex-m3", 10, True), ("cortex-m3", 13, False),
    ("cortex-m23", 16, True), ("cortex-m23", 17, False), ("cortex-m33", 17, True), ("cortex-m33", 13, True),
    ("cortex-m33", 21, False), ("cortex-m55", 21, True), ("cortex-m4", 17, False),
])  # fmt: skip
def test_a_core_executes_its_architecture_and_those_within_it(core: str, of: int, ok: bool, tmp_path: Path) -> None:
    elf = bytearray(H7.path.read_bytes())
    architecture(of)(elf)
    (tmp_path / "mine.elf").write_bytes(elf)
    board = dataclasses.replace(boards.load("stm32h7b3"), core=core)
    if ok:
        own_image.check(tmp_path / "mine.elf", board)
    else:
        with pytest.raises(
            RigError, match=f"which the {core} of stm32h7b3 cannot execute: compile it with -mcpu={core}"
        ):
            own_image.check(tmp_path / "mine.elf", board)


def test_a_core_that_the_rig_does_not_know_is_named() -> None:
    board = dataclasses.replace(boards.load("stm32h7b3"), core="cortex-m34")
    with pytest.raises(
        RigError, match="that stm32h7b3 has the core 'cortex-m34', which the rig does not know: did you mean"
    ):
        own_image.check(H7.path, board)


FPU_OPTIONS = ("-mcpu=cortex-m7", "-mfloat-abi=hard")


@pytest.mark.parametrize("elf_of", [firmware_of, lambda board, elf: program_of(elf, boards.load(board))])
def test_an_image_for_a_double_precision_unit_is_refused_where_there_is_none(elf_of, tmp_path: Path) -> None:
    """The foreign firmware adds to a double in `spin_for_ever`."""
    elf = build(tmp_path, "mps2-an386", *FPU_OPTIONS, "-mfpu=fpv5-d16")
    code = subprocess.run(["arm-none-eabi-objdump", "-d", str(elf)], capture_output=True, text=True, check=True).stdout
    double = [line.split(":")[0].strip() for line in code.splitlines() if re.search(r"\tv[.\w]*f64", line)]
    with pytest.raises(
        RigError, match="double-precision floating-point unit .*-mcpu=cortex-m4 -mfpu=fpv4-sp-d16"
    ) as said:
        elf_of("mps2-an386", elf)
    assert f"instruction is at 0x{int(double[0], 16):08X})" in str(said.value)


def test_attributes_alone_do_not_refuse_an_image_without_such_instructions(tmp_path: Path) -> None:
    elf = build(tmp_path, "mps2-an386", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    data = bytearray(elf.read_bytes())
    section = section_of(ELFFile(io.BytesIO(data)), ".ARM.attributes")
    place = data.index(b"\x1b\x01", section["sh_offset"])  # Tag_ABI_HardFP_use (27): single precision only
    data[place + 1] = 3
    elf.write_bytes(data)
    assert firmware_of("mps2-an386", elf).own
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "--strip-all", str(elf), "-o", str(stripped)], check=True)
    with pytest.raises(
        RigError, match="compiled for a double-precision floating-point unit, and that of the cortex-m4"
    ):
        firmware_of("mps2-an386", stripped)


def test_an_image_for_a_newer_unit_is_refused_where_it_is_older(tmp_path: Path) -> None:
    source = tmp_path / "newer.c"
    source.write_text("float half_up(float x) { return __builtin_floorf(x + 0.5f); }\n")
    elf = build(
        tmp_path, "mps2-an386", *FPU_OPTIONS, "-mfpu=fpv5-sp-d16", "-O2", "-ffast-math", "-Wl,-u,half_up", str(source)
    )
    with pytest.raises(RigError, match=r"unit of version FPv5 \(.*that of the cortex-m4 .* -mfpu=fpv4-sp-d16"):
        firmware_of("mps2-an386", elf)


FPU_INSTRUCTIONS = (
    "vadd.{f} {d}0, {d}1, {d}2", "vmul.{f} {d}0, {d}1, {d}2", "vdiv.{f} {d}0, {d}1, {d}2", "vsqrt.{f} {d}3, {d}4",
    "vabs.{f} {d}1, {d}2", "vneg.{f} {d}1, {d}2", "vfma.f32 s1, s2, s3", "vmla.{f} {d}1, {d}2, {d}3",
    "vcmp.{f} {d}1, {d}2", "vcvt.s32.{f} s1, {d}2", "vcvtr.u32.{f} s1, {d}2",
    "vcvt.{f}.s32 {d}1, s2", "vcvt.{f}.u32 {d}15, s31", "vmov.{f} {d}1, #1.0", "vldr {d}1, [r0]", "vstr {d}1, [r0]",
    "vmov s3, r1", "vmov r2, s5", "vpush {{{d}8-{d}9}}", "vcvtb.f32.f16 s1, s2", "vcvtt.f16.f32 s1, s2",
    "vrintz.{f} {d}1, {d}2", "vrintr.{f} {d}15, {d}14", "vrintx.{f} {d}1, {d}2", "vrinta.{f} {d}1, {d}2",
    "vrintn.{f} {d}1, {d}2", "vrintp.{f} {d}1, {d}2", "vrintm.{f} {d}1, {d}2", "vmaxnm.{f} {d}1, {d}2, {d}3",
    "vminnm.{f} {d}13, {d}2, {d}3", "vseleq.{f} {d}1, {d}2, {d}3", "vselge.{f} {d}1, {d}2, {d}3",
    "vselgt.{f} {d}1, {d}2, {d}3", "vselvs.{f} {d}1, {d}2, {d}3", "vcvta.s32.{f} s1, {d}2", "vcvtn.u32.{f} s1, {d}2",
    "vcvtp.s32.{f} s31, {d}2", "vcvtm.u32.{f} s1, {d}2", "vmrs r0, fpscr", "vmsr fpscr, r1", "add.w r0, r1, r2",
    "mrc p15, 0, r0, c0, c0, 0", "cdp p1, 0, c0, c1, c2, 0", "ldrd r0, r1, [r2]", "vcvt.f64.f32 d1, s2",
    "vcvt.f32.f64 s1, d2", "bl 0",
)  # fmt: skip


GNU_TAKES = ("vmaxnm", "vminnm", "vcvta", "vcvtn", "vcvtp", "vcvtm")  # of FPv5, also for FPv4 (binutils 2.40)


def refused_lines(lines: list[str], unit: str, folder: Path) -> set[int]:
    """Return which instructions GNU's assembler refuses for a unit; without one, it has none."""
    arm = ["arm-none-eabi-as", "-mcpu=cortex-m4", "-mthumb", *([f"-mfpu={unit}"] if unit else [])]
    source = folder / "lines.s"
    source.write_text("\n".join([f".syntax unified; {'' if unit else '.fpu softvfp'}", *lines, ""]))
    said = subprocess.run([*arm, "-o", str(folder / "lines.o"), str(source)], capture_output=True, text=True).stderr
    return {int(number) - 2 for number in re.findall(r"lines\.s:(\d+): Error", said)}


def test_what_every_instruction_needs_is_what_an_assembler_says(tmp_path: Path) -> None:
    """GNU's assembler takes some instructions of FPv5 for every unit; the double forms are refused for their precision."""
    lines = sorted({line.format(f=f, d=d) for line in FPU_INSTRUCTIONS for f, d in (("f32", "s"), ("f64", "d"))})
    assert not refused_lines(lines, "fpv5-d16", tmp_path)
    code = section_of(ELFFile(io.BytesIO((tmp_path / "lines.o").read_bytes())), ".text").data()
    assert len(code) == 4 * len(lines)
    needs = [set(needs_of(*each)) for each in struct.iter_unpack("<2H", code)]
    assert all(Needs.FPV5 in each for line, each in zip(lines, needs, strict=True) if line.startswith(GNU_TAKES))
    units = (Needs.ANY, "", Needs.FPV5), (Needs.DOUBLE, "fpv5-sp-d16", None), (Needs.FPV5, "fpv4-sp-d16", Needs.DOUBLE)
    for need, unit, apart in units:
        asked = [
            n
            for n, each in enumerate(needs)
            if apart not in each and not (need is Needs.FPV5 and lines[n].startswith(GNU_TAKES))
        ]
        found = {lines[number] for number in asked if need in needs[number]}
        assert found == {lines[number] for number in refused_lines(lines, unit, tmp_path) & set(asked)}, need
    assert len({frozenset(each) for each in needs}) == 5  # nothing, any, FPv5, double, both
