"""A check of the soak: the rig leaks on purpose, each figure once, and the soak must name it, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hil.record.soak import Soak

from .leaks import LEAKS
from .run import soak

TRIALS = 14  # half of them are the warm-up
TRIALS_OF = {"memory": 120}  # 200 kB a trial are more than what allocators keep only after a while


def self_check(seed: int, boards: Sequence[str], out: Path) -> int:
    """Print what the soak finds of each leak; 1 where it is missed, or where anything is found that does not leak."""
    missed = 0
    for leak in LEAKS:
        found = soak(seed, 60.0, boards, out / leak, TRIALS_OF.get(leak, TRIALS), leak, say=lambda line: None)
        right = is_found(found, leak)
        missed += not right
        print(f"{'found ' if right else 'MISSED'} {leak}: {found.not_flat or 'flat'} {found.wrong or ''}", flush=True)
    return int(missed > 0)


def is_found(found: Soak, leak: str) -> bool:
    """Return whether a soak names a leak at the rig's process of every board, and no other figure."""
    wanted = [f"rig of {board}: {leak}: " for board in found.boards] if leak != "nothing" else []
    named = [any(sentence.startswith(one) for sentence in found.not_flat) for one in wanted]
    return not found.wrong and all(named) and len(found.not_flat) == len(wanted)
