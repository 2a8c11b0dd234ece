"""AES-256 encryption in ECB mode, as used by the TC66C (FIPS 197, section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROUNDS = 14
# Byte 4 c + r of a block is in column c, row r.
_SHIFTED = np.array([4 * ((column + row) % 4) + row for column in range(4) for row in range(4)])  # ShiftRows
_BELOW = [np.array([4 * column + (row + turn) % 4 for column in range(4) for row in range(4)]) for turn in range(4)]


class Aes:
    """AES-256 encryption with a fixed key.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: Sequence[int]) -> None:
        self._box = _substitution()
        self._double = np.array([value << 1 ^ (0x11B if value & 0x80 else 0) for value in range(256)], np.uint8)
        self._keys = self._expand(list(key))

    def encrypt(self, plain: bytes) -> bytes:
        """Return the encrypted bytes; the length must be a multiple of 16."""
        state: np.ndarray = np.frombuffer(plain, np.uint8).reshape(-1, 16) ^ self._keys[0]
        for number in range(1, _ROUNDS + 1):
            state = self._box.take(state.take(_SHIFTED, 1))
            if number < _ROUNDS:  # MixColumns
                second, third, fourth = (state.take(below, 1) for below in _BELOW[1:])
                state = self._double.take(state ^ second) ^ second ^ third ^ fourth
            state ^= self._keys[number]
        return state.tobytes()

    def _expand(self, key: list[int]) -> np.ndarray:
        """Return the round keys, uint8[15, 16] (section 5.2)."""
        schedule, constant = [key[at : at + 4] for at in range(0, 32, 4)], 1
        while len(schedule) < 4 * (_ROUNDS + 1):
            word, place = schedule[-1], len(schedule) % 8
            if place == 0:
                word = word[1:] + word[:1]
            if place in (0, 4):
                word = [int(self._box[byte]) for byte in word]
            if place == 0:
                word[0] ^= constant
                constant = int(self._double[constant])
            schedule.append([a ^ b for a, b in zip(schedule[-8], word, strict=True)])
        return np.array(schedule, np.uint8).reshape(-1, 16)


def _substitution() -> np.ndarray:
    """Return the S-box, from the powers of the generator 3 and of its inverse (section 5.1.1)."""
    box = np.zeros(256, np.uint8)
    box[0] = 0x63
    power = inverse = 1
    for _ in range(255):
        power ^= (power << 1) ^ (0x11B if power & 0x80 else 0)
        for shift in (1, 2, 4):  # division by 3
            inverse = (inverse ^ inverse << shift) & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        turned = [(inverse << n | inverse >> 8 - n) & 0xFF for n in range(5)]
        box[power] = turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4] ^ 0x63
    return box
