"""The TC66C's reply to `getva`: three packets of 64 bytes, encrypted with a published key.

Source: sigrok.org/wiki/RDTech_TC66C.

The cipher protects nothing. Table look-ups over all records of a window at once are fast enough, and spare every user
another dependency.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

RECORD = 192
PACKET = 64
CRC_AT = 60
KEY = bytes.fromhex("5821fa5601b2f02687ff1204622a4fb086f40260816f9a0ba7f106619ab87288")
ROUNDS = 14  # FIPS 197, figure 4: AES-256
MARKS = (b"pac1", b"pac2", b"pac3")


@dataclass(frozen=True)
class Tc66cReadings:
    """Readings of n records: float64[n] volts, amperes, degrees; bool[n] `broken`: a mark or checksum is wrong."""

    voltage_v: np.ndarray
    current_a: np.ndarray
    temperature_c: np.ndarray
    broken: np.ndarray


def parse(records: bytes) -> Tc66cReadings:
    """Return the readings in encrypted records of 192 bytes each.

    Bytes 48 and 52 of the first packet are the voltage in 100 uV and the current in 10 uA, little endian; bytes 24 and
    28 of the second are the sign of the temperature and its degrees. Byte 60 of each packet is the Modbus CRC-16 of the
    bytes before.
    """
    plain = decrypt(records).reshape(-1, 3, PACKET)
    words = np.ascontiguousarray(plain).view("<u4").reshape(len(plain), 3, PACKET // 4)
    marks = np.frombuffer(b"".join(MARKS), "<u4")
    broken = (words[:, :, 0] != marks).any(1) | (words[:, :, CRC_AT // 4] != _crc16(plain[:, :, :CRC_AT])).any(1)
    sign = np.where(words[:, 1, 6] == 1, -1.0, 1.0)
    return Tc66cReadings(words[:, 0, 12] * 1e-4, words[:, 0, 13] * 1e-5, sign * words[:, 1, 7], broken)


def name_of(record: bytes) -> str:
    """Return model, firmware and serial number in a record, such as `TC66 1.18 48724`; empty if it is damaged."""
    if parse(record).broken[0]:
        return ""
    first = decrypt(record).tobytes()[:PACKET]
    model, firmware = (first[at : at + 4].decode("ascii", "replace") for at in (4, 8))
    return f"{model} {firmware} {int.from_bytes(first[12:16], 'little')}"


def decrypt(data: bytes, key: bytes = KEY) -> np.ndarray:
    """Return the decrypted bytes of AES-256 in ECB mode, uint8[16 n].

    Source: FIPS 197, section 5.3, the inverse cipher; all blocks at once.
    """
    keys = _round_keys(key)
    state: np.ndarray = np.frombuffer(data, np.uint8).reshape(-1, 16) ^ keys[ROUNDS]
    for number in range(ROUNDS - 1, -1, -1):
        state = _INVERSE_SBOX[state[:, _INVERSE_ROWS]] ^ keys[number]
        if number:
            state = _inverse_mix(state)
    return state.reshape(-1)


def _inverse_mix(state: np.ndarray) -> np.ndarray:
    """Multiply each column by the inverse of MixColumns (FIPS 197, equation (5.10))."""
    below = [_TIMES[factor][state[:, _BELOW[turn]]] for turn, factor in enumerate((11, 13, 9), 1)]
    mixed: np.ndarray = _TIMES[14][state] ^ below[0] ^ below[1] ^ below[2]
    return mixed


@lru_cache(maxsize=2)
def _round_keys(key: bytes) -> np.ndarray:
    """Expand the key, uint8[15, 16] (FIPS 197, section 5.2)."""
    words: list[np.ndarray] = [np.frombuffer(key[at : at + 4], np.uint8) for at in range(0, 32, 4)]
    constant = 1
    for i in range(8, 4 * (ROUNDS + 1)):
        last = words[-1]
        if i % 8 == 0:
            last = _SBOX[np.roll(last, -1)] ^ np.array([constant, 0, 0, 0], np.uint8)
            constant = _times(constant, 2)
        elif i % 8 == 4:
            last = _SBOX[last]
        words.append(words[i - 8] ^ last)
    return np.concatenate(words).reshape(ROUNDS + 1, 16)


def _times(a: int, b: int) -> int:
    """Multiply in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, section 4.2)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def _sbox() -> np.ndarray:
    """Build the S-box: the inverse in the field, then the affine transformation (FIPS 197, section 5.1.1)."""
    box = np.zeros(256, np.uint8)
    for a in range(256):
        b = a
        for _ in range(6):  # a^254, the inverse of a, and 0 of 0: square and multiply six times, then square
            b = _times(_times(b, b), a)
        b = _times(b, b)
        box[a] = 0x63
        for turn in range(5):
            box[a] ^= (b << turn | b >> 8 - turn) & 0xFF
    return box


def _crc16(rows: np.ndarray) -> np.ndarray:
    """Return the CRC-16 of Modbus along the last axis, int64[...]."""
    crc: np.ndarray = np.full(rows.shape[:-1], 0xFFFF)
    for place in range(rows.shape[-1]):
        crc = _CRC[(crc ^ rows[..., place]) & 0xFF] ^ crc >> 8
    return crc


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0xA001 if byte & 1 else 0)
    return byte


_CRC = np.array([_crc_of_byte(byte) for byte in range(256)])
_SBOX = _sbox()
_INVERSE_SBOX = np.argsort(_SBOX).astype(np.uint8)
_INVERSE_ROWS = np.array([4 * ((column - row) % 4) + row for column in range(4) for row in range(4)])
_BELOW = [np.array([4 * column + (row + turn) % 4 for column in range(4) for row in range(4)]) for turn in range(4)]
_TIMES = {factor: np.array([_times(value, factor) for value in range(256)], np.uint8) for factor in (9, 11, 13, 14)}
