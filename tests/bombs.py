"""Files that unpack to more than they should, and a process with little memory to read them in."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

BOMB = 2 << 30  # bytes of zeros
LITTLE = 1 << 30  # bytes of address space, of which Python, NumPy and pandas take a half


def gzip_bomb(path: Path, head: bytes = b"", size: int = BOMB) -> None:
    """Write a gzip file of `head` and then zeros: members one after the other, as the format allows."""
    member = gzip.compress(bytes(64 << 20), 9)
    path.write_bytes(gzip.compress(head) + member * (size >> 26))


def in_little_memory(code: str, path: Path) -> str:
    """Run code, which finds `path`, in a process with little memory; return the sentence of the RigError that came out, and of nothing else."""
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom hil.errors import RigError\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({LITTLE},) * 2)\n"
        f"path = Path(sys.argv[1])\ntry: {code}\nexcept RigError as error: print(error)\nelse: print('nothing was refused')"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
