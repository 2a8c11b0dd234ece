"""AES-256 encryption in ECB mode, as used by the TC66C (FIPS 197, section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

_ROUNDS = 14


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
        return _enciphered(
            np.frombuffer(plain, np.uint8).reshape(-1, 16), self._keys, self._box, self._double
        ).tobytes()

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


@numba.njit(cache=True)
def _enciphered(plain: np.ndarray, keys: np.ndarray, box: np.ndarray, double: np.ndarray) -> np.ndarray:
    """Return uint8[n, 16] encrypted; byte 4 c + r of a block is in column c, row r."""
    blocks = plain ^ keys[0]
    turned = np.empty(16, np.uint8)
    for state in blocks:
        for number in range(1, _ROUNDS + 1):
            for place in range(16):  # SubBytes and ShiftRows
                turned[place] = box[state[(place + 4 * (place % 4)) % 16]]
            for place in range(16):  # MixColumns (not in the last round) and AddRoundKey
                value = turned[place]
                if number < _ROUNDS:
                    column, row = place // 4 * 4, place % 4
                    below, second, third = (
                        turned[column + (row + 1) % 4],
                        turned[column + (row + 2) % 4],
                        turned[column + (row + 3) % 4],
                    )
                    value = double[value] ^ double[below] ^ below ^ second ^ third
                state[place] = value ^ keys[number, place]
    return blocks


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
