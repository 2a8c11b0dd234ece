"""The 64-byte HID reports of the FNIRSI FNB58.

Sources: baryluk/fnirsi-usb-power-data-logger and Randomblock1/fnirsi-usb-tool.

Byte 0 is 0xAA, byte 1 the kind (0x04: data), the last one the CRC-8 of those between (polynomial 0x39, initial value
0x42). A data report has four samples of 15 bytes: voltage and current in 10 uV and 10 uA as little-endian words of
32 bits, then D+, D-, a constant and the temperature.
"""

from __future__ import annotations

import numpy as np

REPORT = 64
HEAD, DATA = 0xAA, 0x04
SAMPLES, SAMPLE = 4, 15
HELLO, BEGIN, GO_ON = 0x81, 0x82, 0x83


def command(kind: int) -> bytes:
    """Return a report to the meter: a command."""
    body = bytes([kind, *bytes(REPORT - 3)])
    return bytes([HEAD]) + body + bytes([crc8(body)])


def crc8(data: bytes) -> int:
    """Return the checksum of bytes 1 to 62."""
    crc = 0x42
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ (0x39 if crc & 0x80 else 0)) & 0xFF
    return crc


def is_data(report: bytes) -> bool:
    """Return whether a report holds samples; others describe the meter itself."""
    return len(report) == REPORT and report[0] == HEAD and report[1] == DATA


def is_whole(report: bytes) -> bool:
    """Return whether the checksum of a report is correct."""
    return crc8(report[1:-1]) == report[-1]


def degrees(reports: bytes) -> np.ndarray:
    """Return the temperatures in complete data reports, float64[4 n] in degrees.

    Each is a little-endian word of 16 bits, in tenths.
    """
    raw = _raw(reports)
    return (raw[:, 13] + 256.0 * raw[:, 14]) / 10


def samples(reports: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return voltages and currents in complete data reports, float64[4 n] each, in volts and amperes."""
    words = np.ascontiguousarray(_raw(reports)[:, :8]).view("<u4")
    return words[:, 0] * 1e-5, words[:, 1] * 1e-5


def _raw(reports: bytes) -> np.ndarray:
    """Return the raw samples in complete data reports, uint8[4 n, 15]."""
    return np.frombuffer(reports, np.uint8).reshape(-1, REPORT)[:, 2 : 2 + SAMPLES * SAMPLE].reshape(-1, SAMPLE)
