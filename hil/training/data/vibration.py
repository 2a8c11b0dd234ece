"""SYNTHETIC vibration of a ball bearing in the manner of the CWRU bearing data; nothing here was measured.

A fault hits a rolling contact once per passing: impulses at the characteristic frequency of its place, through two
resonances of the housing, with harmonics of the shaft and noise. All computation is in integers, so every computer
gives the same bytes (docs/data.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hil.training.data.corruption.grid import FRACTION, nearly_normal

RATE = 12_000  # samples per second
LENGTH, BEFORE = 512, 512  # samples of a window, and of the time before it, in which the resonances come up
ORDERS = (4_713_500, 5_415_200, 3_584_800)  # impulses per 10^6 turns: ball, inner race, outer race of a 6205 bearing
CAGE = 398_280  # turns of the cage per 10^6 turns of the shaft
CLASSES = 10  # 0: no fault; 1 + 3 place + size, places as in ORDERS
WIDTHS = (3, 7, 12)  # samples between entry into a fault and exit, by size: 0.007, 0.014, 0.021 inches
STRENGTHS = (50, 75, 100)  # of the impulses in percent, by size
PATHS = ((60, 100), (100, 50), (40, 130))  # percent of the impulses that reach each resonance, by place
SLIP = 1  # percent of a period by which an impulse may be early or late
SEED = 6205  # first word of the seeds: [SEED, machine, split]
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class BearingMachine:
    """A machine with the bearing.

    Attributes:
        speeds: of the shaft in turns per minute, one for each load; a window has one of them.
        resonances: in hertz, with the percentage that is left after a sample.
        noise: standard deviations in 1/128 of full scale, the least and the largest.
    """

    speeds: tuple[int, ...]
    resonances: tuple[tuple[int, int], tuple[int, int]]
    noise: tuple[int, int]


MACHINES = {
    "vibration": BearingMachine((1797, 1772, 1750), ((2700, 97), (3900, 95)), (4, 8)),
    "vibration-other": BearingMachine((1730,), ((2200, 96), (4400, 96)), (6, 12)),
}
COUNTS = 2000, 1000  # windows of each split, as many of every class


@lru_cache(maxsize=2)
def made(name: str) -> Arrays:
    """Return training windows and labels, test windows and labels: uint8 [n, 512, 1, 1] and [n].

    A byte p stands for (p - 128) / 128 of full scale.

    Args:
        name: one of `MACHINES`.
    """
    number = list(MACHINES).index(name)
    (train, train_labels), (test, test_labels) = (
        _split(MACHINES[name], np.random.Generator(np.random.PCG64([SEED, number, split])), count)
        for split, count in enumerate(COUNTS)
    )
    return train, train_labels, test, test_labels


def _split(machine: BearingMachine, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.permutation(np.arange(count) % CLASSES)
    speeds = np.array(machine.speeds)[rng.integers(0, len(machine.speeds), count)]
    hits = _impulses(labels, speeds, rng)
    place = np.maximum(labels - 1, 0) // 3
    total = _shaft(speeds, rng)
    for number, (frequency, left) in enumerate(machine.resonances):
        path = np.array([paths[number] for paths in PATHS])[place]
        total += _resonance(hits * path[:, None] // 100, frequency, left)
    gain = rng.integers(70, 131, (count, 1))  # percent: another sensor, another mounting
    low, high = machine.noise
    spread = rng.integers(low << 4, (high << 4) + 1, (count, 1))  # in 1/16 of 1/128
    noise = (nearly_normal(rng, total.shape) * spread) >> (FRACTION + 4 - 8)
    bytes_ = 128 + ((total * gain // 100 + noise + 128) >> 8)  # 8 bits of fraction so far
    return np.clip(bytes_, 0, 255).astype(np.uint8)[:, BEFORE:, None, None], labels.astype(np.uint8)


def _impulses(labels: np.ndarray, speeds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the hits of a fault, int64 [n, samples], with 8 bits of fraction; none without a fault."""
    count, samples = len(labels), BEFORE + LENGTH
    place, size = np.maximum(labels - 1, 0) // 3, np.maximum(labels - 1, 0) % 3
    period = (60 * RATE * 10**6 << 8) // (speeds * np.array(ORDERS)[place])  # samples, 8 bits of fraction
    at = rng.integers(0, 1 << FRACTION, count) * period >> FRACTION
    strength = np.where(labels > 0, np.array(STRENGTHS)[size] << 8, 0) * 60 // 100
    turn, cage = _phases(speeds, 10**6, rng), _phases(speeds, CAGE, rng)
    swing = np.where((place == 0)[:, None], cage, np.where((place == 1)[:, None], turn, 1 << FRACTION))
    hits = np.zeros((count, samples + max(WIDTHS) + 1), np.int64)
    rows = np.arange(count)
    while (at >> 8 < samples).any():
        early = rng.integers(-SLIP * 1024, SLIP * 1024 + 1, count) * period // (100 * 1024)
        sample = np.clip((at + early) >> 8, 0, samples - 1)
        uneven = rng.integers(80, 121, count)  # percent
        here = np.where(at >> 8 < samples, strength * uneven // 100 * swing[rows, sample] >> FRACTION, 0)
        hits[rows, sample] += here // 2  # the ball rolls in
        hits[rows, sample + np.array(WIDTHS)[size]] -= here  # and strikes the far edge
        at = at + period
    return hits[:, :samples]


def _phases(speeds: np.ndarray, part: int, rng: np.random.Generator) -> np.ndarray:
    """Return how far a place is in the load zone, int64 [n, samples]: from 1/5 to 1 with 16 bits of fraction."""
    wave = _wave(speeds, part, rng.integers(0, 1 << FRACTION, len(speeds)))
    return ((3 << FRACTION) + 2 * wave) // 5


def _shaft(speeds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the first two harmonics of the shaft, int64 [n, samples], with 8 bits of fraction."""
    total = np.zeros((len(speeds), BEFORE + LENGTH), np.int64)
    for harmonic, most in ((1, 12), (2, 6)):
        height = rng.integers(0, (most << 8) + 1, (len(speeds), 1))
        total += height * _wave(speeds, harmonic * 10**6, rng.integers(0, 1 << FRACTION, len(speeds))) >> FRACTION
    return total


def _wave(speeds: np.ndarray, part: int, phase: np.ndarray) -> np.ndarray:
    """Return a cosine with `part` periods per 10^6 turns, int64 [n, samples], with 16 bits of fraction."""
    steps = 1 << 10
    table = np.array([round(math.cos(2 * math.pi * step / steps) * (1 << FRACTION)) for step in range(steps)])
    turns = (np.arange(BEFORE + LENGTH) * (speeds * part)[:, None] << FRACTION) // (60 * RATE * 10**6)
    return np.asarray(table[(turns + phase[:, None]) % (1 << FRACTION) * steps >> FRACTION])


def _resonance(hits: np.ndarray, frequency: int, left: int) -> np.ndarray:
    """Return the ringing of a resonance after hits, int64 [n, samples].

    It is y[t] = x[t] + 2 r cos(w) y[t - 1] - r^2 y[t - 2], its two factors with 14 bits of fraction.
    """
    first = round(2 * left * math.cos(2 * math.pi * frequency / RATE) * (1 << 14) / 100)
    second = round(left * left * (1 << 14) / 10_000)
    out = np.zeros_like(hits)
    before, last = np.zeros(len(hits), np.int64), np.zeros(len(hits), np.int64)
    for sample in range(hits.shape[1]):
        before, last = last, hits[:, sample] + ((first * last - second * before + (1 << 13)) >> 14)
        out[:, sample] = last
    return out
