"""The scan for instructions that a Cortex-M0+ does not have."""

import shutil
import struct

import pytest

from hil import boards
from hil.errors import RigError
from hil.images import image_of
from hil.images.armv6m import foreign_instructions, is_armv6m

ALLOWED = {
    "bl": (0xF000, 0xF800), "msr msp, r0": (0xF380, 0x8808), "mrs r0, ipsr": (0xF3EF, 0x8005), "dsb": (0xF3BF, 0x8F4F),
    "dmb": (0xF3BF, 0x8F5F), "isb": (0xF3BF, 0x8F6F), "udf.w": (0xF7F0, 0xA000), "cpsid i": (0xB672, 0), "cpsie i": (0xB662, 0),
    "nop": (0xBF00, 0), "wfi": (0xBF30, 0), "sev": (0xBF40, 0), "rev": (0xBA00, 0), "revsh": (0xBAC0, 0), "push": (0xB5F0, 0),
    "pop": (0xBDF0, 0), "sxtb": (0xB240, 0), "bkpt": (0xBE00, 0), "muls": (0x4348, 0), "blx r3": (0x4798, 0), "ldm": (0xC807, 0),
}  # fmt: skip
FOREIGN = {
    "cbz": (0xB120, 0), "cbz, far": (0xB320, 0), "cbnz": (0xB920, 0), "cbnz, far": (0xBB20, 0), "it eq": (0xBF08, 0),
    "cpsid f": (0xB671, 0), "setend": (0xB650, 0), "hlt": (0xBA80, 0), "udiv": (0xFBB0, 0xF0F1), "sdiv": (0xFB90, 0xF0F1),
    "ldrd": (0xE9D0, 0x0100), "ldmia.w": (0xE8B0, 0x0006), "smlad": (0xFB20, 0x0001), "mla": (0xFB00, 0x0001), "b.w": (0xF000, 0xB800),
    "beq.w": (0xF000, 0x8000), "movw": (0xF240, 0x0000), "sxtb16": (0xFA2F, 0xF080), "vadd.f32": (0xEE30, 0x0A00), "clrex": (0xF3BF, 0x8F2F),
    "ldr.w": (0xF8D0, 0x0000), "msr basepri": (0xF381, 0x9000),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_instructions_of_armv6m(name):
    assert is_armv6m(*ALLOWED[name])


@pytest.mark.parametrize("name", FOREIGN)
def test_instructions_of_later_architectures(name):
    assert not is_armv6m(*FOREIGN[name])


@pytest.mark.parametrize("board", [name for name in boards.names() if boards.load(name).core == "cortex-m0plus"])
def test_the_images_for_a_cortex_m0plus_hold_none(board):
    assert list(foreign_instructions(image_of(board).path)) == []


def test_an_image_for_a_cortex_m7_holds_many():
    assert len(list(foreign_instructions(image_of("stm32h7b3").path))) > 1000


@pytest.mark.parametrize("name", FOREIGN)
def test_a_planted_instruction_is_found_where_it_is(tmp_path, name):
    image = image_of("rp2040")
    planted = tmp_path / "planted.elf"
    shutil.copyfile(image.path, planted)
    place = image.symbols["xorshift32"] if "xorshift32" in image.symbols else image.symbols["reset_handler"]
    base, data = image.segments[0]
    elf = bytearray(planted.read_bytes())
    at = elf.index(data) + place - base
    elf[at : at + 4] = struct.pack("<HH", *FOREIGN[name])
    planted.write_bytes(elf)
    assert (place, FOREIGN[name][0]) in list(foreign_instructions(planted))
    with pytest.raises(RigError, match=f"0x{FOREIGN[name][0]:04X} at 0x{place:08X}, reset_handler"):
        image_of("rp2040", planted)
