"""Expressions of C over the memory that an ELF file loads: types and shapes are those of its debug information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from hil import boards
from hil.bool_bytes import wrong_bool
from hil.dut.expression import MemoryPlace, Word, evaluate
from hil.dut.memory import Memory
from hil.dut.variables import variable
from hil.errors import DeviceFault, RigError
from hil.images import firmware_of
from hil.images.c_types import Array, Number, Struct, number
from hil.images.debug_info import Variable
from hil.images.symbols import Symbol
from tests.foreign import build

BOARD = boards.load("stm32f746")


class Loaded:
    """The RAM of a program before its first instruction, as its ELF file has it; in the place of a probe."""

    def __init__(self, elf: Path) -> None:
        self.parts: list[tuple[int, bytearray]] = []
        with elf.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if section["sh_flags"] & 2 and section["sh_size"]:  # SHF_ALLOC
                    empty = section["sh_type"] == "SHT_NOBITS"
                    data = bytes(section["sh_size"]) if empty else section.data()
                    self.parts.append((section["sh_addr"], bytearray(data)))

    def _at(self, address: int, size: int) -> tuple[bytearray, int] | None:
        for start, data in self.parts:
            if start <= address and address + size <= start + len(data):
                return data, address - start
        return None

    def read_ram(self, address: int, size: int) -> bytes | None:
        found = self._at(address, size)
        return bytes(found[0][found[1] : found[1] + size]) if found else None

    def write_ram(self, address: int, data: bytes) -> bool:
        found = self._at(address, len(data))
        if found:
            found[0][found[1] : found[1] + len(data)] = data
        return found is not None


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("foreign"), "stm32f746")


@pytest.mark.parametrize("byte", [2, 0x55, 0xFF])
def test_a_bool_whose_byte_is_neither_0_nor_1_is_said(memory: Memory, loaded: Any, byte: int) -> None:
    address = int(memory.read("&trained"))
    for good in (0, 1):
        loaded.write_ram(address, bytes([good]))
        assert memory.read("trained") == bool(good)
    loaded.write_ram(address, bytes([byte]))
    for where, how in (("trained", {}), ("*&trained", {}), (address, {"dtype": np.bool_})):
        with pytest.raises(DeviceFault, match=f"has the byte 0x{byte:02x}, where a bool is 0 or 1"):
            memory.read(where, **how)
    with pytest.raises(DeviceFault, match=rf"the byte 0x{byte:02x} at index \(0,\)"):
        memory.read(address, np.bool_, (1,))
    with pytest.raises(DeviceFault, match=f"the bool in it at 0x{address:08X} has the byte 0x{byte:02x}"):
        memory.read("quantised[trained]")
    assert memory.read(address, np.uint8) == byte


def test_a_bool_in_a_structure_is_one() -> None:
    inner = np.dtype({"names": ["on"], "formats": ["?"], "offsets": [1], "itemsize": 2})
    kind = np.dtype({"names": ["n", "flags"], "formats": ["<i4", (inner, (2,))], "offsets": [0, 4], "itemsize": 8})
    data = bytes([9, 9, 9, 9, 7, 1, 7, 0])  # with other bytes beside the flags
    assert wrong_bool(np.frombuffer(data, kind)) == ""
    said = wrong_bool(np.frombuffer(data[:-1] + b"\x03", kind))
    assert said == "the byte 0x03 at index (0, 1), where a bool is 0 or 1 (member flags.on)"


def made(table: list[Symbol], *found: Variable) -> Any:
    """An image of these symbols, whose debug information has these variables."""
    debug = SimpleNamespace(variables=lambda name: list(found), names=["calls"])
    return SimpleNamespace(table=table, debug=debug, path=Path("mixed.elf"))


INT = Number("int", np.dtype("<i4"))
OF_A = Variable("calls", ("a.c", "fa"), 0x2000_0198, False, INT)


@pytest.mark.parametrize("symbol", ["calls", "calls.0", "_ZZ2faE5calls"])
def test_debug_information_of_another_build_is_said(symbol: str) -> None:
    elsewhere = made([Symbol(symbol, 0x2000_0088, False, 3, 4)], OF_A)
    with pytest.raises(RigError, match="of another build .*'calls' is at 0x20000198 by the one, and at 0x20000088 by"):
        variable(elsewhere, "calls", ("fa",))
    assert variable(made([Symbol(symbol, 0x2000_0198, False, 3, 4)], OF_A), "calls") == (0x2000_0198, INT)


def test_a_variable_that_the_linker_has_dropped_is_that() -> None:
    of_b = Variable("calls", ("b.c", "fb"), 0x2000_0088, False, INT)
    other = Symbol("calls.0", 0x2000_0088, False, 3, 4)
    dropped = replace(OF_A, address=0)
    for image in (
        made([Symbol("recalls", 0x2000_0088, False, 3, 4)], OF_A),
        made([other], OF_A, of_b),
        made([other], dropped),
    ):
        with pytest.raises(RigError, match="the linker has dropped 'calls' from mixed.elf"):
            variable(image, "calls", ("fa",))


@pytest.mark.parametrize(("kind", "size", "fits"), [
    (INT, 4, True), (INT, 8, False), (Array(INT, 4), 16, True), (Array(INT, 4), 12, False), (Array(INT, 4), 20, False),
    (Struct("s", 8, dict), 8, True), (Struct("s", 8, dict), 20, True), (Struct("s", 8, dict), 4, False), (INT, 0, True),
])  # fmt: skip
def test_a_type_of_another_size_than_its_symbol_is_of_another_build(kind: Any, size: int, fits: bool) -> None:
    image = made([Symbol("calls", 0x2000_0198, False, 3, size)], replace(OF_A, type=kind))
    if fits:
        assert variable(image, "calls") == (0x2000_0198, kind)
        return
    with pytest.raises(RigError, match=f"of another build .*'calls' has .* bytes by the one, and {size} by the other"):
        variable(image, "calls")


@pytest.fixture
def loaded(elf: Path) -> Any:
    return Loaded(elf)


@pytest.fixture
def memory(elf: Path, loaded: Any) -> Memory:
    return Memory(firmware_of("stm32f746", elf), BOARD, lambda: loaded, {})


@pytest.mark.parametrize(("where", "dtype", "value"), [
    ("3", "int32", 3), ("010", "int32", 8), ("0", "int32", 0), ("00", "int32", 0), ("3u", "uint32", 3),
    ("0xFFFFFFFF", "uint32", 2**32 - 1), ("4294967295", "int64", 2**32 - 1), ("037777777777", "uint32", 2**32 - 1),
    ("2147483648", "int64", 2**31), ("3LL", "int64", 3), ("3ull", "uint64", 3), ("0xFFFFFFFFFFFFFFFF", "uint64", 2**64 - 1),
    ("-3", "int32", -3), ("-3u", "uint32", 2**32 - 3), ("- -3", "int32", 3), ("-(unsigned char)250", "int32", -250),
    ("-(signed char)-128", "int32", 128), ("-(unsigned short)65535", "int32", -65535), ("-(bool)1", "int32", -1),
    ("-(int)0x80000000", "int32", -(2**31)), ("-(unsigned)1", "uint32", 2**32 - 1), ("-(float)2", "float32", -2.0),
    ("-quantised[0]", "int32", 3), ("-linear.rows", "int32", -4), ("-momentum", "float64", -0.1),
])  # fmt: skip
def test_constants_and_the_other_sign_are_those_of_c(memory, where, dtype, value):
    """C11, 6.4.4.1 and 6.5.3.3, with the types of 32 bits that these cores have."""
    found = memory.read(where)
    assert (found.dtype, found.item()) == (np.dtype(dtype), value)


@pytest.mark.parametrize("where", ["3", "&quantised[3]", "(float)7", "&linear", "-3"])
def test_a_constant_and_an_address_are_known_without_the_device(memory, where):
    memory.read(where)
    assert not memory.looked
    memory.read("quantised[3]")
    assert memory.looked


@pytest.mark.parametrize(("where", "dtype", "value"), [
    ("linear.u.rate", "float32", 0.5), ("linear.u.bits", "uint32", 0x3F00_0000), ("linear.rows", "int16", 4),
    ("network->columns", "int16", 3), ("network->kind", "uint8", 7), ("network->next->kind", "uint8", 8),
    ("(*network).rows", "int16", 4), ("(&linear)->columns", "int16", 3), ("network->weights->dims", "uint32", 2),
    ("quantised[0]", "int8", -3), ("quantised[5]", "int8", 127), ("*quantised", "int8", -3), ("momentum", "float64", 0.1),
    ("trained", "bool", False), ("quantised[quantised[4] + 0]", None, None), ("quantised[quantised[4]]", "int8", -2),
    ("((uint8_t *)&linear.u)[3]", "uint8", 0x3F), ("*(unsigned short *)&linear.u.rate", "uint16", 0),
    ("((struct layer *)network)->rows", "int16", 4), ("((layer_t *)(network))->rows", "int16", 4),
    ("'foreign.c'::fc1.dims", "uint32", 2), ("train_step::calls", "uint32", 0), ("calls", "uint32", 0),
    ("*&linear.rows", "int16", 4), ("(quantised[1])", "int8", -2), ("network->weights->data[3]", "float32", 0.0),
])  # fmt: skip
def test_an_expression_has_the_type_of_its_debug_information(memory, where, dtype, value):
    if dtype is None:
        with pytest.raises(RigError, match="is no expression that can be read|is missing"):
            memory.read(where)
        return
    found = memory.read(where)
    assert found.dtype == np.dtype(dtype) and found == value and isinstance(found, np.generic)


def test_arrays_and_structures(memory, elf):
    assert memory.read("fc1_weights").shape == (4, 3) and memory.read("fc1_weights").dtype == np.float32
    np.testing.assert_array_equal(memory.read("quantised"), np.array([-3, -2, -1, 0, 1, 127], np.int8))
    assert memory.read("fc1_weights[1]").shape == (3,)
    layer = memory.read("linear")
    assert layer["rows"] == 4 and layer["u"]["rate"] == 0.5 and layer["next"] == memory.read("&relu")
    assert "frozen" not in layer.dtype.names
    image = firmware_of("stm32f746", elf)
    assert memory.read("&linear") == image.symbols["linear"] and memory.read("network") == image.symbols["linear"]


def test_dtype_and_shape_may_be_given(memory, elf):
    symbols = firmware_of("stm32f746", elf).symbols
    assert memory.read("quantised", np.int8, (2, 3)).tolist() == [[-3, -2, -1], [0, 1, 127]]
    assert memory.read("fc1_weights", np.float32, 12).shape == (12,)
    assert memory.read("fc1_weights", np.float32, (2, 3)).shape == (2, 3)  # its first rows
    assert memory.read("arena", np.float32).shape == (16,) and memory.read("arena", np.uint16, (2,)).shape == (2,)
    assert memory.read(symbols["quantised"], np.int8, 3).tolist() == [-3, -2, -1]
    assert memory.read("*network->weights->data", np.float32, (4, 3)).shape == (4, 3)
    assert memory.read("network->weights->data[0]", np.float32, (4, 3)).shape == (4, 3)
    assert memory.read("quantised", np.int8, 0).shape == (0,)


@pytest.mark.parametrize(("where", "options", "words"), [
    ("nothing_like_it", {}, "there is no variable 'nothing_like_it' in foreign.elf"),
    ("fc1_weight", {}, "did you mean fc1_weights"),
    ("dropped", {}, "the linker has dropped 'dropped' from foreign.elf"),
    ("linear.row", {}, "struct layer has no member 'row': did you mean rows"),
    ("08", {}, "octal in C"), ("0195", {}, "octal in C"), ("0xFFFFFFFFFFFFFFFFF", {}, "no type of 64 bits holds"),
    ("-network", {}, "- needs a number, and that is"), ("-&linear", {}, "- needs a number"), ("-linear", {}, "- needs a num"),
    (0x2000_0000, {"dtype": np.uint32, "shape": "x"}, "'x' is no shape: give counts of elements"),
    (0x2000_0000, {"dtype": np.uint32, "shape": 2.5}, "2.5 is no shape"),
    (0x2000_0000, {"dtype": np.uint32, "shape": (2, 1.5)}, "is no shape"), (0x2000_0000, {"dtype": np.uint32, "shape": True}, "is no shape"),
    (0x2000_0000, {"dtype": np.uint32, "shape": [[1], [2]]}, "is no shape"), (0x2000_0000, {"dtype": np.uint32, "shape": {2}}, "is no shape"),
    (0x2000_0000, {"dtype": [("a", "f4", "x")]}, "is no dtype"), (0x2000_0000, {"dtype": "f4,,"}, "is no dtype"),
    ("linear->rows", {}, "-> needs a pointer, and that is struct layer"),
    ("network.rows", {}, r"\.rows needs a structure, and that is struct layer \*, write ->"),
    ("linear.frozen", {}, "frozen is a bit-field"),
    ("relu.next->rows", {}, r"a pointer on the way \(struct layer \*\) is NULL"),
    ("relu.weights->data[0]", {}, "is NULL"),
    ("*(float *)0x10000000", {}, "is 0x10000000, which is in no memory of stm32f746"),
    ("quantised[6]", {}, "the index 6 is out of range: signed char.6. has 0 to 5"),
    ("quantised[-1]", {}, "the index -1 is out of range"),
    ("momentum[0]", {}, "needs an array or a pointer, and that is double"),
    ("*momentum", {}, "needs a pointer, and that is double"),
    ("quantised[momentum]", {}, "double is no whole number"),
    ("(struct nothing *)network", {}, "has no type 'struct nothing'"),
    ("'other.c'::steps", {}, "there is no variable 'steps' in other.c of foreign.elf"),
    ("linear.", {}, "the name of a member is missing"), ("linear rows", {}, "'rows' is not expected there"),
    ("linear + 1", {}, "is not expected there"), ("(linear", {}, r"'\)' is missing"), ("", {}, "a name is missing"),
    ("steps; drop", {}, "'; drop' is not expected there"), ("x" * 2000, {}, "more than 1000 characters"),
    ("network", {"dtype": np.float32, "shape": (4, 3)}, r"is a pointer \(struct layer \*\): write \*network"),
    ("fc1_weights", {"dtype": np.float64}, r"is float\[4\]\[3\] by the debug information, and not float64"),
    ("fc1_weights", {"dtype": np.float32, "shape": 13}, "has 48 bytes .* and 52 were asked for"),
    ("fc1_weights", {"shape": 13}, "which has no shape"),
    ("fc1_weights", {"dtype": np.float32, "shape": (3, 4)}, r"is float\[4\]\[3\], which has no shape \(3, 4\)"),
    (0x2000_0000, {}, "is not known .an address.: give its dtype"),
    (1 << 33, {"dtype": np.uint8}, "are not all addresses of 32 bits"), (-4, {"dtype": np.uint8}, "are not all addresses"),
    (0x2000_0000, {"dtype": np.uint8, "shape": 1 << 40}, "are not all addresses|are more than"),
    (None, {"dtype": np.uint8}, "None is no place in memory"), (True, {"dtype": np.uint8}, "True is no place in memory"),
    (1.0, {"dtype": np.uint8}, "1.0 is no place in memory"), (b"quantised", {}, "is no place in memory"),
    (0x2000_0000, {"dtype": "nonsense"}, "is no dtype"), (0x2000_0000, {"dtype": object}, "has no bytes in memory"),
    (0x6000_0000, {"dtype": np.uint8}, "the chip does not answer at 0x60000000 .* which is in no memory of stm32f746"),
])  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(memory, where, options, words):
    with pytest.raises(RigError, match=words) as refused:
        memory.read(where, **options)
    assert "\n" not in str(refused.value) and not isinstance(refused.value, DeviceFault)


def test_memory_that_does_not_answer_is_the_devices_fault(memory):
    with pytest.raises(DeviceFault, match="although it is in dtcm: the program may have switched it off"):
        memory.read(0x2001_0000 - 8, np.uint32)


def test_writing(memory):
    memory.write("linear.u.rate", 0.25)
    memory.write("quantised", [1, 2, 3, 4, 5, -6])
    memory.write("network->next->rows", np.int16(9))
    memory.write("fc1_weights", np.ones((4, 3), np.float32))
    memory.write("trained", True)
    memory.write("network", memory.read("&relu"))
    assert memory.read("linear.u.rate") == 0.25 and memory.read("quantised").tolist() == [1, 2, 3, 4, 5, -6]
    assert memory.read("network->rows") == 9 and memory.read("fc1_weights").sum() == 12 and memory.read("trained")


@pytest.mark.parametrize(("where", "value", "words"), [
    ("quantised", [1, 2, 3], r"the value has the shape \(3,\): give it \(6,\)"),
    ("quantised[0]", 300, "is no value of 'quantised.0.' .signed char."),
    ("quantised[0]", 1.5, "must be whole numbers"),
    ("linear.u.rate", np.float64(1), "is float, and the value is float64: convert it with .astype.'float32'"),
    ("linear.u.rate", 1e60, "1e.60 is beyond 'linear.u.rate' .float."),
    ("linear.u", np.zeros((), [("f", "f4")]), "the value is a record of f: write a member of it"),
    ("linear", np.zeros((), [("f", "V24")]), "write a member"), (0x2000_0000, np.array([None]), "has no bytes of its own"),
    ("linear.rows", "many", "is no value of"), ("linear.u", np.uint32(1), "uint32: write a member of it"), (0x2000_0000, 1, "write a value of NumPy"),
    ("&linear", 1, "is a value and no place in memory"), (0x0800_0000, np.uint32(0), "is in the flash of stm32f746"),
])  # fmt: skip
def test_what_cannot_be_written_is_one_sentence(memory, where, value, words):
    with pytest.raises(RigError, match=words):
        memory.write(where, value)


def test_without_debug_information_symbols_have_sizes_and_need_dtypes(tmp_path):
    elf = build(tmp_path, "stm32f746", "-g0")
    loaded: Any = Loaded(elf)
    memory = Memory(firmware_of("stm32f746", elf), BOARD, lambda: loaded, {})
    assert memory.read("quantised", np.int8).tolist() == [-3, -2, -1, 0, 1, 127]
    assert memory.read("fc1_weights", np.float32, (4, 3)).shape == (4, 3)
    memory.write("quantised", np.arange(6, dtype=np.int8))
    assert memory.read("quantised", np.int8, 6).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RigError, match="which has no debug information.*give its dtype, or compile with -g"):
        memory.read("quantised")
    with pytest.raises(RigError, match="has 6 bytes .* and 28 were asked for"):
        memory.read("quantised", np.float32, 7)
    with pytest.raises(RigError, match="write a value of NumPy"):
        memory.write("quantised", 1)


def test_a_variable_that_is_optimised_out_is_called_so(tmp_path):
    source = tmp_path / "more.c"
    source.write_text("static int gone = 3;\nint *const *unused(void);\nint kept(void) { return gone; }\n")
    elf = build(tmp_path, "stm32f746", "-O2", str(source), "-Wl,--undefined=kept")
    loaded: Any = Loaded(elf)
    memory = Memory(firmware_of("stm32f746", elf), BOARD, lambda: loaded, {})
    with pytest.raises(RigError, match="'gone' is optimised out of foreign.elf"):
        memory.read("gone")


def test_two_static_variables_of_one_name_are_told_apart(tmp_path):
    source = tmp_path / "more.c"
    source.write_text("static volatile int fc1 = 3;\nint kept(void) { return fc1; }\n")
    elf = build(tmp_path, "stm32f746", str(source), "-Wl,--undefined=kept")
    loaded: Any = Loaded(elf)
    memory = Memory(firmware_of("stm32f746", elf), BOARD, lambda: loaded, {})
    with pytest.raises(RigError, match=r"'fc1' is in foreign\.c and more\.c: say which one, as in '"):
        memory.read("fc1")
    assert memory.read("'more.c'::fc1") == 3 and memory.read("'foreign.c'::fc1.dims") == 2


def test_a_cast_gives_a_word(elf):
    image = firmware_of("stm32f746", elf)
    read: Callable[[int, int], bytes] = lambda address, size: bytes(size)  # noqa: E731
    word = evaluate("(uint32_t)&linear", image, BOARD, read)
    assert isinstance(word, Word) and word.value == image.symbols["linear"] and word.type.name == "long unsigned int"
    assert isinstance(evaluate("linear", image, BOARD, read), MemoryPlace)


CPP = """
typedef signed char int8_t; typedef unsigned char uint8_t; typedef unsigned int uint32_t;
struct Bits { uint32_t a : 3; int b : 10; uint8_t d; };
struct Base { int v; }; struct Hides : Base { int v; static int shared; }; int Hides::shared = 42;
struct Late : virtual Base { int own; };
union Both { float f; uint8_t b[4]; };
Bits bits[2] = {{5, -200, 99}, {1, 7, 3}}; Hides hides; Late late;
int number = -300; double precise = -2.75; int8_t small = -5;
float half = 2.5f; struct Point { int x; float &y; } point = {7, half}; int *list = &number;
namespace net { namespace inner { float bias[3] = {0.25f, 0.5f, 0.75f}; }
struct Holder { Point &of; } holder = {point}; }
int start(int &one) { hides.Base::v = 1; return one + bits[1].d + hides.v
    + late.own + list[0] + Hides::shared + (int)net::inner::bias[1]; }
extern "C" int Reset_Handler() { return start(net::holder.of.x) + (int)precise + small; }
"""


@pytest.fixture(scope="module")
def cpp(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "all.cpp").write_text(CPP)
    options = ("-std=c++17", "-fno-rtti", "-fno-exceptions", "-Wno-all")
    elf = build(folder, "stm32f746", *options, source=folder / "all.cpp")
    loaded: Any = Loaded(elf)
    return Memory(firmware_of("stm32f746", elf), BOARD, lambda: loaded, {})


@pytest.mark.parametrize(("where", "value"), [
    ("(float)number", np.float32(-300)), ("(double)number", np.float64(-300)), ("(int64_t)number", np.int64(-300)),
    ("(uint16_t)number", np.uint16(0xFED4)), ("(int)precise", np.int32(-2)), ("(uint8_t)small", np.uint8(251)),
    ("(float)small", np.float32(-5)), ("-number", np.int32(300)), ("-precise", np.float64(2.75)),
    ("point.y", np.float32(2.5)), ("net::holder.of.x", np.int32(7)), ("net::holder.of.y", np.float32(2.5)),
    ("net::inner::bias[2]", np.float32(0.75)), ("hides.v", np.int32(0)), ("bits[0].d", np.uint8(99)),
    ("*list", np.int32(-300)), ("Hides::shared", np.int32(42)),
])  # fmt: skip
def test_casts_convert_and_references_stand_for_what_they_name(cpp, where, value):
    found = cpp.read(where)
    assert found == value and found.dtype == value.dtype


def test_what_is_no_number_has_no_whole_number(cpp):
    for value in (np.nan, np.inf):
        cpp.write("precise", value)
        with pytest.raises(RigError, match="is no whole number: cast it to float or double"):
            cpp.read("(int)precise")
        assert np.array_equal(cpp.read("(float)precise"), np.float32(value), equal_nan=True)
    cpp.write("precise", -2.75)


def test_a_virtual_base_has_no_members_that_could_be_read(cpp):
    assert cpp.read("late.own") == 0
    with pytest.raises(RigError, match="struct Late has no member 'v'"):
        cpp.read("late.v")


def test_writing_a_structure_leaves_what_its_dtype_has_not(cpp):
    address = int(cpp.read("&bits"))
    before = cpp.read(address, np.uint8, 8)
    cpp.write("bits", cpp.read("bits"))
    cpp.write("bits[1]", cpp.read("bits[1]"))
    assert before.tolist() == cpp.read(address, np.uint8, 8).tolist() and before[0] & 7 == 5
    hidden = int(cpp.read("&hides"))
    cpp.write(hidden, np.int32(1))
    cpp.write("hides", np.array((9,), cpp.read("hides").dtype))
    assert cpp.read(hidden, np.int32, 2).tolist() == [1, 9]


@pytest.mark.parametrize(("words", "dtype"), [
    ("long unsigned int", "uint32"), ("unsigned", "uint32"), ("short int", "int16"), ("signed char", "int8"),
    ("long long int", "int64"), ("char", "uint8"), ("unsigned long long", "uint64"), ("signed int", "int32"),
    ("signed", "int32"), ("double", "float64"), ("uint16_t", "uint16"),
])  # fmt: skip
def test_basic_types_in_any_order(words, dtype):
    found = number(words)
    assert found is not None and found.dtype == np.dtype(dtype)


@pytest.mark.parametrize(("pointer", "words"), [
    (0, "is NULL"), (0x1000_0000, "is 0x10000000, which is in no memory"),
    (0x4000_0000, "does not answer at 0x4000000C .* which is in no memory"),
    (0xFFFF_FFF0, "not all addresses of 32 bits"),
])  # fmt: skip
def test_a_pointer_that_was_right_before_is_the_fault_of_the_device(memory, loaded, pointer, words):
    one, whole = "network->weights->data[3]", "*network->weights->data"
    good, at = memory.read("network->weights->data"), int(memory.read("&network->weights->data"))
    changed: Callable[[int], bool] = lambda value: loaded.write_ram(at, int(value).to_bytes(4, "little"))  # noqa: E731
    read = {one: lambda: memory.read(one), whole: lambda: memory.read(whole, np.float32, (4, 3))}
    changed(pointer)
    for each in read.values():
        with pytest.raises(RigError) as seen:
            each()
        assert type(seen.value) is not DeviceFault  # it may be set later
    changed(good)
    for each in read.values():
        each()
    changed(pointer)
    places = {whole: int(good), one: int(good) + 12}
    for where, each in read.items():
        with pytest.raises(DeviceFault, match="read before, at 0x.*: the device has changed a pointer") as seen:
            each()
        assert f"0x{places[where]:08X}" in str(seen.value)
    with pytest.raises(DeviceFault, match=f"{words}.*, although"):
        read[one if pointer == 0x4000_0000 else whole]()
    memory.write("network->weights->data", np.uint32(pointer))
    with pytest.raises(RigError) as seen:
        read[one]()
    assert type(seen.value) is not DeviceFault  # the test has changed it


def test_a_shape_that_is_too_large_stays_a_wrong_request(memory):
    memory.read("*network->weights->data", np.float32, 12)
    with pytest.raises(RigError, match=r"correct the (address or the )?shape") as seen:
        memory.read("*network->weights->data", np.float32, 1 << 20)
    assert not isinstance(seen.value, DeviceFault)
