"""The digest of a step, as firmware, reference and record have it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import xxhash


def step_digest(digests: Sequence[int]) -> int:
    """Return one digest of all tensors after a step (docs/arithmetic.md, section 11)."""
    return xxhash.xxh32_intdigest(struct.pack(f"<{len(digests)}I", *digests))
