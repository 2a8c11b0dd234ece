"""Running ranges of errors in C and in NumPy against the text in fractions, also of sums worth almost nothing."""

from __future__ import annotations

import ctypes
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plain_affine8 import LARGEST_SCALE, Running, bits, near, number, zero_error
from hil.training.reference.formats.affine8.errors import RunningRange

SMALLEST = bits(Fraction(2) ** -100)
JUST_BELOW, DENORMAL, LEAST = SMALLEST - 1, 0x00400000, 1
Shown = tuple[list[int], int, int]
Sample = tuple[list[int], int]  # sums, and the bits of what each is worth


class Pair(ctypes.Structure):
    """affine8_running_t of kernels/affine8_errors.h."""

    _fields_ = [("low", ctypes.c_float), ("high", ctypes.c_float)]


class Tensor(ctypes.Structure):
    """affine8_tensor_t of kernels/affine8_errors.h."""

    _fields_ = [
        ("fill", ctypes.c_void_p),
        ("passes", ctypes.c_void_p),
        ("sums", ctypes.c_void_p),
        ("n", ctypes.c_uint32),
        ("c", ctypes.c_float),
    ]


class Rule(ctypes.Structure):
    """affine8_rule_t of kernels/affine8_errors.h."""

    _fields_ = [("floors", ctypes.c_bool), ("running", ctypes.POINTER(Pair)), ("momentum", ctypes.c_float)]


class Found(ctypes.Structure):
    """affine8_error_t of kernels/affine8_errors.h."""

    _fields_ = [("s", ctypes.c_float), ("z", ctypes.c_int8)]


def word(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


class InC:
    """The range that the C engine keeps."""

    def __init__(self, library: ctypes.CDLL, momentum: float, rounding: str) -> None:
        self._quantize, self._pair = library.affine8_quantize_sums, Pair()
        self._quantize.restype = Found
        self._rule = Rule(rounding == "floor", ctypes.pointer(self._pair), momentum)

    def of(self, acc: list[int], c: int) -> Shown:
        sums, out = (ctypes.c_int32 * len(acc))(*acc), (ctypes.c_int8 * len(acc))()
        tensor = Tensor(None, None, ctypes.addressof(sums), len(acc), float(number(c)))
        found = self._quantize(ctypes.byref(tensor), ctypes.byref(self._rule), out)
        return list(out), word(found.s), found.z

    @property
    def kept(self) -> tuple[int, int]:
        return word(self._pair.low), word(self._pair.high)


class InNumpy:
    """The range that the reference keeps."""

    def __init__(self, momentum: float, rounding: str) -> None:
        self._range, self._rounding = RunningRange(momentum), rounding

    def of(self, acc: list[int], c: int) -> Shown:
        worth = np.array([c], np.uint32).view(np.float32)
        found = self._range.of_sums(np.array(acc, np.float64).reshape(1, 1, 1, -1), worth, self._rounding)
        return found.stored.reshape(-1).tolist(), word(float(found.s[0])), int(found.z[0])

    @property
    def kept(self) -> tuple[int, int]:
        return word(float(self._range.low)), word(float(self._range.high))


def check(library: ctypes.CDLL, momentum: int, rounding: str, samples: list[Sample]) -> list[Shown]:
    """Hold both against the text, sample by sample; return the errors. A scale that fails the step is not compared."""
    share = float(number(momentum))
    plain, both = Running(number(momentum)), (InC(library, share, rounding), InNumpy(share, rounding))
    errors = []
    for acc, c in samples:
        expected = plain.error_of_sums(acc, number(c), rounding)
        if expected.s > LARGEST_SCALE:
            break
        for mine in both:
            assert mine.of(acc, c) == expected.shown, (type(mine).__name__, acc, hex(c))
            assert mine.kept == (bits(plain.low), bits(plain.high)), (type(mine).__name__, acc, hex(c))
        errors.append(expected.shown)
    return errors


SIXTEENTH = bits(Fraction(1, 16))
ONE, NONE = bits(Fraction(1)), bits(Fraction(0))
WORTH = bits(Fraction(2) ** -13)
BIG = [2130739200, -2130739200, 8388608]


@pytest.mark.parametrize("rounding", ["nearest", "floor"])
@pytest.mark.parametrize("momentum", [NONE, SIXTEENTH, ONE])
@pytest.mark.parametrize("c", [0, LEAST, DENORMAL, 0x00800000, JUST_BELOW, SMALLEST, SMALLEST + 1])
@pytest.mark.parametrize("acc", [[1, -1], [0, 0], [255, 0], [-256, 3], BIG])
def test_around_the_smallest_worth(library: ctypes.CDLL, acc: list[int], c: int, momentum: int, rounding: str) -> None:
    """What is worth less than 2^-100 is a zero tensor and leaves the range, first or in between; 2^-100 is not."""
    nothing = number(c) < Fraction(2) ** -100 or not any(acc)
    first, *_ = check(library, momentum, rounding, [(acc, c)] * 2)
    assert (first == zero_error(len(acc)).shown) == nothing
    other = [70000, -30000] + [137] * (len(acc) - 2)
    check(library, momentum, rounding, [(other, WORTH), (acc, c), (other, WORTH), (acc, c), (acc, SMALLEST)])


def test_the_smallest_worth_gives_a_normal_scale_in_the_text() -> None:
    """The reason of the rule: s and j of the least D are normal numbers."""
    error = Running(Fraction(1, 16)).error_of_sums([1, 0], number(SMALLEST), "nearest")
    assert error.s == Fraction(2) ** -100 and near(1 / error.s) == 2**100


@pytest.mark.parametrize("rounding", ["nearest", "floor"])
def test_a_range_of_one_side(library: ctypes.CDLL, rounding: str) -> None:
    """One end stays 0, then fades from a number; sums that outgrow the range are cut off, and s is at least c."""
    ups = [([5 * 10**k, 1], WORTH) for k in range(9)]
    downs = [([-a, -b], c) for (a, b), c in ups]
    for samples in (ups, downs, ups[::-1] + downs, downs + ups[::-1] * 30):
        check(library, SIXTEENTH, rounding, samples)
    check(library, NONE, rounding, [([3, -1], SMALLEST), (BIG, bits(Fraction(2**30))), ([1, 2, 3], WORTH)])


LEVELS = st.one_of(
    st.sampled_from([0, 1, JUST_BELOW, SMALLEST, SMALLEST + 7]),
    st.integers(0, bits(Fraction(2) ** 20)),
    st.integers(SMALLEST - 3, SMALLEST + (12 << 23)),
)
SUMS = st.one_of(st.integers(-3, 3), st.integers(-300, 300), st.integers(-2130739200, 2130739200))


@settings(max_examples=400, deadline=None)
@given(
    samples=st.lists(st.tuples(st.lists(SUMS, min_size=2, max_size=5), LEVELS), min_size=1, max_size=12),
    momentum=st.sampled_from([NONE, SIXTEENTH, bits(near(Fraction(3, 10))), ONE]),
    rounding=st.sampled_from(["nearest", "floor"]),
)
def test_any_sums(library: ctypes.CDLL, samples: list[Sample], momentum: int, rounding: str) -> None:
    check(library, momentum, rounding, samples)
