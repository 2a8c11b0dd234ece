"""Memory of a device under test, by symbol, address or expression of C, as arrays and numbers of NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hil.boards import Board
from hil.bool_bytes import wrong_bool
from hil.dut.expression import MemoryPlace, PointsNowhere, Word, evaluate
from hil.dut.requests import checked_dtype
from hil.errors import DeviceFault, RigError, shown
from hil.images import Image
from hil.images.c_types import Array, CType, Number, Opaque, Pointer, Struct, bytes_of_members, dtype_of, size_of
from hil.targets.core_probe import CoreProbe

MOST_BYTES = 64 << 20  # of one read
END = 1 << 32
Where: TypeAlias = "str | int"
Shape: TypeAlias = "int | Sequence[int]"


class Memory:
    """The memory of a device, through its probe.

    Args:
        image: program of the device, whose symbols and debug information give places and types.
        board: its catalogue entry.
        probe: opens the probe, or says why there is none.
        known: address at which each expression was read since the program began; it is updated.

    Attributes:
        looked: whether anything was read from the device: a constant, or an address, is known without it.
    """

    def __init__(self, image: Image, board: Board, probe: Callable[[], CoreProbe], known: dict[str, int]) -> None:
        self._image, self._board, self._probe, self._known = image, board, probe, known
        self.looked = False

    def read(self, where: Where, dtype: npt.DTypeLike | None = None, shape: Shape | None = None) -> Any:
        """Return what is in memory, as `Dut.read`."""
        place = self._place(where)
        if isinstance(place, Word):
            return place.number
        kind, dimensions = self._form(where, place.type, dtype, shape)
        data = self._bytes(place.address, kind.itemsize * math.prod(dimensions), str(where))
        self._known[str(where)] = place.address
        found = np.frombuffer(data, kind).reshape(dimensions)
        if wrong := wrong_bool(found):
            raise DeviceFault(
                f"{where!r} has {wrong}: the program has written past something, or never set it; np.uint8 reads "
                "its bytes by address."
            )
        return found[()] if not dimensions else found.copy()

    def write(self, where: Where, value: Any) -> None:
        """Write memory, as `Dut.write`."""
        place = self._place(where)
        if isinstance(place, Word):
            raise RigError(f"{where!r} is a value and no place in memory: write *({where}), or a variable.")
        data = self._as_bytes(where, place.type, value)
        self._check_range(place.address, len(data), str(where))
        for memory in self._board.memory:
            if memory.kind == "flash" and place.address in memory and "kernel" not in self._board.routes:
                raise RigError(f"{where!r} is in the flash of {self._board.name}: flash another image to change it.")
        element, _ = _flat(place.type)
        if isinstance(element, Struct) and data:
            data = self._with_other_bytes(place.address, element, data, str(where))
        if data and not self._probe().write_ram(place.address, data):
            raise self._no_answer(place.address, len(data), str(where))
        self._known.clear()  # it may have changed a pointer

    def _place(self, where: Where) -> MemoryPlace | Word:
        if isinstance(where, str):
            read = lambda address, size: self._bytes(address, size, where)  # noqa: E731
            try:
                return evaluate(where, self._image, self._board, read)
            except PointsNowhere as error:
                raise self._changed(where, error.fact) or error from error
        if isinstance(where, bool) or not isinstance(where, int | np.integer):
            raise RigError(
                f"{shown(where)} is no place in memory: give a name or an expression as text, or an address."
            )
        address = int(where)
        self._check_range(address, 0, hex(address))
        return MemoryPlace(address, Opaque("an address"))

    def _form(
        self, where: Where, known: CType, dtype: npt.DTypeLike | None, shape: Shape | None
    ) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return dtype and shape of what is read: those of the debug information, those that were given, or both."""
        wanted = None if shape is None else _shape(shape)
        element, dimensions = _flat(known)
        if dtype is None:
            if isinstance(known, Opaque):
                raise RigError(
                    f"the type of {where!r} is not known ({known.name}): give its dtype, or compile with -g."
                )
            kind = dtype_of(element)
            dimensions = wanted if wanted is not None and None in dimensions else dimensions
            if None in dimensions:
                raise RigError(f"the length of {where!r} is not known ({known.name}): give its shape.")
            sizes = tuple(count for count in dimensions if count is not None)
            return kind, sizes if wanted is None else _reshaped(where, known, sizes, wanted)
        kind = checked_dtype(dtype).newbyteorder("<")
        size = size_of(known)
        if wanted is None:
            same = (
                not isinstance(element, Opaque)
                and dtype_of(element).itemsize == kind.itemsize
                and None not in dimensions
            )
            whole = size // kind.itemsize if size else 1
            wanted = (
                tuple(count for count in dimensions if count is not None) if same else () if whole <= 1 else (whole,)
            )
        self._check_fits(where, known, element, kind, kind.itemsize * math.prod(wanted))
        if len(wanted) == len(dimensions) > 1 and wanted[1:] != dimensions[1:] and size_of(element) == kind.itemsize:
            raise _no_shape(where, known, wanted)
        return kind, wanted

    def _check_fits(self, where: Where, known: CType, element: CType, kind: np.dtype[Any], size: int) -> None:
        """Raise RigError if a dtype is not that of the debug information, or more is read than the object has.

        Bytes, and objects without a type, may be read as anything.
        """
        if isinstance(known, Pointer) and (size > 4 or kind.kind not in "iu"):
            raise RigError(f"{where!r} is a pointer ({known.name}): write *{where} to read what it points to.")
        if isinstance(element, Number | Struct):
            real = dtype_of(element)
            if real.itemsize > 1 and (real.itemsize, real.kind) != (kind.itemsize, kind.kind) and real != kind:
                raise RigError(
                    f"{where!r} is {known.name} by the debug information, and not {kind.name}: leave the dtype out, or "
                    "read the bytes by address."
                )
        whole = size_of(known)
        if whole is not None and size > whole and not _may_go_on(where, known):
            raise RigError(
                f"{where!r} has {whole:,} bytes ({known.name}), and {size:,} were asked for: correct the shape."
            )

    def _as_bytes(self, where: Where, known: CType, value: Any) -> bytes:
        typed = isinstance(value, np.ndarray | np.generic)
        if typed and value.dtype.hasobject:
            raise RigError(f"{shown(value)} has no bytes of its own: give {where!r} numbers.")
        if isinstance(known, Opaque):
            if not typed:
                raise RigError(f"the type of {where!r} is not known: write a value of NumPy, such as np.float32(1).")
            self._check_fits(where, known, known, value.dtype, value.nbytes)
            return bytes(np.asarray(value).astype(value.dtype.newbyteorder("<")).tobytes())
        element, dimensions = _flat(known)
        kind = dtype_of(element)
        try:
            with np.errstate(over="ignore"):  # said below
                made = np.asarray(value, None if typed else kind)
        except (OverflowError, TypeError, ValueError) as error:
            raise RigError(f"{shown(value)} is no value of {where!r} ({known.name}): {error}.") from error
        alike = kind.names is None and (made.dtype.kind, made.dtype.itemsize) == (kind.kind, kind.itemsize)
        if made.dtype != kind and not (typed and alike):
            cure = f"convert it with .astype({kind.name!r})" if kind.names is None else "write a member of it"
            its = made.dtype.name if made.dtype.names is None else f"a record of {', '.join(made.dtype.names)}"
            raise RigError(f"{where!r} is {known.name}, and the value is {its}: {cure}.")
        if not typed and kind.kind in "iu" and not np.array_equal(np.asarray(value), made):
            raise RigError(f"{shown(value)} is no value of {where!r} ({known.name}): it must be whole numbers.")
        if not typed and kind.kind == "f" and np.isinf(made).sum() != np.isinf(np.asarray(value, np.float64)).sum():
            raise RigError(f"{shown(value)} is beyond {where!r} ({known.name}): write a value that it can hold.")
        wanted = tuple(count for count in dimensions if count is not None)
        if None not in dimensions and made.shape != wanted:
            raise RigError(f"{where!r} is {known.name}, and the value has the shape {made.shape}: give it {wanted}.")
        return made.astype(kind).tobytes()

    def _with_other_bytes(self, address: int, kind: Struct, data: bytes, where: str) -> bytes:
        """Return the bytes of structures with what is in memory of bit-fields and others that their dtype has not."""
        own = np.resize(bytes_of_members(dtype_of(kind)), len(data))
        there = np.frombuffer(self._bytes(address, len(data), where), "u1")
        return np.where(own, np.frombuffer(data, "u1"), there).tobytes()

    def _bytes(self, address: int, size: int, where: str) -> bytes:
        self._check_range(address, size, where)
        if not size:
            return b""
        data = self._probe().read_ram(address, size)
        self.looked = True
        if data is None:
            raise self._no_answer(address, size, where)
        return data

    def _check_range(self, address: int, size: int, where: str) -> None:
        if not 0 <= address < END or address + size > END:
            fact = f"{where!r}: {address:#x} and {size:,} bytes from there are not all addresses of 32 bits"
            raise self._changed(where, fact, address) or RigError(f"{fact}.")
        if size > MOST_BYTES:
            raise RigError(f"{where!r}: {size:,} bytes are more than {MOST_BYTES:,}: correct the shape.")

    def _no_answer(self, address: int, size: int, where: str) -> RigError:
        """Return the error of an address at which the chip does not answer: DeviceFault if a memory should be there."""
        words = f"the chip does not answer at 0x{address:08X} ({size:,} bytes of {where!r})"
        memory = next((each for each in self._board.memory if address in each and address + size - 1 in each), None)
        if memory is not None:
            return DeviceFault(f"{words}, although it is in {memory.name}: the program may have switched it off.")
        fact = f"{words}, which is in no memory of {self._board.name}"
        return self._changed(where, fact, address) or RigError(f"{fact}: correct the address or the shape.")

    def _changed(self, where: str, fact: str, address: int | None = None) -> DeviceFault | None:
        """Return the error of an expression that was read before, at another address; None if the request is wrong."""
        before = self._known.get(where)
        if before is None or before == address:
            return None
        return DeviceFault(
            f"{fact}, although the same expression was read before, at 0x{before:08X}: the device has changed a "
            "pointer."
        )


def _flat(kind: CType) -> tuple[CType, tuple[int | None, ...]]:
    """Return the element and the dimensions of an array of arrays; of another type, itself without dimensions."""
    dimensions: tuple[int | None, ...] = ()
    while isinstance(kind, Array):
        dimensions, kind = (*dimensions, kind.count), kind.element
    return kind, dimensions


def _shape(shape: Any) -> tuple[int, ...]:
    """Return the counts of a shape. Raises RigError if they are no whole numbers."""
    counts = tuple(shape) if isinstance(shape, Sequence | np.ndarray) and np.ndim(shape) == 1 else (shape,)
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 0 for one in counts):
        raise RigError(f"{shown(shape)} is no shape: give counts of elements, such as 4 or (16, 8).")
    return tuple(int(one) for one in counts)


def _reshaped(where: Where, known: CType, sizes: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    if math.prod(sizes) != math.prod(wanted):
        raise _no_shape(where, known, wanted)
    return wanted


def _no_shape(where: Where, known: CType, wanted: tuple[int, ...]) -> RigError:
    return RigError(f"{where!r} is {known.name}, which has no shape {wanted}: correct the shape.")


def _may_go_on(where: Where, known: CType) -> bool:
    """Return whether more may follow a place: an element, or what a pointer points to, is often one of many."""
    return isinstance(where, str) and ("*" in where or "[" in where or "->" in where) and not isinstance(known, Array)
