"""What own data have to know about the input of the network that they are for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkInput:
    """The input of a network.

    Attributes:
        shape: height, width and channels.
        scale, zero: a byte p stands for scale x (p - zero); None if only the shape was requested.
    """

    shape: tuple[int, int, int]
    scale: float | None = None
    zero: int | None = None
