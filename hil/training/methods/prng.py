"""The noise of a step: its pool, and the streams that draw from it (docs/arithmetic.md, section 8).

It also makes streams of signs.

xorshift32 is linear over GF(2), so that the state m steps ahead is one matrix away. A stream is made in lanes that run
side by side, and their first states by doubling: the first n of them, jumped by n lanes, are the next n.
"""

from __future__ import annotations

from functools import cache

import numpy as np

MASK = 0xFFFFFFFF
LENGTH = 8  # words that a lane makes step by step; a power of two
ENTRIES = 256  # of the pool
FIELDS = 3  # that one word of a stream holds


def mix32(h: int) -> int:
    """Scramble 32 bits."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ (h >> 16)


def mix32s(h: np.ndarray) -> np.ndarray:
    """Scramble the 32 bits of each number, uint32 of any shape."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    mixed: np.ndarray = h ^ (h >> np.uint32(16))
    return mixed


def xorshift32(x: int) -> int:
    """Return the state after `x`."""
    x ^= x << 13 & MASK
    x ^= x >> 17
    return x ^ (x << 5 & MASK)


def start_state(seed: int, step: int, i: int) -> int:
    """Return `start(i)`, the state before the first word.

    It is that of the pool for i = 0, of the stream of trained tensor i - 1 else.
    """
    key = mix32(seed + 0x9E3779B9 * (step + 1) & MASK)
    return mix32(key ^ (0x27D4EB2F * i & MASK)) or 0x6D2B79F5


def start_states(seed: int, step: int, indices: np.ndarray) -> np.ndarray:
    """Return `start(i)` for uint32 indices of any shape, uint32."""
    key = np.uint32(mix32(seed + 0x9E3779B9 * (step + 1) & MASK))
    h = mix32s(key ^ (indices * np.uint32(0x27D4EB2F)))
    return np.where(h == 0, np.uint32(0x6D2B79F5), h)


@cache
def _jump_tables(doublings: int) -> np.ndarray:
    """Return the map of 2^doublings steps as uint32 [4, 256]: one table for each byte of the state."""
    if doublings == 0:
        columns = np.array([xorshift32(1 << bit) for bit in range(32)], np.uint32)
    else:
        half = _jump_tables(doublings - 1)
        columns = _jump(half, _jump(half, np.uint32(1) << np.arange(32, dtype=np.uint32)))
    return _tables(columns)


@cache
def _low_bit_tables() -> np.ndarray:
    """Return the map of a state to the lowest bits of the 32 states after it, the first of them lowest.

    The tables are as those of `_jump_tables`.
    """
    columns = []
    for bit in range(32):
        state, low = 1 << bit, 0
        for place in range(32):
            state = xorshift32(state)
            low |= (state & 1) << place
        columns.append(low)
    return _tables(np.array(columns, np.uint32))


def _tables(columns: np.ndarray) -> np.ndarray:
    """Return a linear map, given by what it makes of each bit (uint32 [32]), as uint32 [4, 256]."""
    tables = np.zeros((4, 256), np.uint32)
    for byte in range(4):
        for bit in range(8):
            tables[byte, 1 << bit : 2 << bit] = tables[byte, : 1 << bit] ^ columns[8 * byte + bit]
    return tables


def _jump(tables: np.ndarray, states: np.ndarray) -> np.ndarray:
    jumped: np.ndarray = tables[0][states & 0xFF]
    for byte in range(1, 4):
        jumped = jumped ^ tables[byte][states >> np.uint32(8 * byte) & 0xFF]
    return jumped


def _lanes(states: np.ndarray, count: int, doublings: int) -> np.ndarray:
    """Return `count` states of each stream from `states` on, 2^doublings steps apart, uint32 [..., count]."""
    lanes = np.empty((*states.shape, count), np.uint32)
    lanes[..., :1] = states[..., None]
    have = 1
    while have < count:
        more = min(have, count - have)
        lanes[..., have : have + more] = _jump(_jump_tables(doublings), lanes[..., :more])
        have, doublings = have + more, doublings + 1
    return lanes


def words(state: int, count: int) -> np.ndarray:
    """Return the `count` words after `state`, uint32."""
    lanes = _lanes(np.array(state, np.uint32), -(-count // LENGTH), LENGTH.bit_length() - 1)
    stream = np.empty((LENGTH, len(lanes)), np.uint32)
    for following in stream:
        lanes ^= lanes << 13
        lanes ^= lanes >> 17
        lanes ^= lanes << 5
        following[:] = lanes
    return stream.T.reshape(-1)[:count]


def signs(states: np.ndarray, count: int) -> np.ndarray:
    """Return `count` Rademacher numbers of each stream, int8 [..., count]: -1 where bit 0 of a state is 1.

    32 of them are one word, a linear map of the state before them (docs/arithmetic-zeroth-order.md, section 3).

    Args:
        states: uint32, any shape: each stream's state before its first draw.
        count: draws of each.
    """
    lanes = _lanes(states, -(-count // 32), 5)  # 32 = 2^5 draws apart
    drawn = _jump(_low_bit_tables(), lanes).astype("<u4").view(np.uint8)
    ones = np.unpackbits(drawn, axis=-1, count=count, bitorder="little").view(np.int8)
    ones *= -2
    ones += 1
    return ones


def signed_pool(seed: int, step: int, p_zero: int, r_max: int) -> np.ndarray:
    """Return what a field of nine bits stands for, int16 [512, 4].

    These are the 256 entries of a step's pool, then their negatives.

    Args:
        seed: of the trial.
        step: index of the step.
        p_zero: threshold of the mask byte, 0..255.
        r_max: largest magnitude, 1..127.
    """
    drawn = words(start_state(seed, step, 0), 2 * ENTRIES).reshape(ENTRIES, 2)
    mask, value = (drawn[:, column].astype("<u4").view(np.uint8).reshape(ENTRIES, 4) for column in (0, 1))
    product = value.astype(np.uint16)
    product *= 2 * r_max + 1
    product += r_max  # at most 255 * 255 + 127: no carry is lost
    entries = (product >> 8).view(np.int16)
    entries -= r_max
    entries *= mask >= p_zero
    return np.concatenate([entries, -entries])


def perturbation(pool: np.ndarray, seed: int, step: int, tensor: int, size: int) -> np.ndarray:
    """Return z of a tensor, int16 [size].

    Args:
        pool: the step's, as `signed_pool` returns it.
        seed: of the trial.
        step: index of the step.
        tensor: index among the trained tensors, from 0.
        size: number of weights.
    """
    drawn = words(start_state(seed, step, tensor + 1), -(-size // (4 * FIELDS)))
    fields = np.empty((len(drawn), FIELDS), np.intp)
    for j in range(FIELDS):
        fields[:, j] = drawn >> np.uint32(9 * j) & 511
    whole = pool.view(np.uint64)[:, 0]  # the four numbers of an entry move as one
    return whole[fields.reshape(-1)].view(np.int16)[:size]
