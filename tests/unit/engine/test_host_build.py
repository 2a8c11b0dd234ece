"""The C engine on this computer: its own tests under sanitizers, and its arithmetic against independent oracles."""

from __future__ import annotations

import ctypes
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xxhash

TESTS = Path(__file__).resolve().parents[3] / "firmware" / "host" / "tests"
INT32_MAX = 2**31 - 1


def integers(count: int) -> list[int]:
    """Return `count` int32 numbers of every length, and those around zero and the ends of the range."""
    draw = random.Random(1)
    lengths = [draw.randrange(1, 32) for _ in range(count)]
    drawn = [draw.choice((-1, 1)) * draw.randrange(2**length) for length in lengths]
    return drawn + list(range(-300, 301)) + list(range(INT32_MAX - 3, INT32_MAX + 1)) + [-INT32_MAX, -INT32_MAX + 1]


def truncated(x: int, s: int) -> int:
    """Return x / 2^s rounded toward zero."""
    return x // 2**s if x >= 0 else -(-x // 2**s)


def clip127(x: int) -> int:
    return min(max(x, -127), 127)


def round_shift(x: int, s: int) -> int:
    """RoundShift of docs/arithmetic.md, section 2."""
    q = truncated(x, s)
    return clip127(q + truncated(x - q * 2**s, s - 1))


def psto_shift(x: int, s: int) -> int:
    """PstoShift of docs/arithmetic.md, section 2."""
    if s == 0:
        return clip127(x)
    q = truncated(x, s)
    p = abs(x - q * 2**s)
    h = s // 2
    hi = p >> h
    lo = p - (hi << h)
    if s % 2:
        lo = 2 * lo
    sign = (x > 0) - (x < 0)
    return clip127(q + sign * (1 if hi > lo else 0))


def test_c_tests_pass_under_sanitizers(make: Callable[[str], tuple[Path, str]]) -> None:
    _, printed = make("test")
    passed = re.findall(r"^(.+): passed$", printed, flags=re.MULTILINE)
    groups = re.findall(r'\{"([^"]+)", test_', (TESTS / "main.c").read_text())
    assert passed == 3 * groups and len(groups) > 5, "the portable kernels, then those of Armv7E-M and of Armv6-M"


@pytest.mark.parametrize("s", range(1, 32))
def test_round_shift(library: ctypes.CDLL, s: int) -> None:
    function = library.host_round_shift
    for x in integers(600):
        assert function(x, s) == round_shift(x, s), (x, s)


@pytest.mark.parametrize("s", range(32))
def test_psto_shift(library: ctypes.CDLL, s: int) -> None:
    function = library.host_psto_shift
    for x in [*integers(600), -(2**31)]:
        assert function(x, s) == psto_shift(x, s), (x, s)


def test_bits_and_saturation(library: ctypes.CDLL) -> None:
    library.host_bits.argtypes = [ctypes.c_uint32]
    for x in integers(2000):
        assert library.host_bits(abs(x)) == abs(x).bit_length()
        assert library.host_clip127(x) == clip127(x)
        y = random.Random(x).randrange(-(2**31), 2**31)
        assert library.host_add_sat32(x, y) == min(max(x + y, -(2**31)), INT32_MAX)


def test_xxh32_against_the_package(library: ctypes.CDLL) -> None:
    function = library.xxh32
    function.restype = ctypes.c_uint32
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]
    draw = random.Random(2)
    for n in [*range(130), 1000, 4096, 94081]:
        data = draw.randbytes(n)
        for seed in (0, 1, 0xFFFFFFFF):
            assert function(data, n, seed) == xxhash.xxh32_intdigest(data, seed), (n, seed)


def units_in_the_last_place(found: float, truth: float) -> float:
    """Return the distance from the true value in units of its last place in binary32."""
    return abs(found - truth) / float(np.spacing(np.float32(abs(truth))))


def float_function(library: ctypes.CDLL, name: str) -> Callable[[float], float]:
    function = getattr(library, name)
    function.restype = ctypes.c_float
    function.argtypes = [ctypes.c_float]
    return function


def test_exp32_is_within_two_units(library: ctypes.CDLL) -> None:
    exp32 = float_function(library, "exp32")
    draw = random.Random(3)
    for x in [draw.uniform(-87.0, 0.0) for _ in range(20000)] + [-(2.0**-k) for k in range(-6, 60)] + [-87.0]:
        x = float(np.float32(x))
        assert units_in_the_last_place(exp32(x), math.exp(x)) <= 2.0, x.hex()
    assert exp32(0.0) == 1.0
    assert exp32(float(np.nextafter(np.float32(-87.0), np.float32(-88.0)))) == 0.0
    assert exp32(-254.0 * 2.0**60) == 0.0


def test_log32_is_within_three_units(library: ctypes.CDLL) -> None:
    log32 = float_function(library, "log32")
    draw = random.Random(4)
    drawn = [draw.uniform(1.0, 257.0) for _ in range(20000)]
    for x in drawn + [1.0 + k * 2.0**-23 for k in range(300)] + [2.0**k * 1.5 for k in range(-126, 127)]:
        x = float(np.float32(x))
        assert units_in_the_last_place(log32(x), math.log(x)) <= 3.0 if x != 1.0 else log32(x) == 0.0, x.hex()


def test_stream_of_the_generator(library: ctypes.CDLL) -> None:
    """Section 8, with Python's integers: 2,000 states of one stream and the first states of many."""
    for name in ("host_xorshift32", "host_stream_start", "host_mix32"):
        getattr(library, name).restype = ctypes.c_uint32
        getattr(library, name).argtypes = [ctypes.c_uint32] * (3 if name == "host_stream_start" else 1)

    def mix32(h: int) -> int:
        h = (h ^ (h >> 16)) * 0x85EBCA6B % 2**32
        h = (h ^ (h >> 13)) * 0xC2B2AE35 % 2**32
        return h ^ (h >> 16)

    state = 1
    for _ in range(2000):
        expected = state ^ (state << 13) % 2**32
        expected ^= expected >> 17
        expected ^= (expected << 5) % 2**32
        assert library.host_xorshift32(state) == expected
        assert library.host_mix32(state) == mix32(state)
        state = expected
    for seed, step, i in [(0, 0, 0), (7, 1, 3), (0xFFFFFFFF, 0xFFFFFFFF, 32), (123, 0x61C88646, 1)]:
        key = mix32((seed + 0x9E3779B9 * (step + 1)) % 2**32)
        expected = mix32(key ^ (0x27D4EB2F * i) % 2**32) or 0x6D2B79F5
        assert library.host_stream_start(seed, step, i) == expected
